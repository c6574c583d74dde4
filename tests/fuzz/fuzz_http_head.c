/*
 * A request's head: its host is valid and in its one form, and the result does
 * not change when more bytes arrive. Rewritten, the head has the same meaning
 * and asks to close the connection.
 */
#include "base/net/address.h"
#include "fuzz.h"
#include "head.h"
#include "http/request.h"

/* For the common checks, gives an address and a missing host a placeholder
   name. */
static enum head
read_name(const char *bytes, size_t len, char *name)
{
	struct address a;
	struct http_head h;
	enum head found = http_head_read(bytes, len, &h);
	char text[ADDRESS_TEXT];

	if (found != HEAD_NAME)
		return found;
	memcpy(name, h.host, HOST_NAME_SIZE);
	if (!h.has_host) {
		must(!h.host[0] && h.method.len == 7 &&
		     !memcmp(h.method.text, "CONNECT", 7));
		memcpy(name, "nobody", 7);
	} else if (address_read(h.host, &a) == 0) {
		address_show(&a, text);
		must(!strcmp(text, h.host));
		memcpy(name, "address", 8);
	}
	return found;
}

static void
check_again(const char *bytes, size_t size)
{
	static char out[HEAD_MAX + HTTP_REQUEST_MORE];
	static struct http_header put = { "X-Key", "secret" };
	struct http_head h, again;
	size_t n;

	if (http_head_read(bytes, size, &h) != HEAD_NAME)
		return;
	n = http_request_write(out, bytes, &h, h.target, &put);
	must(n <= h.len + HTTP_REQUEST_MORE);
	if (n > HEAD_MAX)
		return;
	must(http_head_read(out, n, &again) == HEAD_NAME);
	must(again.len == n && !strcmp(h.host, again.host) &&
	     h.port == again.port && h.is_chunked == again.is_chunked &&
	     h.body_bytes == again.body_bytes && h.is_old == again.is_old);
	must(memmem(out, n, "\r\nConnection: close\r\n", 21) != NULL);
	must(memmem(out, n, "\r\nX-Key: secret\r\n", 17) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_head(read_name, (const char *)data, size);
	check_again((const char *)data, size);
	return 0;
}

/*
 * A request to a proxy yields one host in canonical form, one port, and a path
 * that points into the input, or none.
 */
#include "base/net/address.h"
#include "fuzz.h"
#include "http/head.h"
#include "names.h"

static void
check_host(const char *host)
{
	char text[ADDRESS_TEXT];
	struct address a;

	if (address_read(host, &a) < 0) {
		check_name(host);
		return;
	}
	address_show(&a, text);
	must(!strcmp(text, host));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct http_head h;
	struct http_proxy_request a;

	if (http_head_read(bytes, size, &h) != HEAD_NAME ||
	    http_proxy_request_read(&h, &a) < 0)
		return 0;
	check_host(a.host);
	must(a.port != 0);
	must(!h.has_host || !strcmp(h.host, a.host));
	if (a.is_tunnel)
		must(!h.is_chunked && !h.body_bytes);
	else
		must(a.target.len && a.target.text[0] == '/' && h.has_host);
	return 0;
}

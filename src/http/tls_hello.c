#include "http/tls_hello.h"

#include <string.h>

#include "base/buf.h"

#define RECORD_HANDSHAKE 22
#define CLIENT_HELLO	 1
#define EXT_SERVER_NAME	 0
#define EXT_ENCRYPTED	 0xfe0d

/* Copies the ClientHello out of the TLS records around it. */
static enum head
unwrap_records(const char *bytes, size_t len, unsigned char *out,
	       size_t *out_len)
{
	struct cursor c = { (const unsigned char *)bytes, len, false };

	*out_len = 0;
	while (c.left) {
		uint32_t type = cursor_number(&c, 1);
		uint32_t major = cursor_number(&c, 1);
		size_t n;

		if (type != RECORD_HANDSHAKE || (!c.bad && major != 3))
			return HEAD_BAD;
		cursor_number(&c, 1);
		n = cursor_number(&c, 2);
		if (c.bad)
			return HEAD_MORE;
		if (!n || *out_len + n > HEAD_MAX)
			return HEAD_BAD;
		/* An incomplete record is used too. */
		if (n > c.left)
			n = c.left;
		memcpy(out + *out_len, cursor_bytes(&c, n), n);
		*out_len += n;
		if (*out_len >= 4) {
			size_t want = (size_t)out[1] << 16 |
				      (size_t)out[2] << 8 | out[3];

			if (out[0] != CLIENT_HELLO || want + 4 > HEAD_MAX)
				return HEAD_BAD;
			if (*out_len >= want + 4) {
				*out_len = want + 4;
				return HEAD_NAME;
			}
		}
	}
	return HEAD_MORE;
}

/* Parses a list of exactly one name, of type host_name. */
static int
read_server_name(struct cursor c, char name[HOST_NAME_SIZE])
{
	struct cursor all = cursor_part(&c, cursor_number(&c, 2));
	uint32_t type = cursor_number(&all, 1);
	size_t n = cursor_number(&all, 2);
	const unsigned char *bytes = cursor_bytes(&all, n);

	if (c.bad || c.left || all.bad || all.left || type != 0 || !bytes)
		return -1;
	return host_name_read((const char *)bytes, n, name);
}

static int
read_extensions(struct cursor c, char name[HOST_NAME_SIZE])
{
	bool found = false;

	while (c.left) {
		uint32_t type = cursor_number(&c, 2);
		struct cursor e = cursor_part(&c, cursor_number(&c, 2));

		if (c.bad || type == EXT_ENCRYPTED)
			return -1;
		if (type != EXT_SERVER_NAME)
			continue;
		if (found || read_server_name(e, name) < 0)
			return -1;
		found = true;
	}
	return found && !c.bad ? 0 : -1;
}

enum head
tls_hello_read(const char *bytes, size_t len, char name[HOST_NAME_SIZE])
{
	unsigned char hello[HEAD_MAX];
	size_t hello_len;
	enum head all = unwrap_records(bytes, len, hello, &hello_len);
	struct cursor c = { hello, hello_len, false }, extensions;

	if (all != HEAD_NAME)
		return all == HEAD_MORE && len >= HEAD_MAX ? HEAD_BAD : all;
	cursor_bytes(&c, 4 + 2 + 32);		/* head, version, random */
	cursor_bytes(&c, cursor_number(&c, 1)); /* session */
	cursor_bytes(&c, cursor_number(&c, 2)); /* ciphers */
	cursor_bytes(&c, cursor_number(&c, 1)); /* compression */
	extensions = cursor_part(&c, cursor_number(&c, 2));
	if (c.bad || c.left || read_extensions(extensions, name) < 0)
		return HEAD_BAD;
	return HEAD_NAME;
}

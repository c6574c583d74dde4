/*
 * A TLS client's hello: a name is one, and what was read stays read when more
 * bytes come.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

/* What is called a name is one, in its one form. */
static void
check_name(const char *name)
{
	char again[HOST_NAME_SIZE];

	must(host_name_read(name, strlen(name), again) == 0);
	must(!strcmp(name, again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	enum head last = HEAD_MORE;
	char name[HOST_NAME_SIZE], first[HOST_NAME_SIZE] = "";

	if (size > 2 * HEAD_MAX)
		return 0;
	/* What was said of the beginning stays true of more. */
	for (size_t n = 0; n <= size; n += 1 + n / 16) {
		enum head now = tls_hello_read(bytes, n, name);

		must(last == HEAD_MORE || now == last || n > HEAD_MAX);
		must(n < HEAD_MAX || now != HEAD_MORE);
		if (now == HEAD_NAME) {
			check_name(name);
			must(!first[0] || !strcmp(first, name));
			memcpy(first, name, sizeof(first));
		}
		last = now;
	}
	return 0;
}

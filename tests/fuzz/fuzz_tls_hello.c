/*
 * A TLS client's hello: a name is one, and what was read stays read when more
 * bytes come.
 */
#include "http/tls_hello.h"

#include "fuzz.h"
#include "head.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_head(tls_hello_read, (const char *)data, size);
	return 0;
}

/*
 * A TLS client's hello: its name is a valid host name, and the result does not
 * change when more bytes arrive.
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

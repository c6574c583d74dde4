/*
 * A request's head: a name is one, and what was read stays read when more
 * bytes come.
 */
#include "head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum head
read_at_80(const char *bytes, size_t len, char *name)
{
	return http_head_read(bytes, len, 80, name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_head(read_at_80, (const char *)data, size);
	return 0;
}

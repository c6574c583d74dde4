/*
 * copy: the C library's functions for bytes, as instructions of WebAssembly
 * (bulk memory), which wasm2c compiles to calls of the host's memmove(3) and
 * memset(3). The loops of wasi-libc take several times as long.
 */
#include <stddef.h>

void *
memcpy(void *restrict to, const void *restrict from, size_t len)
{
	return __builtin_memcpy(to, from, len);
}

void *
memmove(void *to, const void *from, size_t len)
{
	return __builtin_memmove(to, from, len);
}

void *
memset(void *to, int byte, size_t len)
{
	return __builtin_memset(to, byte, len);
}

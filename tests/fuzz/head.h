/*
 * head: checks for the parsers that read a host name from the first bytes of a
 * connection.
 */
#ifndef REMIT_FUZZ_HEAD_H
#define REMIT_FUZZ_HEAD_H

#include "http/head.h"
#include "names.h"

/* A result for the first bytes must not change when more bytes follow. */
static inline void
check_head(enum head (*read)(const char *bytes, size_t len, char *name),
	   const char *bytes, size_t size)
{
	enum head last = HEAD_MORE;
	char name[HOST_NAME_SIZE], first[HOST_NAME_SIZE] = "";

	for (size_t n = 0; n <= size && size <= 2 * HEAD_MAX; n += 1 + n / 16) {
		enum head now = read(bytes, n, name);

		must(last == HEAD_MORE || now == last || n > HEAD_MAX);
		must(n < HEAD_MAX || now != HEAD_MORE);
		if (now == HEAD_NAME) {
			check_name(name);
			must(!first[0] || !strcmp(first, name));
			memcpy(first, name, sizeof(first));
		}
		last = now;
	}
}

#endif

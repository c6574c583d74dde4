/*
 * fuzz: what every target needs: its entry point, and the check that aborts it
 * when a promise is broken.
 */
#ifndef REMIT_FUZZ_H
#define REMIT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void
must(bool truth)
{
	if (!truth)
		abort();
}

#endif

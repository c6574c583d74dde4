#include "keeper/pool/bucket.h"

bool
bucket_take(struct bucket *b, uint64_t now_us, uint64_t *next_us)
{
	const uint64_t most = (uint64_t)BUCKET_TOKENS * BUCKET_EACH_US;
	uint64_t full = b->full_us > now_us ? b->full_us : now_us;

	full += BUCKET_EACH_US;
	if (full - now_us > most) {
		*next_us = full - most;
		return false;
	}
	b->full_us = full;
	return true;
}

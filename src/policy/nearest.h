/*
 * nearest: the known word most like a wrong one.
 *
 *	struct nearest n = NEAREST_INIT("memroy_bytes");
 *	nearest_try(&n, "memory_bytes", "memory_bytes");	for each word
 *	nearest_answer(&n)			"memory_bytes", or NULL
 */
#ifndef REMIT_NEAREST_H
#define REMIT_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *wrong;
	const char *answer;
	size_t distance;
};

#define NEAREST_INIT(text) { .wrong = (text), .distance = (size_t)-1 }

/* `answer` is given back if `word` stays the nearest. '-' equals '_'. */
void nearest_try(struct nearest *n, const char *word, const char *answer);
/* NULL unless about two letters in three are right. */
const char *nearest_answer(const struct nearest *n);

#endif

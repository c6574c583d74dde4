/*
 * nearest: finds the known word that is most similar to an unknown one.
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

/* Compares with `word`; nearest_answer() returns `answer` if it is the most
   similar. '-' equals '_', and case is ignored. */
void nearest_try(struct nearest *n, const char *word, const char *answer);
/* Returns NULL unless about two of three letters match. */
const char *nearest_answer(const struct nearest *n);

#endif

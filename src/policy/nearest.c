#include "policy/nearest.h"

#include <string.h>

/* No known word is longer, and no longer word is similar to one. */
#define MAX_WORD 40

static char
fold_letter(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static size_t
smallest(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* The Levenshtein distance, computed with one row. */
static size_t
levenshtein_distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t row[MAX_WORD + 1];

	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t differ =
				fold_letter(a[i - 1]) != fold_letter(b[j - 1]);
			size_t above = row[j];

			row[j] = smallest(above + 1, row[j - 1] + 1,
					  diagonal + differ);
			diagonal = above;
		}
	}
	return row[blen];
}

void
nearest_try(struct nearest *n, const char *word, const char *answer)
{
	size_t wrong_len = strnlen(n->wrong, MAX_WORD + 1);
	size_t word_len = strnlen(word, MAX_WORD + 1);
	size_t d;

	if (wrong_len > MAX_WORD || word_len > MAX_WORD)
		return;
	d = levenshtein_distance(n->wrong, wrong_len, word, word_len);
	if (d < n->distance) {
		n->distance = d;
		n->answer = answer;
	}
}

const char *
nearest_answer(const struct nearest *n)
{
	size_t len = strnlen(n->wrong, MAX_WORD + 1);

	if (!n->answer || n->distance > (len + 2) / 3 || n->distance >= len)
		return NULL;
	return n->answer;
}

#include "bench_template.h"

#include <string.h>

#include "base/buf.h"

#define WORD_MAX ((size_t)64 * 1024)

/* Returns the hole whose name and "}" are at `at`, or NULL. */
static const struct bench_hole *
find_hole(const struct bench_hole *holes, const char *at)
{
	for (const struct bench_hole *h = holes; h->name; h++) {
		size_t n = strlen(h->name);

		if (!strncmp(h->name, at, n) && at[n] == '}')
			return h;
	}
	return NULL;
}

static int
fill_word(struct list *out, const char *word, const struct bench_hole *holes)
{
	own(buf) struct buf text = BUF_INIT(WORD_MAX);

	while (*word) {
		const struct bench_hole *h =
			*word == '{' ? find_hole(holes, word + 1) : NULL;

		if (h && h->text) {
			if (buf_add(&text, h->text, strlen(h->text)) < 0)
				return -1;
			word += strlen(h->name) + 2;
		} else if (buf_add(&text, word++, 1) < 0) {
			return -1;
		}
	}
	return list_add(out, buf_text(&text));
}

int
bench_template_fill(struct list *out, const char *const *words,
		    const struct bench_hole *holes, struct remit_error *err)
{
	for (; *words; words++) {
		const struct bench_hole *h =
			**words == '{' ? find_hole(holes, *words + 1) : NULL;
		int bad;

		if (h && h->list && !(*words)[strlen(h->name) + 2])
			bad = list_copy(out, h->list);
		else
			bad = fill_word(out, *words, holes);
		if (bad)
			return fail_sys(err, REMIT_E_MEMORY, "the word %s",
					*words);
	}
	return 0;
}

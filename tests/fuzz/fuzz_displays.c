/*
 * The displays of a hostile process: headers and bytes, frame by frame, as the
 * keeper passes them on. They become JSON on one line, or break the protocol.
 *
 * The input is frames: one byte (odd for a header), one byte of length, and the
 * payload.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/displays.h"
#include "fuzz.h"

/* Each part lies within the received bytes, and has a MIME type. */
static void
on_display(void *user, const struct remit_display *d)
{
	const struct displays *all = *(const struct displays **)user;
	size_t sum = 0;

	must(d->part_count <= DISPLAY_PARTS);
	for (size_t i = 0; i < d->part_count; i++) {
		must(strchr(d->parts[i].mime, '/') != NULL);
		sum += d->parts[i].len;
	}
	must(sum <= all->data.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct displays *self = NULL;
	own(displays) struct displays d = DISPLAYS_INIT(on_display, &self);
	own(buf) struct buf value = BUF_INIT(0), shown = BUF_INIT(0);
	json_auto_t *first = NULL, *second = NULL;
	struct remit_error err;

	self = &d;
	while (size >= 2) {
		size_t n = data[1] < size - 2 ? data[1] : size - 2;
		/* Separate memory, so that the sanitizer sees its end. */
		own_mem char *exact = malloc(n ? n : 1);
		int failed;

		must(exact != NULL);
		memcpy(exact, data + 2, n);
		failed = data[0] % 2 ? displays_begin(&d, exact, n, &err)
				     : displays_add(&d, exact, n, &err);
		must(!failed || err.code == REMIT_E_PROTOCOL);
		data += 2 + n;
		size -= 2 + n;
	}
	must(displays_move(&d, &value, &shown, &err) == 0);
	for (size_t i = 0; i < value.len; i++)
		must((unsigned char)value.data[i] >= ' ');
	for (size_t i = 0; i < shown.len; i++)
		must((unsigned char)shown.data[i] >= ' ');
	first = json_loads(value.data,
			   JSON_ALLOW_NUL | JSON_DECODE_ANY |
				   JSON_DECODE_INT_AS_REAL,
			   NULL);
	second = json_loads(shown.data,
			    JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	must(first && json_is_array(second));
	return 0;
}

/*
 * displays: values and displays as they arrive, put together, handed to the
 * caller and written down as JSON.
 *
 * JSON that the code made is checked and then passed on as it is: a number
 * keeps all its digits. What is no JSON after all is left out.
 */
#ifndef REMIT_DISPLAYS_H
#define REMIT_DISPLAYS_H

#include "base/buf.h"
#include "wire/frame.h"
#include "wire/record.h"

struct displays {
	void (*on_display)(void *user, const struct remit_display *d);
	void *user;
	/* of the one that comes: */
	struct buf head;
	struct buf data;
	uint64_t total_bytes; /* 0: none comes */
	/* of all: */
	struct buf value; /* a JSON object, or nothing */
	struct buf shown; /* a JSON list but for its end, or nothing */
};

/* The keeper keeps to the policy's caps: these are the table's maxima. */
#define DISPLAYS_INIT(function, data_of_it)                       \
	{                                                         \
		.on_display = (function),                         \
		.user = (data_of_it),                             \
		.head = BUF_INIT(frame_rules[FRAME_DISPLAY].max), \
		.data = BUF_INIT((size_t)1 << 30),                \
		.value = BUF_INIT((size_t)1 << 30),               \
		.shown = BUF_INIT((size_t)4 << 30),               \
	}

/* From the payloads of "display" and "display_data". */
int displays_begin(struct displays *d, const char *payload, size_t len,
		   struct remit_error *err) must_check;
int displays_add(struct displays *d, const char *bytes, size_t len,
		 struct remit_error *err) must_check;
/* Hands over the value, a JSON object or null, and what was shown, a JSON list.
 */
int displays_move(struct displays *d, struct buf *value, struct buf *shown,
		  struct remit_error *err) must_check;
void displays_free(struct displays *d);

/* Whether a part of this type is text; other parts are written as base64. */
bool displays_is_text(const char *mime);

#endif

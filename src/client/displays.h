/*
 * displays: receives values and displays in frames, passes them to the caller,
 * and writes them as JSON.
 *
 * JSON from the code is validated and then passed on unchanged, so that numbers
 * keep all their digits. Invalid JSON is left out.
 */
#ifndef REMIT_DISPLAYS_H
#define REMIT_DISPLAYS_H

#include "base/buf.h"
#include "wire/frame.h"
#include "wire/record.h"

struct displays {
	void (*on_display)(void *user, const struct remit_display *d);
	void *user;
	/* the display that is arriving: */
	struct buf head;
	struct buf data;
	uint64_t total_bytes; /* 0: none is arriving */
	/* all displays so far: */
	struct buf value; /* a JSON object, or empty */
	struct buf shown; /* a JSON list without its "]", or empty */
};

/* The keeper enforces the policy's limits; these caps are the largest that a
   policy can have. */
#define DISPLAYS_INIT(function, data_of_it)                       \
	{                                                         \
		.on_display = (function),                         \
		.user = (data_of_it),                             \
		.head = BUF_INIT(frame_rules[FRAME_DISPLAY].max), \
		.data = BUF_INIT((size_t)1 << 30),                \
		.value = BUF_INIT((size_t)1 << 30),               \
		.shown = BUF_INIT((size_t)4 << 30),               \
	}

/* Receive the payloads of the frames "display" and "display_data". */
int displays_begin(struct displays *d, const char *payload, size_t len,
		   struct remit_error *err) must_check;
int displays_add(struct displays *d, const char *bytes, size_t len,
		 struct remit_error *err) must_check;
/* Move the value (a JSON object or null) and the displays (a JSON list) out. */
int displays_move(struct displays *d, struct buf *value, struct buf *shown,
		  struct remit_error *err) must_check;
void displays_free(struct displays *d);

/* Returns true if parts of this type are text. Other parts are written as
   base64. */
bool displays_is_text(const char *mime);

#endif

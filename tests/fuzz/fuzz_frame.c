/*
 * A stream of frames from any side: each accepted frame follows its rule, and a
 * stream that arrives in pieces through a link gives the same frames as one
 * that is parsed at once.
 *
 * The first byte of the input chooses the sides, the second the size of the
 * pieces.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "wire/link.h"

#define MAX_STREAM (64 * 1024)

static void
check_frame(const struct frame *f, unsigned from, uint64_t seen)
{
	const struct frame_rule *r;

	must(f->type > FRAME_NONE && f->type < FRAME_TYPES);
	r = &frame_rules[f->type];
	must(r->from & from);
	must(f->len <= r->max);
	must(!r->once || !(seen & UINT64_C(1) << f->type));
}

/* Parses the stream at once: counts its frames, and whether the rest is wrong.
 */
static int
count_frames(const char *bytes, size_t len, unsigned from, bool *wrong)
{
	uint64_t seen = 0;
	size_t at = 0;
	int frames = 0;

	for (;;) {
		struct remit_error err = { 0 };
		struct frame f = { .type = FRAME_NONE };
		uint64_t before = seen;
		size_t used;

		*wrong = frame_parse(bytes + at, len - at, from, &seen, &f,
				     &used, &err) < 0;
		if (*wrong) {
			must(err.code == REMIT_E_PROTOCOL && err.message[0]);
			must(seen == before);
			return frames;
		}
		if (!used) {
			must(seen == before);
			return frames;
		}
		check_frame(&f, from, before);
		must(used == FRAME_HEADER + f.len && used <= len - at);
		must(f.payload == bytes + at + FRAME_HEADER);
		at += used;
		frames++;
	}
}

/* Receives the stream through a socket, `step` bytes at a time. */
static int
receive_frames(struct link *l, int fd, const char *bytes, size_t len,
	       size_t step, bool *wrong)
{
	const char *expected = bytes;
	struct remit_error err;
	struct frame f;
	int frames = 0;

	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;

		must(write(fd, bytes + at, n) == (ssize_t)n);
		must(link_fill(l, &err) == 0 && !l->ended);
		for (;;) {
			*wrong = link_next(l, &f, &err) < 0;
			if (*wrong)
				return frames;
			if (f.type == FRAME_NONE)
				break;
			expected += FRAME_HEADER;
			must(!f.len || !memcmp(f.payload, expected, f.len));
			expected += f.len;
			frames++;
		}
	}
	return frames;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(link) struct link l = LINK_INIT;
	own_mem char *exact = NULL;
	bool wrong = false, wrong_too = false;
	unsigned from;
	int pair[2], frames;
	size_t step;

	if (size < 2 || size > MAX_STREAM)
		return 0;
	from = data[0] & 15;
	step = data[1] ? data[1] : MAX_STREAM;
	/* Separate memory, so that the sanitizer detects a read past the end.
	 */
	exact = malloc(size - 2 ? size - 2 : 1);
	must(exact &&
	     socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	memcpy(exact, data + 2, size - 2);
	link_open(&l, pair[0], from);
	frames = count_frames(exact, size - 2, from, &wrong);
	must(receive_frames(&l, pair[1], exact, size - 2, step, &wrong_too) ==
	     frames);
	must(wrong == wrong_too);
	close(pair[1]);
	return 0;
}

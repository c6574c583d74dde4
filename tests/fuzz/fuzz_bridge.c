/*
 * The frames of a hostile process that calls tools, and the replies of a broken
 * client: the first half of the input is a stream from the jail, the second
 * half one from the client, read in turns. No more calls are pending than
 * allowed, none is passed on after the last allowed one, and only whole frames
 * are passed on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/session/bridge.h"

static const struct bridge_limits limits = {
	.calls = 6,
	.bytes = 64,
	.concurrency = 3,
};

/* One side's stream. */
struct side {
	const char *bytes;
	size_t len;
	unsigned party;
	uint64_t seen;
	bool broken;
};

static void
bridge_step(struct bridge *b, struct side *s, struct link *client,
	    struct link *jail)
{
	size_t waits = b->pending_count, used;
	struct frame f = { .type = FRAME_NONE };
	struct remit_error err;
	bool changed = false;
	int failed = frame_parse(s->bytes, s->len, s->party, &s->seen, &f,
				 &used, &err);

	if (failed == 0 && !used)
		s->broken = true; /* the stream has ended */
	s->bytes += used;
	s->len -= used;
	if (failed == 0 && (f.type == FRAME_CALL || f.type == FRAME_CALL_DATA))
		failed = bridge_call(b, &limits, &f, client, jail, &changed,
				     &err);
	else if (failed == 0 &&
		 (f.type == FRAME_REPLY || f.type == FRAME_REPLY_DATA))
		failed = bridge_reply(b, &limits, &f, jail, &changed, &err);
	if (failed < 0) {
		must(err.code == REMIT_E_PROTOCOL);
		s->broken = true;
		return;
	}
	if (s->party == PARTY_JAIL)
		must(b->pending_count == waits + changed);
	else
		must(b->pending_count + changed == waits);
	must(b->pending_count <= limits.concurrency &&
	     b->calls <= limits.calls);
}

/* Everything that was passed on is frames that the other side accepts. */
static void
check_frames(const struct link *l)
{
	const char *at = buf_text(&l->out);
	size_t left = l->out.len, used;
	uint64_t seen = 0;

	while (left) {
		struct remit_error err;
		struct frame f;

		must(frame_parse(at, left, PARTY_KEEPER, &seen, &f, &used,
				 &err) == 0 &&
		     used);
		at += used;
		left -= used;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(bridge) struct bridge b = BRIDGE_INIT;
	own(link) struct link client = LINK_INIT, jail = LINK_INIT;
	struct side sides[] = {
		{ (const char *)data, size / 2, PARTY_JAIL, 0, false },
		{ (const char *)data + size / 2, size - size / 2, PARTY_CLIENT,
		  0, false },
	};

	must(buf_add(&b.tools, "tool\0x\0", 7) == 0);
	while (!sides[0].broken || !sides[1].broken)
		for (int i = 0; i < 2; i++)
			if (!sides[i].broken)
				bridge_step(&b, &sides[i], &client, &jail);
	check_frames(&client);
	check_frames(&jail);
	return 0;
}

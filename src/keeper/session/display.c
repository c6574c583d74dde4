/*
 * session_display: values and displays go from the jail to the client, in order
 * with the output, as far as the policy lets them. Their bytes are not read.
 */
#include "keeper/session/part.h"
#include "wire/display_head.h"

/* What the runner says of one is small; this bounds what it costs to say
   nothing, very often. */
#define DISPLAYS_MAX 1000

static bool
fits(const struct session *s, const struct display_head *h)
{
	const struct policy *p = &s->pool->policy;
	const struct displays *d = &s->cell.displays;

	if (!plan_keeps(&s->pool->plan, MECH(FRAME_CAP)))
		return true;
	if (h->kind == DISPLAY_VALUE)
		return !d->has_value && h->total_bytes <= p->value_bytes;
	return d->shown < DISPLAYS_MAX &&
	       h->total_bytes <= p->display_bytes - d->shown_bytes;
}

/* A thread of a session may show something between cells: nobody sees it. */
static bool
may_show(const struct session *s)
{
	return s->state == SESSION_RUNNING || session_is_opened(s);
}

/* What was written before comes before. */
static void
let_output_pass(struct session *s)
{
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
}

static int
relay(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (link_send(&s->client, f->type, f->payload, f->len, err) < 0)
		return -1;
	session_flush_client(s);
	return 0;
}

int
session_take_display(struct session *s, const struct frame *f,
		     struct remit_error *err)
{
	struct displays *d = &s->cell.displays;
	struct display_head h;

	if (!may_show(s) || s->display.missing)
		return fail(err, REMIT_E_PROTOCOL, "a display at a wrong time");
	if (display_head_read(&h, f->payload, f->len, err) < 0)
		return -1;
	s->display.missing = h.total_bytes;
	s->display.dropped = s->state != SESSION_RUNNING || !fits(s, &h);
	if (s->display.dropped) {
		d->left_out++;
		return 0;
	}
	if (h.kind == DISPLAY_VALUE) {
		d->has_value = true;
	} else {
		d->shown++;
		d->shown_bytes += h.total_bytes;
		let_output_pass(s);
	}
	return relay(s, f, err);
}

int
session_take_display_data(struct session *s, const struct frame *f,
			  struct remit_error *err)
{
	if (!may_show(s) || f->len > s->display.missing)
		return fail(err, REMIT_E_PROTOCOL, "bytes of no display");
	s->display.missing -= f->len;
	return s->display.dropped || !f->len ? 0 : relay(s, f, err);
}

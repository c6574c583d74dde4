#include "mcp/mcp.h"

#include <string.h>

#include "mcp/call.h"
#include "mcp/elicit.h"
#include "mcp/method.h"
#include "mcp/tool.h"

/* ---- the server ---- */

static int
mcp_init(struct mcp *m, const struct mcp_options *opt, struct remit_error *err)
{
	json_auto_t *doc = policy_to_json(opt->policy);

	m->remit = opt->remit;
	m->hosted_table = opt->hosted_table;
	m->store = opt->store;
	m->admit = opt->admit;
	m->user = opt->user;
	m->owner = strdup(opt->owner);
	m->policy_json = doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;
	if (!m->owner || !m->policy_json ||
	    policy_copy(&m->policy, opt->policy) < 0)
		return fail_memory(err, "server");
	if (remit_instructions(m->remit, m->policy_json, NULL, 0, 0, &m->guide,
			       err) < 0)
		return -1;
	return mcp_toolbox_open(&m->toolbox, &m->policy, m->guide, err);
}

int
mcp_open(struct mcp **out, const struct mcp_options *opt,
	 struct remit_error *err)
{
	struct mcp *m = calloc(1, sizeof(*m));

	if (!m)
		return fail_memory(err, "server");
	pthread_mutex_init(&m->lock, NULL);
	if (mcp_init(m, opt, err) < 0) {
		mcp_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void
mcp_free(struct mcp *m)
{
	if (!m)
		return;
	/* Parked calls are the only calls that can exist now. */
	while (m->calls)
		mcp_call_drop(m->calls);
	mcp_toolbox_free(m->toolbox);
	policy_free(&m->policy);
	json_decref(m->policy_shown);
	pthread_mutex_destroy(&m->lock);
	free(m->owner);
	free(m->policy_json);
	free(m->guide);
	free(m);
}

/* ---- peers ---- */

struct mcp_peer *
mcp_peer_open(struct mcp *m)
{
	struct mcp_peer *p = calloc(1, sizeof(*p));

	if (p) {
		p->mcp = m;
		p->refs = (struct refcount)REFCOUNT_INIT(1);
	}
	return p;
}

void
mcp_peer_cancel(struct mcp_peer *p)
{
	mcp_call_cancel_peer(p);
}

void
mcp_peer_close(struct mcp_peer *p)
{
	struct mcp *m = p->mcp;

	mcp_call_cancel_peer(p);
	pthread_mutex_lock(&m->lock);
	mcp_peer_unref(p);
	pthread_mutex_unlock(&m->lock);
}

/* ---- messages ---- */

static void
answer_fault(json_t *id, struct mcp_fault *fault, const struct mcp_sink *sink)
{
	own_mem char *text = mcp_write_error(id, fault);

	sink->end(sink->user, text, text ? strlen(text) : 0, fault->code);
	mcp_fault_free(fault);
}

/* Unknown notifications are ignored. */
static void
handle_notification(struct mcp_peer *p, const struct mcp_message *msg)
{
	const json_t *id = json_object_get(msg->params, "requestId");

	if (!strcmp(msg->method, "notifications/cancelled") && id)
		mcp_call_cancel_id(p, id);
}

void
mcp_receive_message(struct mcp_peer *p, struct mcp_message *msg,
		    const struct mcp_sink *sink)
{
	struct mcp_fault fault = { 0 };
	struct mcp_call *c;

	if (msg->kind != MCP_REQUEST) {
		if (msg->kind == MCP_NOTIFICATION)
			handle_notification(p, msg);
		else
			mcp_elicit_response(p, msg);
		mcp_message_free(msg);
		sink->end(sink->user, NULL, 0, 0);
		return;
	}
	c = mcp_call_begin(p, msg, sink, &fault);
	if (!c) {
		answer_fault(msg->id, &fault, sink);
		mcp_message_free(msg);
		return;
	}
	mcp_method_run(c);
	mcp_call_unref(c);
}

void
mcp_receive(struct mcp_peer *p, const char *bytes, size_t len,
	    const struct mcp_sink *sink)
{
	struct mcp_fault fault = { 0 };
	struct mcp_message msg;

	if (mcp_message_read(&msg, bytes, len, &fault) == 0) {
		mcp_receive_message(p, &msg, sink);
		return;
	}
	answer_fault(msg.id, &fault, sink);
	mcp_message_free(&msg);
}

void
mcp_cancel(struct mcp *m, const void *user)
{
	mcp_call_cancel_sink(m, user);
}

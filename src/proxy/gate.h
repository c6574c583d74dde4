/*
 * gate: the inside of the proxy process. It answers DNS questions, accepts
 * connections, and lets them through or refuses them. All tables have a fixed
 * size: nothing is allocated once it runs.
 */
#ifndef REMIT_GATE_H
#define REMIT_GATE_H

#include "base/loop.h"
#include "jail/listeners.h"
#include "policy/rules/host_rule.h"
#include "proxy/credential/tls_ends.h"
#include "proxy/credential/vault.h"
#include "proxy/dns/dns.h"
#include "proxy/dns/names.h"
#include "proxy/ledger.h"
#include "proxy/params.h"
#include "proxy/relay.h"

struct gate;

/* Concurrent look-ups. Beyond that, a name counts as unknown for a moment. */
#define LOOKUPS_MAX 32

struct lookup {
	struct gate *gate;
	struct name *name; /* NULL: not in use */
	enum dns_type type;
	uint16_t id;
	unsigned tries;
	struct source on;
	struct timer timer;
};

/*
 * Connections to hosts that no rule names and no person has decided on. They
 * wait while the keeper prompts a person, one prompt at a time.
 */
struct pending {
	bool prompts;
	uint32_t count;	 /* prompts so far: the id of the last */
	bool is_waiting; /* for the answer to the last prompt, which is about:
			  */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	/* The answers that apply to the whole run. */
	struct pending_answer {
		char host[HOST_NAME_SIZE];
		uint16_t port;
		bool is_allowed;
	} answers[PENDING_PROMPTS_MAX];
	uint32_t answer_count;
};

/* A listener of the jail. */
struct gate_port {
	struct gate *gate;
	struct source on;
};

struct gate {
	struct loop loop;
	struct host_rules rules;
	struct relay_use uses[HOST_RULES_MAX];
	bool explicit_proxy; /* accept explicit proxy requests */
	struct vault vault;
	struct tls_ends
		*ends; /* if a host's TLS is terminated here; else NULL */
	struct pending pending;
	bool allows_public; /* also public hosts that no rule names */
	struct site_names site;
	struct names names;
	struct ledger *ledger;
	struct source on_line, on_question;
	struct gate_port ports[LISTENERS_MAX];
	size_t port_count;
	struct lookup lookups[LOOKUPS_MAX];
	struct relay relays[RELAYS_MAX];
	size_t relay_count; /* in use */
	size_t piped_count; /* directions that have a pipe */
};

/* Watch the sockets from pid 1, and the line to the keeper. */
int gate_open(struct gate *g, int line, const int *fds, size_t count,
	      struct remit_error *err) must_check;
/* Run until the line closes or the event loop fails. */
void gate_run(struct gate *g);
/* Called when a connection has ended: accept connections again. */
void gate_resume_accepting(struct gate *g);

/* Called when the keeper has sent an answer (admission.c). */
void pending_settle(struct gate *g, const struct proxy_prompt_answer *a);

/* ---- dns/lookup.c ---- */

void lookup_init(struct lookup *l, struct gate *g);

/* Look up a name that is new or whose time is over. Then calls relays_wake(),
   possibly before returning. */
void lookup_start(struct gate *g, struct name *n);

#endif

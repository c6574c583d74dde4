/*
 * gate: the inside of the proxy process. It answers questions for names, takes
 * connections, and lets them through or not. Nothing is allocated once it
 * runs: all tables have their size.
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

/* Look-ups at once; more names wait for nothing and are lost for a moment. */
#define LOOKUPS_MAX 32

struct lookup {
	struct gate *gate;
	struct name *name; /* NULL: free */
	enum dns_type type;
	uint16_t id;
	unsigned tries;
	struct source on;
	struct timer timer;
};

/*
 * Connections to hosts that nobody has allowed or refused yet. They wait while
 * the keeper has somebody asked, one question after the other.
 */
struct pending {
	bool prompts;
	uint32_t count;	 /* questions so far: the id of the last */
	bool is_waiting; /* for the answer to that one: */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	/* What was said for the whole run. */
	struct pending_answer {
		char host[HOST_NAME_SIZE];
		uint16_t port;
		bool is_allowed;
	} answers[PENDING_PROMPTS_MAX];
	uint32_t answer_count;
};

/* A way out that listens. */
struct gate_port {
	struct gate *gate;
	struct source on;
};

struct gate {
	struct loop loop;
	struct host_rules rules;
	struct relay_use uses[HOST_RULES_MAX];
	bool explicit_proxy; /* clients may ask for a proxy */
	struct vault vault;
	struct tls_ends *ends; /* for those with TLS; else NULL */
	struct pending pending;
	bool allows_public; /* public hosts that no rule names, too */
	struct site_names site;
	struct names names;
	struct ledger *ledger;
	struct source on_line, on_question;
	struct gate_port ports[LISTENERS_MAX];
	size_t port_count;
	struct lookup lookups[LOOKUPS_MAX];
	struct relay relays[RELAYS_MAX];
	size_t relay_count; /* in use */
	size_t piped_count; /* directions of them that have a pipe */
};

/* Watch what pid 1 has sent, and the keeper's line. */
int gate_open(struct gate *g, int line, const int *fds, size_t count,
	      struct remit_error *err) must_check;
/* Until the line closes or something fails. */
void gate_run(struct gate *g);
/* A connection has ended: there is room for another. */
void gate_resume_accepting(struct gate *g);

/* The keeper has an answer (admission.c). */
void pending_settle(struct gate *g, const struct proxy_prompt_answer *a);

/* ---- dns/lookup.c ---- */

void lookup_init(struct lookup *l, struct gate *g);

/* Find a name that is new or whose time is over; then, perhaps at once,
   relays_wake() is called. */
void lookup_start(struct gate *g, struct name *n);

#endif

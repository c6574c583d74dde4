/*
 * serve_limits: every limit of the server, in one table. The options of "remit
 * serve", its help, "remit serve --limits" and docs/reference/http.md are made
 * from it or checked against it.
 */
#ifndef REMIT_SERVE_LIMITS_H
#define REMIT_SERVE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/fields/options.h"

/* As many as a keeper has: more would wait there, where keys are not known. */
#define LIMIT_RUNNING  64
#define LIMIT_SESSIONS 64

/* What the keeper's store of packages has, and its installers. */
#define LIMIT_PACKAGE_BYTES (UINT64_C(16) << 30)
#define LIMIT_INSTALLERS    4
/* Of a keeper: its jails, the warm ones included; the policies for which it
   keeps some warm, each with a zygote at most; what jails may use that wait
   with modules of packages; and its queue. */
#define LIMIT_JAILS	    192
#define LIMIT_POOLS	    32
#define LIMIT_FOREIGN_BYTES (UINT64_C(1) << 30)
#define LIMIT_QUEUE	    4096

#define LIMIT_KEY_CONCURRENCY 64
#define LIMIT_KEY_PER_MINUTE  60000

#define LIMIT_ARTIFACT_SECONDS 600

/* Of one list of packages, for keys without a policy. */
#define LIMIT_KEY_PACKAGE_BYTES (UINT64_C(1) << 30)

/* The values of those with an option. */
struct serve_limits {
	uint64_t running, sessions, hosted;
	uint64_t body_bytes, connections, artifact_bytes;
	uint64_t memory_bytes; /* 0: serve_limits_settle() chooses */
	uint64_t result_bytes;
	uint64_t key_share; /* in percent */
};

enum limit_unit { LIMIT_COUNT, LIMIT_BYTES, LIMIT_SECONDS, LIMIT_PERCENT };

struct serve_limit {
	const char *name;
	const char *scope;  /* what it is counted for */
	const char *option; /* "--max-running", or NULL: it is fixed */
	const char *member; /* of a row of the file of keys, or NULL */
	/* The field of policies that it is the most of, for requests of a key
	   without a policy; or NULL. */
	const char *field;
	enum limit_unit unit;
	uint64_t value;	   /* the default; 0: no limit */
	const char *shown; /* instead of it, in the table; or NULL */
	uint64_t most;	   /* for the option */
	size_t offset;	   /* in struct serve_limits, if it has an option */
	const char *at;	   /* what happens there */
};

/* Ends with a row without a name. */
extern const struct serve_limit serve_limits_table[];

/* The defaults. */
void serve_limits_init(struct serve_limits *l);
/* Options whose target is a struct serve_limits. */
const struct option *serve_limits_options(void);
/* What all limits add up to. */
struct serve_sum {
	uint64_t program_bytes, result_bytes, body_bytes, own_bytes;
	uint64_t keeper_bytes;
	uint64_t memory_bytes; /* of these */
	uint64_t artifact_bytes, package_bytes;
	uint64_t disk_bytes; /* of these */
	/* Of memory, while packages are installed; in no sum. */
	uint64_t install_bytes;
};

/* For whom limits are chosen. */
struct serve_setting {
	uint64_t machine_bytes; /* of memory */
	/* What the largest program takes for which no request has to ask: by
	   the server's options, or by the policy of a key. */
	uint64_t program_bytes;
	bool is_shared; /* by several keys */
};

/* Choose what no option has set. Programs of several keys get what nothing else
   needs, but each key's share fits its program; a single key may promise its
   programs more than there is, since few use all they may. */
void serve_limits_settle(struct serve_limits *l, const struct serve_setting *s);
struct serve_sum serve_limits_sum(const struct serve_limits *l);
/* What one key may hold of a limit. */
uint64_t serve_limits_share(uint64_t limit, unsigned percent);

/* The whole table, in Markdown, and the sum of it for a machine of so much
   memory. Returns -1 if it cannot be written. */
int serve_limits_show(const struct serve_limits *l, uint64_t machine_bytes,
		      FILE *out) must_check;

#endif

/*
 * serve_limits: every limit of the server, in one table. The options of "remit
 * serve", its help, "remit serve --limits" and docs/reference/http.md are
 * generated from it or checked against it.
 */
#ifndef REMIT_SERVE_LIMITS_H
#define REMIT_SERVE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/fields/options.h"

/* The limits of a keeper: more would queue there, where keys are unknown. */
#define LIMIT_RUNNING  64
#define LIMIT_SESSIONS 64

/* The limits of the keeper's package store and its installers. */
#define LIMIT_PACKAGE_BYTES (UINT64_C(16) << 30)
#define LIMIT_INSTALLERS    4
/* The limits of a keeper: its jails, warm ones included; the policies for which
   it keeps some warm, each with at most one zygote; the memory of jails that
   wait with modules of packages; that of its zygotes; how many zygotes import
   modules at once, and with how much memory; and its queue. */
#define LIMIT_JAILS	    192
#define LIMIT_POOLS	    32
#define LIMIT_FOREIGN_BYTES (UINT64_C(1) << 30)
#define LIMIT_ZYGOTE_BYTES  (UINT64_C(1) << 30)
#define LIMIT_IMPORTS	    2
#define LIMIT_IMPORT_BYTES  (UINT64_C(2) << 30)
#define LIMIT_QUEUE	    4096

/* The lists of files that are being stored or restored, in the server's
   memory. */
#define LIMIT_LIST_BYTES (UINT64_C(128) << 20)
/* The lists of watched folders that the keeper cannot watch. */
#define LIMIT_LISTINGS_BYTES (UINT64_C(64) << 20)

#define LIMIT_KEY_CONCURRENCY 64
#define LIMIT_KEY_PER_MINUTE  60000

#define LIMIT_ARTIFACT_SECONDS 600

/* How many connections the ports of one sandbox may have. */
#define LIMIT_PORT_CONNECTIONS 64

/* For one list of packages, for keys without a policy. */
#define LIMIT_KEY_PACKAGE_BYTES (UINT64_C(1) << 30)

/* The limits that have an option. */
struct serve_limits {
	uint64_t running, sessions, hosted;
	uint64_t body_bytes, connections, artifact_bytes;
	uint64_t memory_bytes; /* 0: serve_limits_settle() chooses */
	uint64_t result_bytes;
	uint64_t snapshot_bytes, snapshots, snapshot_seconds;
	uint64_t port_connections, port_idle_seconds;
	uint64_t key_share; /* in percent */
};

enum limit_unit { LIMIT_COUNT, LIMIT_BYTES, LIMIT_SECONDS, LIMIT_PERCENT };

struct serve_limit {
	const char *name;
	const char *scope;  /* what it applies to */
	const char *option; /* "--max-running"; NULL: fixed */
	const char *member; /* in the file of keys, or NULL */
	/* The policy field that it limits for requests of keys without a
	   policy; or NULL. */
	const char *field;
	enum limit_unit unit;
	uint64_t value;	   /* the default; 0: no limit */
	const char *shown; /* in the table, instead of `value`; or NULL */
	uint64_t most;	   /* the maximum of the option */
	size_t offset;	   /* in struct serve_limits, if there is an option */
	const char *at;	   /* what happens at the limit */
};

/* Ends with a row without a name. */
extern const struct serve_limit serve_limits_table[];

/* Sets the defaults. */
void serve_limits_init(struct serve_limits *l);
/* The options; their target is a struct serve_limits. */
const struct option *serve_limits_options(void);
/* The sums of all limits. */
struct serve_sum {
	uint64_t program_bytes, result_bytes, body_bytes, own_bytes;
	uint64_t keeper_bytes;
	uint64_t memory_bytes; /* the sum of the above */
	uint64_t artifact_bytes, package_bytes, snapshot_bytes;
	uint64_t disk_bytes; /* the sum of the above */
	/* Memory of installers, of what policies preload, and of zygotes that
	   import it: not part of the sums. */
	uint64_t install_bytes, preload_bytes, import_bytes;
};

/* The situation that limits are chosen for. */
struct serve_setting {
	uint64_t machine_bytes; /* its memory */
	/* The memory of the largest program that needs no request for more: by
	   the server's options, or by the policy of a key. */
	uint64_t program_bytes;
	bool is_shared; /* by several keys */
};

/* Chooses the limits that no option has set. With several keys, programs get
   the memory that nothing else needs, but at least so much that a key's share
   fits its program. A single key may promise its programs more memory than the
   machine has, since few programs use all they may. */
void serve_limits_settle(struct serve_limits *l, const struct serve_setting *s);
struct serve_sum serve_limits_sum(const struct serve_limits *l);
/* The share of one key in a limit. */
uint64_t serve_limits_share(uint64_t limit, unsigned percent);

/* Prints the whole table in Markdown, and its sums compared with the machine's
   memory. Returns -1 if writing fails. */
int serve_limits_show(const struct serve_limits *l, uint64_t machine_bytes,
		      FILE *out) must_check;

#endif

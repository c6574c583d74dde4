/*
 * installer_run: one run of an installer, from the client's side: what it is
 * given, what it says, how it ended.
 */
#ifndef REMIT_INSTALLER_RUN_H
#define REMIT_INSTALLER_RUN_H

#include "keeper/packages/installer.h"
#include "keeper/packages/package_layer_make.h"
#include "wire/link.h"
#include "wire/result.h"

struct installer_run {
	struct link client;
	struct package_layer_make
		*make; /* takes its files; NULL: it has none */
	/* For each line that it prints, or NULL. */
	void (*on_line)(const struct installer_params *o, const char *line);
	const struct installer_params *params;
	struct buf out, err; /* the beginning, the end */
	size_t passed_bytes; /* of out: bytes that were lines */
	enum status status;
	json_t *result; /* NULL until it has ended */
};

#define INSTALLER_RUN_INIT          \
	{ .client = LINK_INIT,      \
	  .out = BUF_INIT(1 << 20), \
	  .err = BUF_INIT(64 << 10) }

/* Takes the client. 0: it has ended, however. */
int installer_run(struct installer_run *r, int client, const struct buf *policy,
		  const struct list *argv, const struct buf *code,
		  struct remit_error *err) must_check;
void installer_run_free(struct installer_run *r);

/* Whether the reason is package_time, which is not the packages' fault. */
bool installer_is_late(const struct remit_error *err);
/* Why it did not end well; false if it did. */
bool installer_run_failed(const struct installer_run *r,
			  struct remit_error *why);

#endif

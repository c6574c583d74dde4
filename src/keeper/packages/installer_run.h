/*
 * installer_run: one run of an installer, from the client's side: it sends the
 * job, and reads the output, the files and the result.
 */
#ifndef REMIT_INSTALLER_RUN_H
#define REMIT_INSTALLER_RUN_H

#include "keeper/packages/installer.h"
#include "keeper/packages/package_layer_make.h"
#include "wire/link.h"
#include "wire/result.h"

struct installer_run {
	struct link client;
	/* receives its files; NULL: it has none */
	struct package_layer_make *make;
	/* Called for each line that it prints, or NULL. */
	void (*on_line)(const struct installer_params *o, const char *line);
	const struct installer_params *params;
	struct buf out, err; /* the beginning of stdout, the end of stderr */
	size_t passed_bytes; /* bytes of `out` that were passed on as lines */
	enum status status;
	json_t *result; /* NULL until it has ended */
};

#define INSTALLER_RUN_INIT          \
	{ .client = LINK_INIT,      \
	  .out = BUF_INIT(1 << 20), \
	  .err = BUF_INIT(64 << 10) }

/* Takes ownership of the client. Returns 0 when the run has ended, however it
   ended. */
int installer_run(struct installer_run *r, int client, const struct buf *policy,
		  const struct list *argv, const struct buf *code,
		  struct remit_error *err) must_check;
void installer_run_free(struct installer_run *r);

/* Returns true if the reason is package_time, so that the packages are not at
   fault. */
bool installer_is_late(const struct remit_error *err);
/* Sets *why to the reason if the run failed. Returns false if it succeeded. */
bool installer_run_failed(const struct installer_run *r,
			  struct remit_error *why);

#endif

/*
 * claim: what the process in the jail reports about itself. It is bounded,
 * marked as reported, and never replaces a fact of the kernel.
 */
#ifndef REMIT_CLAIM_H
#define REMIT_CLAIM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

enum claim_kind {
	CLAIM_NONE,
	CLAIM_OK,
	CLAIM_ERROR,
	CLAIM_EXIT,
	CLAIM_REJECTED,
};

struct claim {
	enum claim_kind kind;
	json_t *error; /* made by claim_error_new(), or NULL */
	bool has_exit_code;
	int exit_code;
	/* nothing ran, because the statement is not complete */
	bool incomplete;
	char *denied_path; /* the path that the error is about, or NULL */
	int denied_errno;
	bool denied_execution; /* the path could be read, but not executed */
	/* the top-level name of a missing module, or NULL */
	char *missing_module;
};

/* Parse the records of a "checked" or "ended" frame. */
int claim_parse_checked(struct claim *c, const char *payload, size_t len,
			struct remit_error *err) must_check;
int claim_parse_ended(struct claim *c, const char *payload, size_t len,
		      struct remit_error *err) must_check;
void claim_free(struct claim *c);
/* Adds the member "remedy" to the error. */
void claim_add_remedy(struct claim *c, const char *text);
/* How a missing package can be installed. */
enum claim_install {
	CLAIM_INSTALL_BEFORE, /* only by the policy, before the run */
	CLAIM_INSTALL_CALL,   /* by the program, while it runs */
	CLAIM_INSTALL_LINE,   /* by a line of a cell */
};

/* Adds the members "package" and "remedy" to the error about the missing
   module. */
void claim_add_package(struct claim *c, const char *package,
		       enum claim_install install);
/* Returns an error with all known members, so that a reader need not check
   which exist: {name, value, traceback, line, column, text, frames,
   findings}. */
json_t *claim_error_new(void);

#endif

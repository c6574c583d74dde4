/*
 * claim: what the process in the jail says about itself. Bounded, marked as
 * reported, and never in place of a fact of the kernel.
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
	json_t *error; /* see claim_error_new(), or NULL */
	bool has_exit_code;
	int exit_code;
	bool incomplete;   /* nothing ran: more is to be typed */
	char *denied_path; /* that the error is about, or NULL */
	int denied_errno;
	char *missing_module; /* top-level, that was not found, or NULL */
};

/* From the records of a "checked" or "ended" frame. */
int claim_parse_checked(struct claim *c, const char *payload, size_t len,
			struct remit_error *err) must_check;
int claim_parse_ended(struct claim *c, const char *payload, size_t len,
		      struct remit_error *err) must_check;
void claim_free(struct claim *c);
/* Add the members package and remedy to the error about the missing module. */
void claim_add_package(struct claim *c, const char *package);
/* {name, value, traceback, line, column, text, frames, findings}: all known
   keys, so that a reader need not ask whether one is there. */
json_t *claim_error_new(void);

#endif

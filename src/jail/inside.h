/*
 * inside: names that are the same in every jail.
 */
#ifndef REMIT_INSIDE_H
#define REMIT_INSIDE_H

#include <stdbool.h>

/* The only user inside. */
#define JAIL_UID      1000
#define JAIL_USER     "remit"
#define JAIL_RUNTIME  "/.remit/lib"
#define JAIL_COMPILED "/.remit/compiled"
#define JAIL_FONTS    "/.remit/fonts"
#define JAIL_PACKAGES "/.remit/packages"
/* Where packages are mounted that are installed while code runs: one empty
   directory for each layer, named by its number. */
#define JAIL_INSTALLED "/.remit/installed"
/* The certificate authorities that code trusts, if the proxy terminates TLS. */
#define JAIL_TRUST_DIRECTORY "/etc/remit"
#define JAIL_TRUST_NAME	     "trust.pem"
#define JAIL_TRUST	     JAIL_TRUST_DIRECTORY "/" JAIL_TRUST_NAME

/* The writable directories: their names in the jail's one tmpfs, and their
   modes. */
#define JAIL_WRITABLE 3

struct jail_directory {
	const char *name;
	const char *path; /* NULL: where the policy wants it */
	unsigned mode;
	bool has_programs; /* with workspace_execution, files in it can be
			      executed */
};

extern const struct jail_directory jail_writable[JAIL_WRITABLE];

struct plan;

/* Where a writable directory is mounted. */
const char *jail_writable_path(const struct plan *plan, int i);
/* Whether this path is a writable directory or in one. Compares only the
   texts. */
bool jail_is_writable(const struct plan *plan, const char *path);

#endif

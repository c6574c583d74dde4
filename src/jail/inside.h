/*
 * inside: names that hold in every jail.
 */
#ifndef REMIT_INSIDE_H
#define REMIT_INSIDE_H

/* The one user inside. */
#define JAIL_UID       1000
#define JAIL_USER      "remit"
#define JAIL_WORKSPACE "/workspace"
#define JAIL_RUNTIME   "/.remit/lib"
#define JAIL_COMPILED  "/.remit/compiled"
#define JAIL_FONTS     "/.remit/fonts"
#define JAIL_PACKAGES  "/.remit/packages"

/* What can be written: folders of one tmpfs, and where they appear. */
#define JAIL_WRITABLE 3

struct jail_folder {
	const char *name, *path;
	unsigned mode;
};

extern const struct jail_folder jail_writable[JAIL_WRITABLE];

#endif

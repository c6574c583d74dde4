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

#endif

/*
 * installer_policy: what a run that installs may do, and what it is told.
 */
#ifndef REMIT_INSTALLER_POLICY_H
#define REMIT_INSTALLER_POLICY_H

#include "base/buf.h"
#include "keeper/packages/installer.h"

/* Files that an index names may come from so many hosts. */
#define INSTALLER_HOSTS_MAX 16

/* The address of the index; NULL: there is none, or none is to be asked. */
const char *installer_index(const struct installer_params *o);
/* The index must be asked where its files are. */
bool installer_must_ask(const struct installer_params *o);

/* For a run that asks the index (`hosts` is NULL), or one that installs and may
   fetch from these hosts as well; as JSON. */
int installer_policy(struct buf *out, const struct installer_params *o,
		     const struct list *hosts,
		     struct remit_error *err) must_check;
/* The arguments of install.py for the same. */
int installer_arguments(struct list *out, const struct installer_params *o,
			bool asks, struct remit_error *err) must_check;

#endif

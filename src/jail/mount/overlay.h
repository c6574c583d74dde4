/*
 * overlay: what the code writes to a directory of the host goes to an overlay
 * above it (overlayfs), in a capped file system of the jail. The directory
 * itself is only read. When all in the jail is dead, the keeper looks at the
 * overlay. And which paths of the host no run may change.
 */
#ifndef REMIT_OVERLAY_H
#define REMIT_OVERLAY_H

#include "jail/blueprint.h"

/* In pid 1: put an overlay over each directory that has one. `scratch` is the
   writable file system. -1 with errno, *detail says at which directory. */
int overlays_make(struct blueprint *b, int scratch, uint32_t *detail);

/*
 * In the keeper: whether this directory can have an overlay, and for mode rw
 * whether we may write to it and would notice if others do.
 */
int overlay_check(const struct plan_mount *m, int directory,
		  struct remit_error *err) must_check;

/*
 * Paths of the host that no run may change, whatever directories it may write:
 * the interpreter, which is executed outside of jails as well, and Remit
 * itself.
 */

/* -1 without memory. */
int guard_list(struct list *out, const struct interpreter *in,
	       const char *runtime_dir) must_check;
/* Whether any of them is in this directory, or it in one of them. */
bool guard_overlaps(const struct list *guarded, const char *directory);

#endif

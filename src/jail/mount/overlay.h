/*
 * overlay: what the code writes to a directory of the host goes to an overlay
 * over it (overlayfs), in a file system of the jail with a size limit. The
 * directory itself is only read. When every process in the jail is dead, the
 * keeper reads the overlay. Also here: the paths of the host that no run may
 * change.
 */
#ifndef REMIT_OVERLAY_H
#define REMIT_OVERLAY_H

#include "jail/blueprint.h"

/* Called in pid 1: mount an overlay over each directory that needs one.
   `scratch` is the writable file system. Returns -1 with errno; *detail is the
   number of the directory. */
int overlays_make(struct blueprint *b, int scratch, uint32_t *detail);

/*
 * Called in the keeper: returns -1 with a refusal if this directory cannot have
 * an overlay, or, for mode rw, if we may not write to it or could not notice
 * changes by others.
 */
int overlay_check(const struct plan_mount *m, int directory,
		  struct remit_error *err) must_check;

/*
 * Paths of the host that no run may change, whatever directories it may write:
 * the interpreter, which is also executed outside of jails, and Remit itself.
 */

/* Returns -1 if memory is exhausted. */
int guard_list(struct list *out, const struct interpreter *in,
	       const char *runtime_dir) must_check;
/* Whether the directory contains any of the paths, or is inside one. */
bool guard_overlaps(const struct list *guarded, const char *directory);

#endif

/*
 * host: runs the guest that is linked into this program.
 */
#ifndef REMIT_WASM_HOST_H
#define REMIT_WASM_HOST_H

#include "wasm/wasi.h"

/* The size of a page of WebAssembly. wasm2c 1.0.32 keeps a memory's size in 32
   bits, so the largest possible memory is one page less than 4 GiB. */
#define GUEST_PAGE	(UINT64_C(64) << 10)
#define GUEST_PAGES_MAX 65535

/* Runs the guest, whose memory never gets more than this many pages. It ends
   the process by wasi_proc_exit() or a trap; returns only if it cannot start,
   with a sentence about it. */
const char *guest_run(struct wasi *w, uint32_t pages);

/* ---- trap.c ---- */

/* Prepares for the traps of a guest: each writes a sentence to standard error
   and kills the process by a signal. Returns -1 with errno. */
int trap_prepare(void);
/* Accesses to these addresses are traps of the guest's memory. */
void trap_watch(const unsigned char *memory, uint64_t bytes);
/* Calls `interrupt` at each SIGINT from now on. */
void trap_interrupt_with(void (*interrupt)(void));

#endif

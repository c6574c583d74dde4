/*
 * guest: CPython as a WebAssembly module, for the tier wasm. This directory has
 * the entry points of the module and its `_remit`. tools/wasm.sh compiles them
 * with CPython and parts of the runtime (docs/design/wasm.md).
 */
#ifndef REMIT_GUEST_H
#define REMIT_GUEST_H

/* Without the limited API if "module.h" is not included before. */
#include <Python.h>

/* ---- imports, from the host (src/wasm) ---- */

/* Returns how many written bytes the keeper has not read yet, as the ioctl
   SIOCOUTQ does; 0 if that is unknown. */
int guest_unread_bytes(int fd)
	__attribute__((import_module("remit"), import_name("unread_bytes")));

/* ---- exports, to the host ---- */

/* Starts CPython with the host's arguments and runs the program that they name.
   Returns if the program has registered a step (_remit.on_step), and exits
   otherwise. Called once. */
void remit_start(void) __attribute__((export_name("remit_start")));

/* Handles requests of the keeper until the next has not begun to arrive, then
   returns 1: the host calls again when the channel is readable. Between two
   calls all state is in the linear memory, and none on the stack. Exits at the
   end of the session. */
int remit_step(void) __attribute__((export_name("remit_step")));

/* Makes CPython handle SIGINT. The host may call it from a signal handler, at
   any point of remit_start() and remit_step(). */
void remit_interrupt(void) __attribute__((export_name("remit_interrupt")));

/* ---- module.c ---- */

PyMODINIT_FUNC PyInit__remit(void);

/* The function that handles the next requests, or NULL. Borrowed. */
PyObject *guest_step(void);

#endif

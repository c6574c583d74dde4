/*
 * module: `_remit`, the part of the runtime that makes system calls. One binary
 * for every CPython from 3.9 on (limited API).
 */
#ifndef REMIT_MODULE_H
#define REMIT_MODULE_H

#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- channel.c ---- */

/* put(channel, data[, rest]): write all of `data`, and `rest` once the keeper
   has read `data`. Signals are handled afterwards: half a frame would make the
   channel unusable. Only one thread writes at a time. */
PyObject *channel_put(PyObject *self, PyObject *args);

/* part(channel, data, milliseconds): write all of `data`, then sleep. */
PyObject *channel_part(PyObject *self, PyObject *args);

/* settle(channel): wait until the keeper has read everything that was
   written. */
PyObject *channel_settle(PyObject *self, PyObject *channel);

/* read(channel): the next bytes; b"" at the end. */
PyObject *channel_read(PyObject *self, PyObject *channel);
/* passed(): take the descriptor that came with bytes that were read, or -1. */
PyObject *channel_passed(PyObject *self, PyObject *unused);

/* ---- job.c ---- */

/* job(channel, begun): read (name, [argument, ...], code) from a descriptor, of
   which `begun` was already read. If files or tools come first, returns
   everything that was read so far, as bytes. */
PyObject *job_receive(PyObject *self, PyObject *args);

/* ---- huge.c ---- */

#define HUGE_PAGE_BITS 21

/* Makes a huge page at this address if anonymous memory is mapped there.
   Returns whether that worked. */
bool huge_collapse(uintptr_t at);
/* Replaces the read-only mapping around this address (the text of a program and
   its constants) by huge pages with the same bytes, as far as possible. Returns
   how many. The process must have a single thread, and this function must not
   be in the replaced text. */
size_t huge_text(const void *inside);

#endif

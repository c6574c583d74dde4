/*
 * module: `_remit`, the part of the runtime that is C because it makes system
 * calls: one binary for every CPython from 3.9 on (limited API).
 */
#ifndef REMIT_MODULE_H
#define REMIT_MODULE_H

#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- channel.c ---- */

/* put(channel, data[, rest]): write all of it; and the rest when the other side
   has read that. A signal waits until it is done: half a frame would be the end
   of all frames. Threads take turns. */
PyObject *channel_put(PyObject *self, PyObject *args);

/* part(channel, data, milliseconds): write all of it, then wait so long. */
PyObject *channel_part(PyObject *self, PyObject *args);

/* settle(channel): wait until the other side has read all that was written. */
PyObject *channel_settle(PyObject *self, PyObject *channel);

/* ---- job.c ---- */

/* job(channel, begun): (name, [argument, ...], code) from a descriptor, of
   which `begun` was read before. Or bytes, if files come first: what was read
   so far, for somebody else to go on with. */
PyObject *job_receive(PyObject *self, PyObject *args);

/* ---- huge.c ---- */

#define HUGE_PAGE_BITS 21

/* Make one of what is mapped at this address, if that is memory of our own. */
bool huge_collapse(uintptr_t at);
/* Replace what is mapped read-only around this address, the text of a program
   and its constants, by huge pages with the same bytes, as far as it goes: how
   many. Only where there is one thread, and from another program's text. */
size_t huge_text(const void *inside);

#endif

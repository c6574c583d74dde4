/*
 * job: the next program from the keeper, read and taken apart at once. In C,
 * because every run waits for it.
 */
#ifndef REMIT_JOB_H
#define REMIT_JOB_H

#define Py_LIMITED_API 0x03090000
#include <Python.h>

/* job(channel, begun): (name, [argument, ...], code) from a descriptor, of
   which `begun` was read before. Or bytes, if files come first: what was read
   so far, for somebody else to go on with. */
PyObject *job_receive(PyObject *self, PyObject *args);

#endif

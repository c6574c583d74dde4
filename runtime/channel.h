/*
 * channel: what Python alone cannot do with the channel to the keeper.
 */
#ifndef REMIT_CHANNEL_H
#define REMIT_CHANNEL_H

#define Py_LIMITED_API 0x03090000
#include <Python.h>

/* put(channel, data[, rest]): write all of it; and the rest when the other side
   has read that. A signal waits until it is done: half a frame would be the end
   of all frames. Threads take turns. */
PyObject *channel_put(PyObject *self, PyObject *args);

/* part(channel, data, milliseconds): write all of it, then wait so long. */
PyObject *channel_part(PyObject *self, PyObject *args);

/* settle(channel): wait until the other side has read all that was written. */
PyObject *channel_settle(PyObject *self, PyObject *channel);

#endif

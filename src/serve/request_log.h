/*
 * request_log: one line of JSON for each request: who asked for what, when, and
 * how it ended. No code, no output, no paths and no ids: the route only.
 */
#ifndef REMIT_REQUEST_LOG_H
#define REMIT_REQUEST_LOG_H

struct exchange;

/* fd < 0: nothing is written. */
void request_log_add(int fd, const struct exchange *x);

#endif

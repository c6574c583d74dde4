/*
 * request_log: one line of JSON for each request: who asked for what, when, and
 * how it ended. No code, no output, no paths and no ids: the route only.
 *
 * Strangers must not fill the disk: of requests that count for no key, because
 * they have none or it asks too often, only the first of each minute get a
 * line. Another line says how many were left out.
 */
#ifndef REMIT_REQUEST_LOG_H
#define REMIT_REQUEST_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Lines in a minute about requests that count for no key. */
#define REQUEST_LOG_UNCOUNTED 60

struct exchange;

/* Of the current minute. */
struct request_log {
	uint64_t begun_us;
	unsigned lines;
	uint64_t left_out;
};

/* fd < 0: nothing is written. */
void request_log_add(struct request_log *l, int fd, const struct exchange *x);
/* Say how many were left out if the minute is over, or `at_once`. To be called
   about once a second. */
void request_log_report(struct request_log *l, int fd, bool at_once);

#endif

/*
 * request_log: one line of JSON for each request: its key, route, time and
 * outcome. No code, no output, no paths and no ids are logged.
 *
 * Unauthenticated clients must not be able to fill the disk: of the requests
 * that count against no key, because they have none or it exceeds its rate,
 * only the first of each minute are logged. Another line reports how many were
 * left out.
 */
#ifndef REMIT_REQUEST_LOG_H
#define REMIT_REQUEST_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Lines per minute for requests that count against no key. */
#define REQUEST_LOG_UNCOUNTED 60

struct exchange;

/* The state of the current minute. */
struct request_log {
	uint64_t begun_us;
	unsigned lines;
	uint64_t left_out;
};

/* Logs a request. fd < 0: nothing is written. */
void request_log_add(struct request_log *l, int fd, const struct exchange *x);
/* Logs how many were left out if the minute is over, or if `at_once`. Call it
   about once a second. */
void request_log_report(struct request_log *l, int fd, bool at_once);

#endif

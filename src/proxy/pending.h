/*
 * pending: connections to hosts that nobody has allowed or refused yet. They
 * wait while the keeper has somebody asked, one question after the other.
 */
#ifndef REMIT_PENDING_H
#define REMIT_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net/host_name.h"

/* Of one run; all further hosts are refused. Nobody is to be asked until he
   says yes to everything. */
#define PENDING_QUESTIONS_MAX 32

struct gate;
struct relay;
struct proxy_answer;

struct pending {
	bool asks;
	uint32_t count;	 /* questions so far: the id of the last */
	bool is_waiting; /* for the answer to that one: */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	/* What was said for the whole run. */
	struct pending_answer {
		char host[HOST_NAME_SIZE];
		uint16_t port;
		bool is_allowed;
	} said[PENDING_QUESTIONS_MAX];
	uint32_t said_count;
};

enum pending_outcome {
	PENDING_HOST_REFUSED,
	PENDING_HOST_ALLOWED,
	PENDING_HOST_ASKED, /* the relay is suspended, and will be told */
};

/* For a relay whose host no entry names. */
enum pending_outcome pending_check(struct gate *g, struct relay *r);
/* The keeper has an answer. */
void pending_settle(struct gate *g, const struct proxy_answer *a);

#endif

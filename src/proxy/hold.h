/*
 * hold: connections to hosts that nobody has allowed or refused yet. They wait
 * while the keeper has somebody asked, one question after the other.
 */
#ifndef REMIT_HOLD_H
#define REMIT_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net/host_name.h"

/* Of one run; all further hosts are refused. Nobody is to be asked until he
   says yes to everything. */
#define HOLD_QUESTIONS 32

struct gate;
struct relay;
struct proxy_answer;

struct hold {
	bool asks;
	uint32_t count;	 /* questions so far: the id of the last */
	bool is_waiting; /* for the answer to that one: */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	/* What was said for the whole run. */
	struct hold_said {
		char host[HOST_NAME_SIZE];
		uint16_t port;
		bool is_allowed;
	} said[HOLD_QUESTIONS];
	uint32_t said_count;
};

enum hold_verdict {
	HOLD_REFUSED,
	HOLD_ALLOWED,
	HOLD_ASKED, /* the relay is held, and will be told */
};

/* For a relay whose host no entry names. */
enum hold_verdict hold_judge(struct gate *g, struct relay *r);
/* The keeper has an answer. */
void hold_answer(struct gate *g, const struct proxy_answer *a);

#endif

/*
 * request: what the native API is asked for, taken apart and bounded by the
 * key's policy: a run, a cell or a session.
 *
 *	{"code": "print(1)", "policy": {...}, "name": "a.py", "stdin": "text",
 *	 "argv": ["x"], "files": [{"path": "in.csv", "text": "a,b"}],
 *	 "tools": [{"name": "f", "approval": "always"}], "ask": true,
 *	 "stream": "ndjson"}
 */
#ifndef REMIT_REQUEST_H
#define REMIT_REQUEST_H

#include "hosted/hosted.h"
#include "serve/auth/keys.h"

enum request_kind { REQUEST_RUN, REQUEST_CELL, REQUEST_SESSION };

enum request_stream { STREAM_NONE, STREAM_NDJSON, STREAM_SSE };

struct request {
	struct remit_job job; /* borrows from what follows */
	json_t *doc;
	const char **argv;
	struct remit_file *files;
	char **bytes; /* of files in base64, decoded; as many as files */
	struct remit_tool *tools;
	size_t tool_count;
	char *policy_text;
	bool exports;
	uint64_t memory_bytes, result_bytes; /* see struct hosted_options */
	enum request_stream stream;
	bool wants_questions; /* questions are for the client */
	bool forkable;
	uint64_t life_ms; /* 0: it says none */
};

/*
 * A new request that keeps the document. -1: err says what is wrong, in the
 * words of the document; REMIT_E_REFUSED: it is more than the key allows.
 */
int request_read(struct request **out, enum request_kind kind, json_t *doc,
		 const struct key *key, struct remit_error *err) must_check;
/* Takes void, since it is what hosted sessions are lent. */
void request_free(void *request);

/* A policy document over the key's, and within it, as the text that a run is
   given. NULL document: the key's own. */
int request_policy(const json_t *doc, const struct key *key,
		   struct policy *policy, char **text,
		   struct remit_error *err) must_check;

#endif

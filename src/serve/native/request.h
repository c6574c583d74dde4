/*
 * request: a parsed request of the native API (a run, a cell or a session),
 * bounded by the key's policy.
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
	struct remit_job job; /* borrows from the members below */
	json_t *doc;
	const char **argv;
	struct remit_file *files;
	char **bytes; /* decoded contents of base64 files, by index */
	struct remit_tool *tools;
	size_t tool_count;
	char *policy_text;
	bool exports;
	uint64_t memory_bytes, result_bytes; /* see struct hosted_options */
	enum request_stream stream;
	bool wants_questions; /* questions are sent to the client */
	bool forkable;
	bool has_commands; /* commands may run beside its cells */
	uint64_t life_ms;  /* 0: not stated */
};

/*
 * Parses a document into a new request, which has a reference to it. Returns -1
 * with an error in terms of the document; REMIT_E_REFUSED means that it exceeds
 * what the key allows.
 */
int request_read(struct request **out, enum request_kind kind, json_t *doc,
		 const struct key *key, struct remit_error *err) must_check;
/* Has a void pointer, as the release function of a loan. */
void request_free(void *request);

/* Reads the member "stream". */
int request_stream_read(enum request_stream *out, const json_t *value,
			struct remit_error *err) must_check;

/* Combines a policy document with the key's policy, checks that it stays within
   it, and returns it also as text for a run. A NULL document means the key's
   policy. */
int request_policy(const json_t *doc, const struct key *key,
		   struct policy *policy, char **text,
		   struct remit_error *err) must_check;

#endif

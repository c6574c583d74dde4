/*
 * command_request: parses the bodies of requests about commands: a program to
 * start, its input, and the size of its terminal.
 *
 *	{"argv": ["sh", "-c", "ls"], "cwd": "/tmp", "env": {"TERM": "xterm"},
 *	 "terminal": {"columns": 80, "rows": 24}, "stdin": true, "timeout": 60,
 *	 "stream": "ndjson"}
 */
#ifndef REMIT_COMMAND_REQUEST_H
#define REMIT_COMMAND_REQUEST_H

#include "serve/native/request.h"

struct command_request {
	struct command_params params; /* borrows from the body and the lists */
	struct list argv, env;
	enum request_stream stream;
};

/* Parses a body into a zeroed request, in which `stream` may have a default.
   Also after a failure, call command_request_free(). */
int command_request_read(struct command_request *r, json_t *body,
			 struct remit_error *err) must_check;
void command_request_free(struct command_request *r);

struct command_input {
	const char *bytes; /* points into the body, or to `decoded` */
	size_t len;
	char *decoded;
	bool ends; /* the input ends after these bytes */
};

/* Parses {"text" or "base64", "end"} into a zeroed input. */
int command_input_read(struct command_input *in, const json_t *body,
		       struct remit_error *err) must_check;
void command_input_free(struct command_input *in);

/* Parses {"columns", "rows"}, each from 1 to 65535. */
int command_size_read(unsigned *columns, unsigned *rows, const json_t *body,
		      struct remit_error *err) must_check;

#endif

/*
 * e2b_request: what clients of E2B ask of a sandbox, read from its JSON: code,
 * contexts, programs and names of files. Nothing here knows of requests or
 * hosted sessions.
 */
#ifndef REMIT_E2B_REQUEST_H
#define REMIT_E2B_REQUEST_H

#include <jansson.h>

#include "base/buf.h"
#include "base/list.h"

/* The directory that relative names begin at, by E2B's name and by ours. */
#define SANDBOX_HOME "/home/user"
#define SANDBOX_WORK "/workspace"

/* Before each message of a stream: one byte of flags, four of length. */
#define E2B_ENVELOPE 5
/* What is in one is read by the thread that all others wait for. One argument
   of a program has 128 KiB at most. */
#define E2B_MESSAGE_MAX ((size_t)1024 * 1024)

/* A member that is a text without NUL, or NULL. */
const char *e2b_request_text(const json_t *body, const char *name);

/* A name of a file as the jail knows it: a new string, or NULL without memory.
 */
char *e2b_path(const char *path);

/* What is wrong with a request to run code, or to make a context; NULL: nothing
   is. */
const char *e2b_code_problem(const json_t *body);
const char *e2b_context_problem(const json_t *body);
/* As a notebook does it: what the first line is indented by, all are. A new
   text; NULL without memory. */
char *e2b_dedent(const char *code);
/* Python that enters a directory: one line, a new text; NULL without memory. */
char *e2b_chdir_code(const char *cwd);

/* Variables of an object, as "NAME=VALUE". -1: something else is among them,
   or there is no memory. */
int e2b_parse_variables(struct list *env, const json_t *object) must_check;

/* Whether it is a program with its arguments; and Python that starts it, which
   reads the cell's input or nothing, waits for it and has its exit code for a
   value: a new text, or NULL without memory. */
bool e2b_is_program(const json_t *process);
char *e2b_program_code(const json_t *process, bool reads);

/* The message of the one envelope in a body; NULL: it is none. */
json_t *e2b_read_envelope(const struct buf *body);

#endif

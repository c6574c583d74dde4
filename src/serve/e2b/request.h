/*
 * e2b_request: parses the JSON that clients of E2B send to a sandbox: code,
 * contexts, programs and names of files. It depends on neither exchanges nor
 * hosted sessions, so it can be fuzzed.
 */
#ifndef REMIT_E2B_REQUEST_H
#define REMIT_E2B_REQUEST_H

#include <jansson.h>

#include "base/buf.h"
#include "base/list.h"

/* The workspace, as E2B's clients call it. */
#define SANDBOX_HOME "/home/user"

/* The size of the header of each message in a stream: one byte of flags, four
   of length. */
#define E2B_ENVELOPE 5
/* The maximum size of a message, since the HTTP thread parses it. One argument
   of a program can have at most 128 KiB. */
#define E2B_MESSAGE_MAX ((size_t)1024 * 1024)

/* Returns a member that is a string without NUL, otherwise NULL. */
const char *e2b_request_text(const json_t *body, const char *name);

/* Converts a file name to the jail's: a new string, or NULL if memory is
   exhausted. `names` are the paths that lead to the workspace; the first is
   that of the jail. */
char *e2b_path(const char *path, const struct list *names);

enum e2b_language { E2B_PYTHON, E2B_BASH };

/* Reads the member "language": Python if it is missing or null. Returns -1 if
   it is another. */
int e2b_read_language(const json_t *body, enum e2b_language *out) must_check;
/* Return what is wrong with a request to run code or to make a context; NULL if
   it is valid. */
const char *e2b_code_problem(const json_t *body);
const char *e2b_context_problem(const json_t *body);
/* Removes the indentation of the first line from all lines, as notebooks do.
   Returns a new string, or NULL if memory is exhausted. */
char *e2b_dedent(const char *code);
/* Returns a cell that runs a script of bash, as a new string, or NULL if memory
   is exhausted. */
char *e2b_script_code(const char *script);
/* Returns a line of Python that changes to a directory, as a new string, or
   NULL if memory is exhausted. */
char *e2b_chdir_code(const char *cwd, const struct list *names);

/* Adds the members of an object as "NAME=VALUE". Returns -1 if one is not a
   string, or if memory is exhausted. */
int e2b_parse_variables(struct list *env, const json_t *object) must_check;

/* e2b_is_program() checks that a message describes a program with its
   arguments. Then e2b_program_argv() adds them to a list; it returns -1 if
   memory is exhausted. */
bool e2b_is_program(const json_t *process);
int e2b_program_argv(struct list *argv, const json_t *process) must_check;

/* Parses {"size": {"cols", "rows"}}. Returns -1 unless both are from 1 to
   65535. */
int e2b_terminal_size(const json_t *pty, unsigned *columns,
		      unsigned *rows) must_check;

/* Returns the message in a body that is a single envelope, or NULL if it is
   not. */
json_t *e2b_read_envelope(const struct buf *body);

#endif

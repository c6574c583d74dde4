/*
 * site: what those who only look (explain, matrix, doctor) know of
 * this machine and the policy's interpreter.
 */
#ifndef REMIT_SITE_H
#define REMIT_SITE_H

#include "policy/host.h"
#include "policy/interpreter.h"

struct site {
	char *runtime_dir;
	struct host host;
	struct interpreter interpreter;
};

/* The host from the cache, or found out now. */
int site_find_host(struct site *s, struct remit_error *err) must_check;
int site_find_interpreter(struct site *s, const char *python,
			  struct remit_error *err) must_check;
void site_free(struct site *s);

#endif

/*
 * bench_http: a client for the frontends that are HTTP: one connection that is
 * kept, one request at a time.
 */
#ifndef REMIT_BENCH_HTTP_H
#define REMIT_BENCH_HTTP_H

#include "base/buf.h"
#include "base/error.h"

struct bench_http {
	int fd;
	struct buf got; /* the last answer: head and body, with a NUL */
	size_t body;	/* where that begins in it */
};

#define BENCH_HTTP_INIT                       \
	{                                     \
		.fd = -1,                     \
		.got = BUF_INIT(1024 * 1024), \
	}

int bench_http_open(struct bench_http *h, unsigned port,
		    struct remit_error *err) must_check;
void bench_http_free(struct bench_http *h);

/* POST; the headers end with a line's end each. Whatever is no success is an
   error. */
int bench_http_post(struct bench_http *h, const char *path, const char *headers,
		    const char *body, struct remit_error *err) must_check;

#endif

/*
 * page: the playground at "/" and its files at "/assets/". They hold nothing
 * that is secret, so no key is asked for; what they do, they do by the API.
 */
#ifndef REMIT_PAGE_H
#define REMIT_PAGE_H

#include <stddef.h>

#include "http/route.h"

/* A file of the page (web/), as it is inside the command. */
struct asset {
	const char *path; /* below web/ */
	const char *type;
	const char *etag; /* with its quotes */
	const char *bytes;
	size_t len;
};

/* Made by tools/gen_assets.c; ends with a row that has no path. */
extern const struct asset assets[];

extern const struct route page_routes[];

#endif

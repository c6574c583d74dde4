/*
 * asset: the files of the page (web/), as they are inside the command.
 */
#ifndef REMIT_ASSET_H
#define REMIT_ASSET_H

#include <stddef.h>

struct asset {
	const char *path; /* below web/ */
	const char *type;
	const char *etag; /* with its quotes */
	const char *bytes;
	size_t len;
};

/* Made by tools/gen_assets.c; ends with a row that has no path. */
extern const struct asset assets[];

#endif

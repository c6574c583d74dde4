#include "serve/page.h"

#include <string.h>

#include "serve/exchange.h"

/*
 * Nothing is loaded from other origins, no inline scripts run, and text cannot
 * become markup: require-trusted-types-for without a policy that could create
 * trusted values.
 */
#define PAGE_RULES                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; "     \
	"img-src 'self' blob:; connect-src 'self'; frame-src 'self'; "  \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"require-trusted-types-for 'script'; trusted-types 'none'"

/*
 * The frame for a program's HTML. The sandbox gives it a unique, opaque origin,
 * whichever page opens it. The HTML shown inside inherits these rules: it may
 * contain styles and images, and cannot fetch anything.
 */
#define FRAME_SCRIPT "'sha256-ANFj6kqL66vK+0gxuU+xlh4dTGVK/rhEiWsjGO6WsRI='"
#define FRAME_RULES                                                           \
	"sandbox allow-scripts; default-src 'none'; script-src " FRAME_SCRIPT \
	"; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "       \
	"form-action 'none'; frame-ancestors 'self'"

static const struct asset *
find_asset(const char *path)
{
	const struct asset *a = assets;

	while (a->path && strcmp(a->path, path))
		a++;
	return a->path ? a : NULL;
}

static bool
is_known(const struct exchange *x, const struct asset *a)
{
	struct http_text tags = exchange_header(x, "If-None-Match");

	return tags.len &&
	       memmem(tags.text, tags.len, a->etag, strlen(a->etag));
}

static void
send_asset(struct exchange *x, const char *path)
{
	const struct asset *a = find_asset(path);

	if (!a) {
		reply_fail(x, 404, "gone", "there is no such file");
		return;
	}
	reply_header(x, "ETag", a->etag);
	/* Revalidated each time: a new version of the command has new files. */
	reply_header(x, "Cache-Control", "no-cache");
	reply_header(x, "Content-Security-Policy",
		     strcmp(path, "frame.html") ? PAGE_RULES : FRAME_RULES);
	reply_header(x, "Referrer-Policy", "no-referrer");
	reply_header(x, "Cross-Origin-Opener-Policy", "same-origin");
	reply_header(x, "Cross-Origin-Resource-Policy", "same-origin");
	if (is_known(x, a))
		reply_bytes(x, 304, a->type, NULL, 0);
	else
		reply_bytes(x, 200, a->type, a->bytes, a->len);
}

static void
get_page(struct exchange *x)
{
	send_asset(x, "index.html");
}

static void
get_asset(struct exchange *x)
{
	send_asset(x, exchange_param(x, "path"));
}

const struct route page_routes[] = {
	{
		.method = "GET",
		.pattern = "/",
		.serve = get_page,
		.is_open = true,
		.summary = "The playground",
		.type = "text/html",
	},
	{
		.method = "GET",
		.pattern = "/assets/{path...}",
		.serve = get_asset,
		.is_open = true,
	},
	{ 0 },
};

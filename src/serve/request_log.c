#include "serve/request_log.h"

#include <stdio.h>
#include <time.h>

#include "base/loop.h"
#include "serve/auth/keys.h"
#include "serve/exchange.h"

/* The length of a line; each is written with a single write(). */
#define LINE_MAX 1024

#define MINUTE_US (60 * 1000000ull)

static void
show_time(char out[32])
{
	struct timespec now;
	struct tm utc;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(out + n, 32 - n, ".%03ldZ", now.tv_nsec / 1000000);
}

void
request_log_report(struct request_log *l, int fd, bool at_once)
{
	uint64_t now_us = loop_now_us();
	char when[32], line[LINE_MAX];
	int n;

	if (!at_once && now_us - l->begun_us < MINUTE_US)
		return;
	if (fd >= 0 && l->left_out) {
		show_time(when);
		n = snprintf(line, sizeof(line),
			     "{\"time\":\"%s\",\"left_out\":%llu}\n", when,
			     (unsigned long long)l->left_out);
		if (write(fd, line, (size_t)n) < 0)
			return; /* retried later */
	}
	*l = (struct request_log){ .begun_us = now_us };
}

static bool
has_line(struct request_log *l, const struct exchange *x)
{
	if (x->is_counted)
		return true;
	if (l->lines < REQUEST_LOG_UNCOUNTED) {
		l->lines++;
		return true;
	}
	l->left_out++;
	return false;
}

void
request_log_add(struct request_log *l, int fd, const struct exchange *x)
{
	char when[32], line[LINE_MAX];
	int n;

	if (fd < 0)
		return;
	request_log_report(l, fd, false);
	if (!has_line(l, x))
		return;
	show_time(when);
	/* All texts are trusted: methods and patterns of tables, names of
	   keys. */
	n = snprintf(line, sizeof(line),
		     "{\"time\":\"%s\",\"method\":\"%s\",\"route\":\"%s\","
		     "\"status\":%d,\"key\":\"%s\",\"in\":%zu,\"out\":%llu,"
		     "\"ms\":%.3f%s}\n",
		     when, x->route ? x->route->method : "",
		     x->route ? x->route->pattern : "", x->status,
		     x->key ? x->key->name : "", x->got_bytes,
		     (unsigned long long)x->sent_bytes,
		     (double)(loop_now_us() - x->begun_us) / 1000,
		     x->is_ended ? "" : ",\"left\":true");
	if (write(fd, line, (size_t)n) < 0)
		return; /* the reader of the log is gone: continue without it */
}

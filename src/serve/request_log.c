#include "request_log.h"

#include <stdio.h>
#include <time.h>

#include "exchange.h"
#include "loop.h"

/* Of a line: a write of it is whole. */
#define LINE_MAX 1024

void
request_log_add(int fd, const struct exchange *x)
{
	struct timespec now;
	struct tm utc;
	char when[32], line[LINE_MAX];
	int n;

	if (fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	/* All texts are ours: methods and patterns of tables, names of keys. */
	n = snprintf(line, sizeof(line),
		     "{\"time\":\"%s.%03ldZ\",\"method\":\"%s\",\"route\":"
		     "\"%s\",\"status\":%d,\"key\":\"%s\",\"in\":%zu,\"out\":"
		     "%llu,\"ms\":%.3f%s}\n",
		     when, now.tv_nsec / 1000000,
		     x->route ? x->route->method : "",
		     x->route ? x->route->pattern : "", x->status,
		     x->owner ? x->owner : "", x->got_bytes,
		     (unsigned long long)x->sent_bytes,
		     (double)(loop_now_us() - x->begun_us) / 1000,
		     x->is_ended ? "" : ",\"left\":true");
	if (write(fd, line, (size_t)n) < 0)
		return; /* whoever reads the log is gone: go on without */
}

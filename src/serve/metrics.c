#include "serve/metrics.h"

#include <string.h>

#include "base/loop.h"
#include "serve/exchange.h"

static const double bucket_ends[METRICS_BUCKETS - 1] = {
	0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30,
};

void
metrics_open(struct metrics *m)
{
	pthread_mutex_init(&m->lock, NULL);
}

void
metrics_free(struct metrics *m)
{
	pthread_mutex_destroy(&m->lock);
}

void
metrics_begin(struct metrics *m)
{
	m->in_flight++;
}

static struct metrics_row *
row_of(struct metrics *m, const struct route *route, int status_class)
{
	struct metrics_row *r = m->rows;

	for (; r < m->rows + m->row_count; r++)
		if (r->route == route && r->status_class == status_class)
			return r;
	if (m->row_count == METRICS_ROUTES)
		return r - 1; /* the last row counts the rest */
	m->row_count++;
	*r = (struct metrics_row){ .route = route,
				   .status_class = status_class };
	return r;
}

void
metrics_end(struct metrics *m, const struct exchange *x)
{
	double seconds = (double)(loop_now_us() - x->begun_us) / 1e6;
	size_t i = 0;

	m->in_flight--;
	row_of(m, x->route, x->status / 100)->count++;
	while (i < METRICS_BUCKETS - 1 && seconds > bucket_ends[i])
		i++;
	m->buckets[i]++;
	m->seconds += seconds;
	m->finished++;
	m->sent_bytes += x->sent_bytes;
}

void
metrics_program(struct metrics *m, const char *status)
{
	pthread_mutex_lock(&m->lock);
	for (int i = 0; i < STATUS_COUNT; i++)
		m->programs[i] += !strcmp(statuses[i].name, status);
	pthread_mutex_unlock(&m->lock);
}

static int
show_requests(const struct metrics *m, struct buf *out)
{
	uint64_t below = 0;

	if (buf_addf(out,
		     "# HELP remit_http_requests_total Requests by route and "
		     "class of status.\n"
		     "# TYPE remit_http_requests_total counter\n") < 0)
		return -1;
	for (size_t i = 0; i < m->row_count; i++) {
		const struct metrics_row *r = &m->rows[i];

		if (buf_addf(out,
			     "remit_http_requests_total{method=\"%s\","
			     "route=\"%s\",status=\"%dxx\"} %llu\n",
			     r->route ? r->route->method : "",
			     r->route ? r->route->pattern : "", r->status_class,
			     (unsigned long long)r->count) < 0)
			return -1;
	}
	if (buf_addf(
		    out,
		    "# HELP remit_http_request_seconds Time from the head of a "
		    "request to the end of its reply.\n"
		    "# TYPE remit_http_request_seconds histogram\n") < 0)
		return -1;
	for (size_t i = 0; i < METRICS_BUCKETS - 1; i++) {
		below += m->buckets[i];
		if (buf_addf(out,
			     "remit_http_request_seconds_bucket{le=\"%g\"} "
			     "%llu\n",
			     bucket_ends[i], (unsigned long long)below) < 0)
			return -1;
	}
	return buf_addf(out,
			"remit_http_request_seconds_bucket{le=\"+Inf\"} %llu\n"
			"remit_http_request_seconds_sum %.6f\n"
			"remit_http_request_seconds_count %llu\n",
			(unsigned long long)m->finished, m->seconds,
			(unsigned long long)m->finished);
}

static int
show_programs(struct metrics *m, struct buf *out)
{
	int failed =
		buf_addf(out, "# HELP remit_programs_total Runs and cells by "
			      "status.\n"
			      "# TYPE remit_programs_total counter\n");

	pthread_mutex_lock(&m->lock);
	for (int i = 0; i < STATUS_COUNT && !failed; i++)
		failed = buf_addf(
			out, "remit_programs_total{status=\"%s\"} %llu\n",
			statuses[i].name, (unsigned long long)m->programs[i]);
	pthread_mutex_unlock(&m->lock);
	return failed;
}

int
metrics_show_hosted(size_t hosted_count, struct buf *out)
{
	return buf_addf(out,
			"# HELP remit_rooms Live sessions and runs.\n"
			"# TYPE remit_rooms gauge\n"
			"remit_rooms %zu\n",
			hosted_count);
}

int
metrics_show(struct metrics *m, size_t hosted_count, size_t conns,
	     struct buf *out)
{
	if (show_requests(m, out) < 0 || show_programs(m, out) < 0 ||
	    metrics_show_hosted(hosted_count, out) < 0)
		return -1;
	return buf_addf(out,
			"# HELP remit_http_sent_bytes_total Bytes of replies.\n"
			"# TYPE remit_http_sent_bytes_total counter\n"
			"remit_http_sent_bytes_total %llu\n"
			"# HELP remit_http_requests_in_flight Requests "
			"being answered.\n"
			"# TYPE remit_http_requests_in_flight gauge\n"
			"remit_http_requests_in_flight %llu\n"
			"# HELP remit_http_connections Open connections.\n"
			"# TYPE remit_http_connections gauge\n"
			"remit_http_connections %zu\n",
			(unsigned long long)m->sent_bytes,
			(unsigned long long)m->in_flight, conns);
}

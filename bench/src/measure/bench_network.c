/*
 * bench_network: measures the proxy compared with the host's network, for the
 * first connection and for one stream to a server at loopback; and what a
 * waiting child with a named host costs compared with one without.
 */
#include "measure/measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "bench_status.h"

/* ---- a server at loopback ---- */

/* A server at loopback, in a thread of the bench. If the first byte of a
   connection is 'e', it is echoed. If it is 's', the server sends bytes until
   the client closes. */
struct bench_server {
	int fd;
	uint16_t port;
	pthread_t thread;
	bool runs;
};

#define PIECE (256 * 1024)

static void
serve_one(int fd)
{
	static char piece[PIECE];
	char word = 0;

	if (recv(fd, &word, 1, 0) != 1)
		return;
	if (word == 'e')
		send(fd, &word, 1, MSG_NOSIGNAL);
	while (word == 's' && send(fd, piece, PIECE, MSG_NOSIGNAL) > 0)
		;
	/* Wait until the client closes. */
	recv(fd, &word, 1, 0);
}

static void *
server_thread(void *arg)
{
	const struct bench_server *s = arg;
	int fd;

	while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve_one(fd);
		close(fd);
	}
	return NULL;
}

static int
bench_server_open(struct bench_server *s, struct remit_error *err)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(a);

	*s = (struct bench_server){ .fd = -1 };
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || bind(s->fd, (void *)&a, sizeof(a)) < 0 ||
	    listen(s->fd, 16) < 0 || getsockname(s->fd, (void *)&a, &len) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "listen at loopback");
	s->port = ntohs(a.sin_port);
	if (pthread_create(&s->thread, NULL, server_thread, s))
		return fail(err, REMIT_E_MEMORY,
			    "cannot start a thread for the server");
	s->runs = true;
	return 0;
}

/* Call this after a failed open, too. */
static void
bench_server_free(struct bench_server *s)
{
	/* This wakes the thread in accept(). */
	if (s->runs) {
		shutdown(s->fd, SHUT_RDWR);
		pthread_join(s->thread, NULL);
	}
	own_fd_close(&s->fd);
	*s = (struct bench_server){ .fd = -1 };
}

/* ---- the section ---- */

#define SECTION	      "network, loopback"
#define STREAM_ROUNDS 8
#define WAIT_MS	      10000
#define LOOK_MS	      5

/* Each program measures itself and prints the result. */
#define BEGIN                   \
	"import socket, time\n" \
	"s = socket.socket()\n"
#define NOTHING "print(1)\n"
/* Prints the microseconds until the first byte comes back. */
#define FIRST                                  \
	BEGIN "t = time.perf_counter()\n"      \
	      "s.connect(('127.0.0.1', %u))\n" \
	      "s.sendall(b'e')\n"              \
	      "s.recv(1)\n"                    \
	      "print((time.perf_counter() - t) * 1e6)\n"
/* Prints the bytes per second. */
#define STREAM                                                              \
	BEGIN "s.connect(('127.0.0.1', %u))\n"                              \
	      "s.sendall(b's')\n"                                           \
	      "buffer, n, t = bytearray(1 << 18), 0, time.perf_counter()\n" \
	      "while n < 200 << 20:\n"                                      \
	      "    n += s.recv_into(buffer)\n"                              \
	      "print(n / (time.perf_counter() - t))\n"

/* A separate keeper for one policy. */
struct side {
	const struct bench *bench;
	struct remit *remit;
	char policy[400];
};

static int
open_side(struct side *s, const struct bench *b, const char *network,
	  struct remit_error *err)
{
	s->bench = b;
	snprintf(s->policy, sizeof(s->policy),
		 "{\"python\": \"%.200s\", %s\"memory_fallback\": "
		 "\"per_process\"}",
		 b->python->executable, network);
	return bench_remit(b, &s->remit, err);
}

static void
side_free(struct side *s)
{
	if (s->remit)
		remit_close(s->remit);
}

static int
run_code(const struct side *s, const char *code, double *out,
	 struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	size_t len;

	job.code = code;
	job.code_len = strlen(code);
	job.policy_json = s->policy;
	job.interrupt_fd = s->bench->signals;
	if (remit_run(s->remit, &job, &res, err) < 0)
		return -1;
	*out = strtod(remit_result_output(res, REMIT_STDOUT, &len), NULL);
	if (*out <= 0)
		fail(err, REMIT_E_INPUT, "%s", remit_result_status(res));
	remit_result_free(res);
	if (bench_check(s->bench, err) < 0)
		return -1;
	return *out > 0 ? 0 : -1;
}

/* Wait until the pool of this policy, if it has one, is full. */
static int
await_pool(const struct side *s, struct bench_status *out,
	   struct remit_error *err)
{
	static const char *const none[] = { NULL };

	for (int ms = 0; ms < WAIT_MS; ms += LOOK_MS) {
		*out = bench_status_get(s->remit, none);
		if (!out->target || out->waiting >= out->target)
			break;
		if (bench_pause(s->bench, LOOK_MS, err) < 0)
			return -1;
	}
	return bench_pause(s->bench, BENCH_GAP_MS, err);
}

static int
add_row(struct bench *b, struct bench_row **out, const char *name,
	struct remit_error *err)
{
	return bench_report_add(&b->report, out, SECTION, name, err);
}

static int
add_sample(struct bench_stats *to, double value, struct remit_error *err)
{
	return bench_stats_add(to, value) < 0 ? fail_memory(err, "times") : 0;
}

/* Collect samples of both sides, which alternate. */
static int
sample_both(const struct side sides[2], const char *code, unsigned rounds,
	    struct bench_stats samples[2], struct remit_error *err)
{
	struct bench_status now;
	double value;

	for (unsigned i = 0; i < rounds; i++)
		for (int k = 0; k < 2; k++)
			if (await_pool(&sides[k], &now, err) < 0 ||
			    run_code(&sides[k], code, &value, err) < 0 ||
			    add_sample(&samples[k], value, err) < 0)
				return -1;
	return 0;
}

static double
median_of(const struct bench_stats *s)
{
	struct bench_summary sum;

	return bench_stats_sum(s, &sum) < 0 ? 0 : sum.p50;
}

static int
measure_first(struct bench *b, const struct side sides[2], unsigned port,
	      struct remit_error *err)
{
	struct bench_row *direct, *proxied;
	struct bench_stats samples[2] = { 0 };
	char code[512];

	snprintf(code, sizeof(code), FIRST, port);
	bench_progress(b, SECTION ": first connection");
	if (add_row(b, &direct, "first connection, direct", err) < 0 ||
	    add_row(b, &proxied, "first connection, by the proxy", err) < 0 ||
	    sample_both(sides, code, b->opt.rounds, samples, err) < 0)
		return -1;
	direct->time = samples[0];
	proxied->time = samples[1];
	return bench_row_compare(proxied, direct, err);
}

static int
measure_stream(struct bench *b, const struct side sides[2], unsigned port,
	       struct remit_error *err)
{
	own(bench_stats) struct bench_stats direct = { 0 }, proxied = { 0 };
	struct bench_stats samples[2] = { 0 };
	struct bench_row *rows[2];
	char code[512];
	int bad;

	snprintf(code, sizeof(code), STREAM, port);
	bench_progress(b, SECTION ": one stream");
	if (add_row(b, &rows[0], "one stream, direct", err) < 0 ||
	    add_row(b, &rows[1], "one stream, by the proxy", err) < 0)
		return -1;
	bad = sample_both(sides, code, b->opt.quick ? 1 : STREAM_ROUNDS,
			  samples, err);
	direct = samples[0];
	proxied = samples[1];
	if (bad)
		return -1;
	rows[0]->value[VALUE_BYTES_PER_S] = median_of(&direct);
	rows[1]->value[VALUE_BYTES_PER_S] = median_of(&proxied);
	rows[1]->value[VALUE_OVER_WITHOUT] =
		median_of(&proxied) / median_of(&direct);
	return 0;
}

/* Measure how long building a waiting child takes, and its memory. */
static int
measure_build(const struct side *s, struct bench_row *row, unsigned rounds,
	      struct remit_error *err)
{
	struct bench_status now = { 0 };
	double one;

	for (unsigned i = 0; i < rounds; i++) {
		if (run_code(s, NOTHING, &one, err) < 0 ||
		    await_pool(s, &now, err) < 0)
			return -1;
		if (now.build_us > 0 &&
		    add_sample(&row->time, now.build_us, err) < 0)
			return -1;
	}
	if (now.waiting)
		row->value[VALUE_CHILD_BYTES] = now.child_bytes;
	else
		bench_row_absent(row, "this keeper has no waiting children");
	return 0;
}

static int
measure_waiting(struct bench *b, const struct side *without,
		const struct side *with, struct remit_error *err)
{
	struct bench_row *rows[2];

	bench_progress(b, SECTION ": waiting children");
	if (add_row(b, &rows[0], "to build one that waits, no network", err) <
		    0 ||
	    measure_build(without, rows[0], b->opt.rounds, err) < 0 ||
	    add_row(b, &rows[1], "to build one that waits, a named host", err) <
		    0 ||
	    measure_build(with, rows[1], b->opt.rounds, err) < 0)
		return -1;
	return bench_row_compare(rows[1], rows[0], err);
}

static int
measure_network(struct bench *b, unsigned port, struct remit_error *err)
{
	/* On the host's network; with a named host; without network. */
	struct side sides[3] = { 0 };
	char named[64];
	int bad;

	snprintf(named, sizeof(named),
		 "\"network_allow\": [\"127.0.0.1:%u\"], ", port);
	bad = open_side(&sides[0], b, "\"network_access\": \"host\", ", err) <
		      0 ||
	      open_side(&sides[1], b, named, err) < 0 ||
	      open_side(&sides[2], b, "", err) < 0 ||
	      measure_first(b, sides, port, err) < 0 ||
	      measure_stream(b, sides, port, err) < 0 ||
	      measure_waiting(b, &sides[2], &sides[1], err) < 0;
	for (size_t i = 0; i < ARRAY_LEN(sides); i++)
		side_free(&sides[i]);
	return bad ? -1 : 0;
}

int
bench_network_measure(struct bench *b, struct remit_error *err)
{
	own(bench_server) struct bench_server server = { .fd = -1 };

	if (!bench_wants(b, SECTION))
		return 0;
	if (bench_server_open(&server, err) < 0)
		return -1;
	return measure_network(b, server.port, err);
}

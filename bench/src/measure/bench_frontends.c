/*
 * bench_frontends: measures the same run, or cell, through the library and
 * through each HTTP frontend, over loopback.
 */
#include "measure/measure.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "bench_spawn.h"
#include "bench_warm.h"

/* ---- an HTTP client ---- */

/* An HTTP client with one persistent connection and one request at a time. */
struct bench_http {
	int fd;
	struct buf got; /* the last answer: head and body, NUL-terminated */
	size_t body;	/* the offset of the body */
};

#define BENCH_HTTP_INIT                       \
	{                                     \
		.fd = -1,                     \
		.got = BUF_INIT(1024 * 1024), \
	}

static int
bench_http_open(struct bench_http *h, unsigned port, struct remit_error *err)
{
	struct timeval timeout = { .tv_sec = 30 };
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0 ||
	    setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
		       sizeof(int)) < 0 ||
	    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) < 0 ||
	    connect(h->fd, (void *)&a, sizeof(a)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "connect to port %u",
				port);
	return 0;
}

static void
bench_http_free(struct bench_http *h)
{
	own_fd_close(&h->fd);
	buf_free(&h->got);
}

/* Returns the end of the last chunk, or NULL if it has not arrived. */
static const char *
after_chunks(const char *at)
{
	for (;;) {
		char *data;
		size_t size = strtoul(at, &data, 16);

		if (strncmp(data, "\r\n", 2) || strlen(data) < size + 4)
			return NULL;
		at = data + size + 4;
		if (size == 0)
			return at;
	}
}

static bool
is_whole(struct bench_http *h)
{
	const char *text = buf_text(&h->got);
	const char *end = strstr(text, "\r\n\r\n");
	const char *length = strcasestr(text, "\r\nContent-Length: ");

	if (!end)
		return false;
	end += 4;
	h->body = (size_t)(end - text);
	if (length && length < end)
		return h->got.len - h->body >=
		       strtoul(length + strlen("\r\nContent-Length: "), NULL,
			       10);
	return after_chunks(end) != NULL;
}

static int
receive_answer(struct bench_http *h, struct remit_error *err)
{
	char piece[16 * 1024];

	h->got.len = 0;
	do {
		ssize_t n = recv(h->fd, piece, sizeof(piece), 0);

		if (n <= 0)
			return fail(err, REMIT_E_GONE,
				    "the server does not answer");
		if (buf_add(&h->got, piece, (size_t)n) < 0)
			return fail_memory(err, "an answer");
	} while (!is_whole(h));
	if (strncmp(h->got.data, "HTTP/1.1 2", strlen("HTTP/1.1 2")))
		return fail(err, REMIT_E_PROTOCOL, "%.190s",
			    h->got.data + h->body);
	return 0;
}

/* Send a POST request and receive the answer. Each header ends with CR LF.
   Fails unless the status is 2xx. */
static int
bench_http_post(struct bench_http *h, const char *path, const char *headers,
		const char *body, struct remit_error *err)
{
	own(buf) struct buf sent = BUF_INIT(64 * 1024);

	if (buf_addf(&sent,
		     "POST %s HTTP/1.1\r\n"
		     "Host: localhost\r\n"
		     "Content-Type: application/json\r\n"
		     "%sContent-Length: %zu\r\n\r\n%s",
		     path, headers, strlen(body), body) < 0)
		return fail_memory(err, "a request");
	if (send(h->fd, sent.data, sent.len, MSG_NOSIGNAL) != (ssize_t)sent.len)
		return fail_sys(err, REMIT_E_GONE, "send");
	return receive_answer(h, err);
}

/* ---- the section ---- */

#define SECTION "doors, loopback"
/* How many cells are measured in each round. */
#define CELLS 5

#define CODE "\"code\": \"print(1)\""
#define CALL(arguments)                                                  \
	"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", " \
	"\"params\": {\"name\": \"run_python\", \"arguments\": "         \
	"{" CODE arguments "}, \"_meta\": {\"io.modelcontextprotocol/"   \
	"protocolVersion\": \"2026-07-28\", \"io.modelcontextprotocol/"  \
	"clientCapabilities\": {}}}}"
#define CALL_HEADERS                           \
	"Mcp-Protocol-Version: 2026-07-28\r\n" \
	"Mcp-Method: tools/call\r\n"           \
	"Mcp-Name: run_python\r\n"
/* The output of the code, as every answer contains it in JSON. */
#define WANTED "\"1\\n\""

/* A frontend. "@" is replaced by the id of the session that the request `make`
   opened. */
static const struct frontend {
	const char *name;
	const char *make, *make_headers, *make_body;
	const char *id; /* the text before the id in the answer */
	const char *path, *headers, *body;
	bool is_foreign; /* a build may lack it */
} runs[] = {
	{
		.name = "a run, POST /",
		.path = "/",
		.body = "{" CODE "}",
	},
	{
		.name = "a run, POST /v1/runs",
		.path = "/v1/runs",
		.body = "{" CODE "}",
	},
	{
		.name = "a run, POST /mcp",
		.path = "/mcp",
		.headers = CALL_HEADERS,
		.body = CALL(""),
	},
}, cells[] = {
	{
		.name = "a cell, POST /v1/sessions/ID/cells",
		.make = "/v1/sessions",
		.make_body = "{}",
		.id = "\"id\":\"",
		.path = "/v1/sessions/@/cells",
		.body = "{" CODE "}",
	},
	{
		.name = "a cell, POST /execute of E2B",
		.is_foreign = true,
		.make = "/sandboxes",
		.make_body = "{\"templateID\": \"base\", \"secure\": false}",
		.id = "\"sandboxID\":\"",
		.path = "/execute",
		.headers = "E2b-Sandbox-Id: @\r\n"
			   "E2b-Sandbox-Port: 49999\r\n",
		.body = "{" CODE "}",
	},
	{
		.name = "a cell, POST /mcp",
		.make = "/mcp",
		.make_headers = CALL_HEADERS,
		.make_body = CALL(", \"session\": \"new\""),
		.id = "\"session\":\"",
		.path = "/mcp",
		.headers = CALL_HEADERS,
		.body = CALL(", \"session\": \"@\""),
	},
};

/* An open frontend. */
struct visit {
	const struct frontend *frontend;
	struct bench_row *row;
	struct bench_http http;
	char path[256], headers[512], body[1024];
};

static void
visit_free(struct visit *v)
{
	bench_http_free(&v->http);
}

/* Copy the text, with the session's id instead of "@". */
static void
fill_session_id(char *out, size_t size, const char *text, const char *id)
{
	const char *at = text ? strchr(text, '@') : NULL;

	if (at)
		snprintf(out, size, "%.*s%s%s", (int)(at - text), text, id,
			 at + 1);
	else
		snprintf(out, size, "%s", text ? text : "");
}

static int
open_session(struct visit *v, char id[128], struct remit_error *err)
{
	const struct frontend *d = v->frontend;
	const char *at;

	if (bench_http_post(&v->http, d->make,
			    d->make_headers ? d->make_headers : "",
			    d->make_body, err) < 0)
		return -1;
	at = strstr(buf_text(&v->http.got) + v->http.body, d->id);
	if (!at)
		return fail(err, REMIT_E_PROTOCOL,
			    "the answer of %s has no session id", d->make);
	at += strlen(d->id);
	snprintf(id, 128, "%.*s", (int)strcspn(at, "\""), at);
	return 0;
}

static int
open_visit(struct visit *v, struct bench *b, const struct frontend *d,
	   unsigned port, struct remit_error *err)
{
	char id[128] = "";

	v->frontend = d;
	if (bench_new_row(b, SECTION, d->name, &v->row, err) < 0 ||
	    bench_http_open(&v->http, port, err) < 0 ||
	    (d->make && open_session(v, id, err) < 0))
		return -1;
	fill_session_id(v->path, sizeof(v->path), d->path, id);
	fill_session_id(v->headers, sizeof(v->headers), d->headers, id);
	fill_session_id(v->body, sizeof(v->body), d->body, id);
	return 0;
}

static int
time_request(struct visit *v, double *us, struct remit_error *err)
{
	double begun = bench_stats_now_us();

	if (bench_http_post(&v->http, v->path, v->headers, v->body, err) < 0)
		return -1;
	*us = bench_stats_now_us() - begun;
	if (!strstr(buf_text(&v->http.got), WANTED))
		return fail(err, REMIT_E_PROTOCOL, "%s: %.100s",
			    v->frontend->name, v->http.got.data + v->http.body);
	return 0;
}

/* ---- the same through the library ---- */

/* The library, with which frontends are compared: runs, or cells of a
   session. */
struct direct {
	const struct bench *bench;
	struct bench_row *row;
	struct remit *remit;
	struct bench_warm warm;
	struct remit_session *session; /* NULL for runs */
};

static void
direct_free(struct direct *d)
{
	if (d->session)
		remit_session_drop(d->session);
	bench_warm_free(&d->warm);
	if (d->remit)
		remit_close(d->remit);
}

static int
open_direct(struct direct *d, struct bench *b, bool in_session,
	    struct remit_error *err)
{
	struct remit_session_options opt = { 0 };

	d->bench = b;
	if (bench_new_row(b, SECTION,
			  in_session ? "a cell, the library"
				     : "a run, the library",
			  &d->row, err) < 0 ||
	    bench_remit(b, &d->remit, err) < 0 ||
	    bench_warm_open(&d->warm, b, &bench_programs[0], d->remit, err) < 0)
		return -1;
	opt.policy_json = d->warm.policy;
	return in_session ? remit_session_open(d->remit, &opt, &d->session, err)
			  : 0;
}

static int
time_direct(const struct direct *d, double *us, struct remit_error *err)
{
	const struct bench_program *p = &bench_programs[0];

	return d->session ? bench_cell(d->bench, d->session, p->code, p->output,
				       us, err)
			  : bench_warm_run(&d->warm, us, err);
}

/* ---- both ---- */

static int
measure_turns(const struct bench *b, const struct direct *d,
	      struct visit *visits, size_t count, struct remit_error *err)
{
	unsigned gap = d->session ? 0 : BENCH_GAP_MS;
	double us;

	if (bench_pause(b, gap, err) < 0 || time_direct(d, &us, err) < 0 ||
	    bench_row_add(d->row, us, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (bench_pause(b, gap, err) < 0 ||
		    time_request(&visits[i], &us, err) < 0 ||
		    bench_row_add(visits[i].row, us, err) < 0)
			return -1;
	return 0;
}

/* Measure how many requests one client completes without pauses. */
static int
measure_rate(const struct bench *b, const struct direct *d, struct visit *v,
	     struct remit_error *err)
{
	double begun = bench_stats_now_us(), us, passed;
	unsigned done = 0;

	do {
		if (bench_check(b, err) < 0 ||
		    (v ? time_request(v, &us, err) : time_direct(d, &us, err)) <
			    0)
			return -1;
		done++;
		passed = bench_stats_now_us() - begun;
	} while (passed < b->opt.window_ms * 1e3);
	(v ? v->row : d->row)->value[VALUE_RUNS_PER_S] = done / passed * 1e6;
	return 0;
}

static int
measure_all(const struct bench *b, const struct direct *d, struct visit *visits,
	    size_t count, struct remit_error *err)
{
	unsigned rounds = b->opt.rounds * (d->session ? CELLS : 1);
	struct bench_summary own, other;

	for (unsigned i = 0; i < rounds; i++)
		if (measure_turns(b, d, visits, count, err) < 0)
			return -1;
	if (measure_rate(b, d, NULL, err) < 0)
		return -1;
	if (bench_stats_sum(&d->row->time, &own) < 0)
		return fail_memory(err, "times");
	for (size_t i = 0; i < count; i++) {
		if (measure_rate(b, d, &visits[i], err) < 0)
			return -1;
		if (bench_stats_sum(&visits[i].row->time, &other) < 0)
			return fail_memory(err, "times");
		visits[i].row->value[VALUE_ADDED_MS] =
			(other.p50 - own.p50) / 1e3;
	}
	return 0;
}

#define FRONTENDS_MAX 8

static void
free_visits(struct visit visits[FRONTENDS_MAX])
{
	for (size_t i = 0; i < FRONTENDS_MAX; i++)
		visit_free(&visits[i]);
}

/* Keep the row, marked as absent with the reason. */
static int
leave_out(struct bench *b, struct visit *v, struct remit_error *err)
{
	int bad = bench_absent(b, v->row, err);

	visit_free(v);
	*v = (struct visit){ .http = BENCH_HTTP_INIT };
	return bad;
}

static int
measure_frontends(struct bench *b, const struct frontend *frontends,
		  size_t count, unsigned port, struct remit_error *err)
{
	own(direct) struct direct d = { 0 };
	struct visit visits[FRONTENDS_MAX];
	size_t opened = 0;
	int bad;

	for (size_t i = 0; i < FRONTENDS_MAX; i++)
		visits[i] = (struct visit){ .http = BENCH_HTTP_INIT };
	bad = open_direct(&d, b, frontends[0].make != NULL, err);
	for (size_t i = 0; i < count && !bad; i++) {
		bad = open_visit(&visits[opened], b, &frontends[i], port, err);
		if (!bad)
			opened++;
		else if (frontends[i].is_foreign)
			bad = leave_out(b, &visits[opened], err);
	}
	if (!bad)
		bad = measure_all(b, &d, visits, opened, err);
	free_visits(visits);
	return bad;
}

/* ---- the server ---- */

/* Read the port that the server prints. */
static int
read_port(int fd, unsigned *port, struct remit_error *err)
{
	char line[256];
	ssize_t n = read(fd, line, sizeof(line) - 1);
	const char *at;

	line[n > 0 ? n : 0] = '\0';
	at = strstr(line, "127.0.0.1:");
	*port = at ? (unsigned)atoi(at + strlen("127.0.0.1:")) : 0;
	return *port ? 0
		     : fail(err, REMIT_E_GONE, "the server printed \"%s\"",
			    line);
}

static int
start_server(const struct bench *b, pid_t *pid, unsigned *port,
	     struct remit_error *err)
{
	const char *words[] = { b->remit,
				"serve",
				"--listen",
				"127.0.0.1:0",
				"--open",
				"--python",
				b->python->executable,
				"--memory-fallback",
				"per_process" };
	own(bench_command) struct bench_command c = { .env = &b->env_own };
	own_fd int stderr_fd = memfd_create("err", MFD_CLOEXEC);
	own_fd int from = -1, to = -1;
	int ends[2];

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (list_add(&c.argv, words[i]) < 0)
			return fail_memory(err, "command");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	from = ends[0];
	to = ends[1];
	if (bench_spawn_start(b, &c, (const int[3]){ -1, to, stderr_fd }, pid,
			      err) < 0)
		return -1;
	close(take_fd(&to));
	return read_port(from, port, err) < 0
		       ? bench_spawn_read_error(stderr_fd, err)
		       : 0;
}

int
bench_frontends_measure(struct bench *b, struct remit_error *err)
{
	unsigned port = 0;
	pid_t pid = 0;
	int bad;

	if (!bench_wants(b, SECTION))
		return 0;
	bench_progress(b, "%s", SECTION);
	bad = start_server(b, &pid, &port, err);
	if (!bad)
		bad = measure_frontends(b, runs, ARRAY_LEN(runs), port, err);
	if (!bad)
		bad = measure_frontends(b, cells, ARRAY_LEN(cells), port, err);
	if (pid > 0)
		bench_spawn_end(pid);
	return bad;
}

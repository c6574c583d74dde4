#include "serve/exchange.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/loop.h"
#include "hosted/hosted.h"
#include "serve/exchange_part.h"

/* A worker blocks while more than this is unsent, so unsent bytes that no limit
   counts stay bounded for each connection. */
#define OUT_HIGH ((size_t)64 * 1024)
/* Only a formal bound: results are in memory anyway. */
#define OUT_MAX ((size_t)8 << 30)

/* ---- lifetime ---- */

struct exchange *
exchange_new(struct server *s, struct conn *c)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->drained, NULL);
	x->server = s;
	x->conn = c;
	x->refs = (struct refcount)REFCOUNT_INIT(1);
	x->head.cap = HEAD_MAX;
	x->out.cap = x->tail.cap = OUT_MAX;
	x->extras.cap = HEAD_MAX;
	x->relay_fd = -1;
	x->begun_us = loop_now_us();
	return x;
}

static void
free_pairs(struct exchange_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(pairs[i].name);
		free(pairs[i].value);
	}
}

void
exchange_drop_body(struct exchange *x)
{
	server_refund_body(x, x->body.data.len + x->value_bytes);
	x->value_bytes = 0;
	body_free(&x->body);
}

static void
exchange_free(struct exchange *x)
{
	if (x->owned)
		x->owned_free(x->owned);
	free_pairs(x->query, EXCHANGE_QUERY_MAX);
	free_pairs(x->params, ROUTE_PARAMS_MAX);
	json_decref(x->json);
	exchange_drop_body(x);
	buf_free(&x->head);
	buf_free(&x->out);
	buf_free(&x->tail);
	buf_free(&x->extras);
	own_fd_close(&x->relay_fd);
	pthread_cond_destroy(&x->drained);
	pthread_mutex_destroy(&x->lock);
	free(x->path);
	free(x->owner);
	free(x);
}

struct exchange *
exchange_ref(struct exchange *x)
{
	refcount_inc(&x->refs);
	return x;
}

void
exchange_unref(struct exchange *x)
{
	if (x && refcount_dec_and_test(&x->refs))
		exchange_free(x);
}

void
exchange_wait_sent(struct exchange *x)
{
	pthread_mutex_lock(&x->lock);
	while (x->out.len + x->tail.len > OUT_HIGH && !x->is_gone &&
	       !server_is_http_thread(x->server))
		pthread_cond_wait(&x->drained, &x->lock);
	pthread_mutex_unlock(&x->lock);
}

void
exchange_unref_sent(struct exchange *x)
{
	size_t made;

	pthread_mutex_lock(&x->lock);
	made = x->out.allocated + x->tail.allocated;
	pthread_mutex_unlock(&x->lock);
	hosted_result_made(made);
	exchange_wait_sent(x);
	exchange_unref(x);
}

void
exchange_on_gone(struct exchange *x, void (*gone)(void *user), void *user)
{
	bool is_gone;

	pthread_mutex_lock(&x->lock);
	is_gone = x->is_gone;
	x->on_gone = gone;
	x->on_gone_user = user;
	pthread_mutex_unlock(&x->lock);
	if (is_gone)
		gone(user);
}

void
exchange_own(struct exchange *x, void *thing, void (*free_it)(void *))
{
	x->owned = thing;
	x->owned_free = free_it;
}

int
exchange_interim(struct exchange *x, const char *text)
{
	int added;

	pthread_mutex_lock(&x->lock);
	added = buf_add(&x->out, text, strlen(text));
	pthread_mutex_unlock(&x->lock);
	return added;
}

void
exchange_detach(struct exchange *x)
{
	void (*gone)(void *user) = NULL;

	pthread_mutex_lock(&x->lock);
	x->conn = NULL;
	if (!x->is_ended)
		gone = x->on_gone;
	x->is_gone = true;
	buf_free(&x->out);
	buf_free(&x->tail);
	pthread_cond_broadcast(&x->drained);
	pthread_mutex_unlock(&x->lock);
	if (gone)
		gone(x->on_gone_user);
}

struct chore {
	struct exchange *x;
	void (*work)(struct exchange *x);
};

static void *
run_chore(void *arg)
{
	struct chore e = *(struct chore *)arg;
	struct server *s = e.x->server;

	free(arg);
	e.work(e.x);
	exchange_unref(e.x);
	server_thread_ended(s);
	return NULL;
}

void
exchange_in_thread(struct exchange *x, void (*work)(struct exchange *x))
{
	struct chore *e = malloc(sizeof(*e));

	if (e) {
		*e = (struct chore){ exchange_ref(x), work };
		if (server_start_thread(x->server, run_chore, e) == 0)
			return;
		exchange_unref(x);
		free(e);
	}
	reply_fail(x, 503, "busy", "cannot start a thread for this request");
}

/* ---- the request ---- */

struct http_text
exchange_header(const struct exchange *x, const char *name)
{
	struct http_text rest = { x->head.data, x->head.len }, line, key, value;

	if (http_head_next(&rest, &line)) /* the request line */
		while (http_head_next(&rest, &line)) {
			http_head_split(line, &key, &value);
			if (http_head_is(key, name))
				return value;
		}
	return (struct http_text){ NULL, 0 };
}

bool
exchange_header_is(const struct exchange *x, const char *name, const char *word)
{
	struct http_text value = exchange_header(x, name);

	return value.text && http_head_is(value, word);
}

static const char *
find_pair(const struct exchange_pair *pairs, size_t count, const char *name)
{
	for (size_t i = 0; i < count && pairs[i].name; i++)
		if (!strcmp(pairs[i].name, name))
			return pairs[i].value;
	return NULL;
}

const char *
exchange_param(const struct exchange *x, const char *name)
{
	return find_pair(x->params, ROUTE_PARAMS_MAX, name);
}

const char *
exchange_query(const struct exchange *x, const char *name)
{
	return find_pair(x->query, EXCHANGE_QUERY_MAX, name);
}

static int
set_pair(struct exchange_pair *p, const char *name, size_t name_len,
	 const char *value, size_t value_len, bool plus)
{
	p->name = route_decode(name, name_len, plus);
	p->value = route_decode(value, value_len, plus);
	return p->name && p->value ? 0 : -1;
}

/* Returns -1 if the query is malformed, has too many parameters, or memory is
   exhausted. */
static int
set_query(struct exchange *x, const char *at, const char *end)
{
	size_t n = 0;

	while (at < end) {
		const char *stop = memchr(at, '&', (size_t)(end - at));
		const char *is;

		stop = stop ? stop : end;
		is = memchr(at, '=', (size_t)(stop - at));
		if (stop > at &&
		    (n == EXCHANGE_QUERY_MAX ||
		     set_pair(&x->query[n++], at,
			      (size_t)((is ? is : stop) - at),
			      is ? is + 1 : stop,
			      is ? (size_t)(stop - is - 1) : 0, true) < 0))
			return -1;
		at = stop + 1;
	}
	return 0;
}

int
exchange_set_target(struct exchange *x, struct http_text target)
{
	const char *end = target.text + target.len;
	const char *mark = memchr(target.text, '?', target.len);

	if (!target.len || target.text[0] != '/' ||
	    memchr(target.text, '#', target.len))
		return -1;
	x->path = strndup(target.text,
			  (size_t)((mark ? mark : end) - target.text));
	if (!x->path)
		return -1;
	x->has_bad_query = set_query(x, mark ? mark + 1 : end, end) < 0;
	return 0;
}

int
exchange_set_params(struct exchange *x, const struct route_param *params,
		    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (set_pair(&x->params[i], params[i].name, params[i].name_len,
			     params[i].value, params[i].value_len, false) < 0)
			return -1;
	return 0;
}

/* ---- the reply ---- */

static const char *
reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Other";
}

/* Appends to the reply; the connection closes if memory is exhausted. Called
   with the lock held. */
static void
out_add(struct exchange *x, const void *bytes, size_t len)
{
	if (!x->is_gone && buf_add(&x->out, bytes, len) < 0)
		x->closes = true;
}

/* Writes the head of the reply. Its headers keep pages of other origins from
   using the reply: no content sniffing, no caching. Called with the lock
   held. */
static void
out_add_head(struct exchange *x, int status, const char *type, bool is_known,
	     size_t len)
{
	time_t now = time(NULL);
	char head[512], date[64];
	struct tm utc;
	int n;

	x->status = status;
	gmtime_r(&now, &utc);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &utc);
	n = snprintf(head, sizeof(head),
		     "HTTP/1.1 %d %s\r\n"
		     "Date: %s\r\n"
		     "X-Content-Type-Options: nosniff\r\n",
		     status, reason_of(status), date);
	out_add(x, head, (size_t)n);
	if (type) {
		n = snprintf(head, sizeof(head), "Content-Type: %.200s\r\n",
			     type);
		out_add(x, head, (size_t)n);
	}
	if (!x->extras.len || !strstr(x->extras.data, "Cache-Control:"))
		out_add(x, "Cache-Control: no-store\r\n", 25);
	if (x->extras.len)
		out_add(x, x->extras.data, x->extras.len);
	if (is_known && status != 204) {
		n = snprintf(head, sizeof(head), "Content-Length: %zu\r\n",
			     len);
		out_add(x, head, (size_t)n);
	} else if (!is_known && x->is_chunked) {
		out_add(x, "Transfer-Encoding: chunked\r\n", 28);
	}
	if (x->closes)
		out_add(x, "Connection: close\r\n", 19);
	out_add(x, "\r\n", 2);
}

void
reply_header(struct exchange *x, const char *name, const char *value)
{
	if (strpbrk(value, "\r\n"))
		return;
	pthread_mutex_lock(&x->lock);
	if (buf_addf(&x->extras, "%s: %s\r\n", name, value) < 0)
		x->closes = true;
	pthread_mutex_unlock(&x->lock);
}

void
reply_bytes(struct exchange *x, int status, const char *type, const void *bytes,
	    size_t len)
{
	pthread_mutex_lock(&x->lock);
	if (!x->status) {
		out_add_head(x, status, type, true, len);
		if (strcmp(x->method, "HEAD") != 0)
			out_add(x, bytes, len);
		x->is_ended = true;
	}
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

void
reply_owned_bytes(struct exchange *x, int status, const char *type, char *bytes,
		  size_t len)
{
	static const char none[] =
		"{\"error\":{\"code\":\"memory\",\"message\":\"no memory\","
		"\"remedy\":\"\",\"where\":\"\"}}";
	own_mem char *given = bytes;

	if (!given) {
		reply_bytes(x, 500, "application/json", none, sizeof(none) - 1);
		return;
	}
	pthread_mutex_lock(&x->lock);
	if (!x->status) {
		out_add_head(x, status, type, true, len);
		if (strcmp(x->method, "HEAD") != 0 && !x->is_gone) {
			x->tail.data = take_ptr(&given);
			x->tail.len = len;
			x->tail.allocated = len + 1;
		}
		x->is_ended = true;
	}
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

void
reply_json(struct exchange *x, int status, json_t *document)
{
	size_t len = 0;
	char *text = document ? text_from_json(document, &len) : NULL;

	json_decref(document);
	reply_owned_bytes(x, status, "application/json", text, len);
}

json_t *
reply_error_json(const struct remit_error *err)
{
	return json_pack("{s:{s:s, s:o, s:o, s:s}}", "error", "code",
			 remit_code_name(err->code), "message",
			 text_to_json(err->message, strlen(err->message)),
			 "remedy",
			 text_to_json(err->remedy, strlen(err->remedy)),
			 "where", err->where);
}

static int
error_status(enum remit_code code)
{
	static const int statuses[] = {
		[REMIT_OK] = 200,	  [REMIT_E_INPUT] = 400,
		[REMIT_E_REFUSED] = 422,  [REMIT_E_BUSY] = 429,
		[REMIT_E_GONE] = 409,	  [REMIT_E_KERNEL] = 500,
		[REMIT_E_MEMORY] = 500,	  [REMIT_E_PROTOCOL] = 502,
		[REMIT_E_INTERNAL] = 500, [REMIT_E_ELSEWHERE] = 422,
		[REMIT_E_INSTALL] = 422,
	};

	return (size_t)code < ARRAY_LEN(statuses) ? statuses[code] : 500;
}

void
reply_error(struct exchange *x, const struct remit_error *err)
{
	reply_json(x, error_status(err->code), reply_error_json(err));
}

void
reply_fail(struct exchange *x, int status, const char *code, const char *fmt,
	   ...)
{
	char message[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (x->route && x->route->fail) {
		x->route->fail(x, status, message);
		return;
	}
	reply_json(x, status,
		   json_pack("{s:{s:s, s:o, s:s, s:s}}", "error", "code", code,
			     "message", text_to_json(message, strlen(message)),
			     "remedy", "", "where", ""));
}

/* ---- streams ---- */

void
reply_begin(struct exchange *x, int status, const char *type)
{
	pthread_mutex_lock(&x->lock);
	if (!x->status) {
		x->is_stream = true;
		/* HTTP/1.0 has no chunks: the end of the connection ends the
		   reply. */
		x->is_chunked = !x->parsed.is_old;
		x->closes |= x->parsed.is_old;
		out_add_head(x, status, type, false, 0);
		x->last_piece_us = loop_now_us();
	}
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

/* Called with the lock held. */
static void
out_add_piece(struct exchange *x, const void *bytes, size_t len)
{
	char size[24];

	if (!len || !strcmp(x->method, "HEAD"))
		return;
	if (x->is_chunked)
		out_add(x, size,
			(size_t)snprintf(size, sizeof(size), "%zx\r\n", len));
	out_add(x, bytes, len);
	if (x->is_chunked)
		out_add(x, "\r\n", 2);
	x->last_piece_us = loop_now_us();
}

int
reply_piece(struct exchange *x, const void *bytes, size_t len)
{
	bool gone;

	pthread_mutex_lock(&x->lock);
	out_add_piece(x, bytes, len);
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
	pthread_mutex_lock(&x->lock);
	/* The HTTP thread sends these bytes, so it must not wait for them. */
	while (x->out.len > OUT_HIGH && !x->is_gone &&
	       !server_is_http_thread(x->server))
		pthread_cond_wait(&x->drained, &x->lock);
	gone = x->is_gone;
	pthread_mutex_unlock(&x->lock);
	return gone ? -1 : 0;
}

void
reply_end(struct exchange *x)
{
	pthread_mutex_lock(&x->lock);
	if (!x->is_ended && x->is_chunked && strcmp(x->method, "HEAD") != 0)
		out_add(x, "0\r\n\r\n", 5);
	x->is_ended = true;
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

void
reply_abort(struct exchange *x)
{
	pthread_mutex_lock(&x->lock);
	x->is_ended = x->closes = true;
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

void
reply_relay(struct exchange *x, int fd, const char *const *secrets)
{
	pthread_mutex_lock(&x->lock);
	x->relay_fd = fd;
	x->relay_secrets = secrets;
	pthread_mutex_unlock(&x->lock);
	server_notify(x);
}

void
reply_keepalive_bytes(struct exchange *x, const char *bytes, size_t len)
{
	pthread_mutex_lock(&x->lock);
	x->keepalive = bytes;
	x->keepalive_len = len;
	pthread_mutex_unlock(&x->lock);
}

void
reply_keepalive(struct exchange *x, const char *text)
{
	reply_keepalive_bytes(x, text, strlen(text));
}

void
exchange_keep_alive(struct exchange *x, uint64_t silent_us)
{
	pthread_mutex_lock(&x->lock);
	if (x->is_stream && !x->is_ended && x->keepalive && !x->out.len &&
	    loop_now_us() - x->last_piece_us >= silent_us)
		out_add_piece(x, x->keepalive, x->keepalive_len);
	pthread_mutex_unlock(&x->lock);
}

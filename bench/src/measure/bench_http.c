#include "measure/bench_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

int
bench_http_open(struct bench_http *h, unsigned port, struct remit_error *err)
{
	struct timeval patience = { .tv_sec = 30 };
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0 ||
	    setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
		       sizeof(int)) < 0 ||
	    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    connect(h->fd, (void *)&a, sizeof(a)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "connect to port %u",
				port);
	return 0;
}

void
bench_http_free(struct bench_http *h)
{
	own_fd_close(&h->fd);
	buf_free(&h->got);
}

/* Where the last chunk ends, or NULL if it has not come yet. */
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
receive(struct bench_http *h, struct remit_error *err)
{
	char piece[16 * 1024];

	h->got.len = 0;
	do {
		ssize_t n = recv(h->fd, piece, sizeof(piece), 0);

		if (n <= 0)
			return fail(err, REMIT_E_GONE,
				    "the server does not answer");
		if (buf_add(&h->got, piece, (size_t)n) < 0)
			return fail_sys(err, REMIT_E_MEMORY, "an answer");
	} while (!is_whole(h));
	if (strncmp(h->got.data, "HTTP/1.1 2", strlen("HTTP/1.1 2")))
		return fail(err, REMIT_E_PROTOCOL, "%.190s",
			    h->got.data + h->body);
	return 0;
}

int
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
		return fail_sys(err, REMIT_E_MEMORY, "a request");
	if (send(h->fd, sent.data, sent.len, MSG_NOSIGNAL) != (ssize_t)sent.len)
		return fail_sys(err, REMIT_E_GONE, "send");
	return receive(h, err);
}

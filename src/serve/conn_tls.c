#include "serve/conn_tls.h"

#include <sys/socket.h>

#include "http/certificate.h"
#include "http/tls.h"
#include "serve/server.h"

ssize_t
conn_send(struct conn *c, const void *bytes, size_t len)
{
	return c->tls ? tls_write(c->tls, bytes, len)
		      : send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A record has 16 KiB at most: with room for it all of it is given, and none
   waits for an event that does not come. */
ssize_t
conn_receive(struct conn *c, void *out, size_t size)
{
	return c->tls ? tls_read(c->tls, out, size)
		      : recv(c->fd, out, size, MSG_DONTWAIT);
}

bool
conn_tls_refuses(struct conn *c)
{
	static const char text[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
		"Content-Length: 38\r\nConnection: close\r\n\r\n"
		"This port speaks TLS: ask by https://\n";
	char first;

	/* A record begins with 22, a request with the name of its method. */
	if (c->tls || recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 ||
	    first < 'A' || first > 'Z')
		return false;
	/* A new socket has room for it. */
	return conn_send(c, text, sizeof(text) - 1) > 0;
}

int
conn_tls_shake(struct conn *c)
{
	/* Its buffers are for those who have said something. */
	if (!c->tls) {
		c->tls = tls_to_client(&c->server->certificate->config, c->fd);
		if (!c->tls)
			return -1;
		c->certificate = certificate_ref(c->server->certificate);
	}
	return tls_shake(c->tls);
}

void
conn_tls_say_end(const struct conn *c)
{
	if (c->tls && tls_is_shaken(c->tls))
		tls_say_end(c->tls);
}

void
conn_tls_free(struct conn *c)
{
	tls_free(take_ptr(&c->tls));
	certificate_unref(take_ptr(&c->certificate));
}

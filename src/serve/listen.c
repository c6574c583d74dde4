/*
 * listen: the sockets on which a server accepts connections.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/number.h"
#include "serve/server.h"

#define BACKLOG 256

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

/* Returns the path of "unix:/path", or NULL for other addresses. */
static const char *
unix_path(const char *address)
{
	return strncmp(address, "unix:", 5) ? NULL : address + 5;
}

/* Parses "1.2.3.4:80" or "[::1]:80". */
static int
parse_address(const char *address, union any_address *out, socklen_t *len,
	      struct remit_error *err)
{
	const char *colon = strrchr(address, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n = colon ? (size_t)(colon - address) : 0;
	uint64_t port;

	*out = (union any_address){ 0 };
	if (!colon || n >= sizeof(host) || number_parse(&port, colon + 1) < 0 ||
	    port > UINT16_MAX)
		return fail(err, REMIT_E_INPUT,
			    "--listen %s: must be ADDRESS:PORT, "
			    "[ADDRESS]:PORT or unix:PATH",
			    address);
	memcpy(host, address, n);
	host[n] = '\0';
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons((uint16_t)port);
		*len = sizeof(out->v6);
		if (inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1)
			return 0;
	} else {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons((uint16_t)port);
		*len = sizeof(out->v4);
		if (inet_pton(AF_INET,
			      strcmp(host, "localhost") ? host : "127.0.0.1",
			      &out->v4.sin_addr) == 1)
			return 0;
	}
	return fail(err, REMIT_E_INPUT,
		    "--listen %s: \"%s\" is not an IP address", address, host);
}

int
server_check_address(const char *address, struct remit_error *err)
{
	union any_address a;
	socklen_t len;

	return unix_path(address) ? 0 : parse_address(address, &a, &len, err);
}

bool
server_is_local(const char *address)
{
	union any_address a;
	struct remit_error err;
	socklen_t len;

	if (unix_path(address))
		return true;
	if (parse_address(address, &a, &len, &err) < 0)
		return false;
	return a.any.sa_family == AF_INET
		       ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
		       : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

/* Only the owner may connect, from the first moment on. */
static int
listen_unix(const char *path, struct remit_error *err)
{
	union any_address a = { .local = { .sun_family = AF_UNIX } };
	own_fd int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	mode_t before;
	int failed;

	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socket");
	if (strlen(path) >= sizeof(a.local.sun_path))
		return fail(err, REMIT_E_INPUT, "%s: the path is too long",
			    path);
	memcpy(a.local.sun_path, path, strlen(path));
	/* Removes the socket of a killed server. Regular files stay, and so
	   does a socket that accepts connections: it belongs to another
	   server. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    connect(fd, &a.any, sizeof(a.local)) < 0 && errno == ECONNREFUSED)
		unlink(path);
	before = umask(0177);
	failed = bind(fd, &a.any, sizeof(a.local));
	umask(before);
	if (failed < 0 || listen(fd, BACKLOG) < 0)
		return fail_sys(err, REMIT_E_INPUT, "listen at %s", path);
	return take_fd(&fd);
}

static int
listen_tcp(const char *address, uint16_t *port, struct remit_error *err)
{
	union any_address a;
	own_fd int fd = -1;
	socklen_t len = 0;
	int one = 1;

	if (parse_address(address, &a, &len, err) < 0)
		return -1;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Accepted sockets inherit it; pieces of a stream are small. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0)
		return fail_sys(err, REMIT_E_INPUT, "listen at %s", address);
	if (getsockname(fd, &a.any, &len) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "getsockname");
	*port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port
						 : a.v6.sin6_port);
	return take_fd(&fd);
}

int
server_listen(struct server *s, const char *address, uint16_t *port,
	      struct remit_error *err)
{
	const char *path = unix_path(address);
	struct listener *l = &s->listeners[s->listener_count];

	if (s->listener_count == SERVER_LISTENERS_MAX)
		return fail(err, REMIT_E_INPUT,
			    "--listen: can be given at most %d times",
			    SERVER_LISTENERS_MAX);
	*port = 0;
	*l = (struct listener){ .server = s, .source = SOURCE_INIT };
	l->fd = path ? listen_unix(path, err) : listen_tcp(address, port, err);
	if (l->fd < 0)
		return -1;
	l->port = *port;
	l->path = path;
	s->listener_count++;
	return 0;
}

void
server_stop_listening(struct server *s)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		struct listener *l = &s->listeners[i];

		loop_remove(&s->loop, &l->source);
		if (l->path)
			unlink(l->path);
		own_fd_close(&l->fd);
	}
	s->listener_count = 0;
}

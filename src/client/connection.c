#include "client/connection.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/file/fd.h"
#include "client/part.h"

int
connection_connect(const char *path, struct remit_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	own_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socket");
	if (strlen(path) >= sizeof(addr.sun_path))
		return fail(err, REMIT_E_INPUT, "%s: name too long", path);
	memcpy(addr.sun_path, path, strlen(path));
	if (connect(fd, (void *)&addr, sizeof(addr)) < 0) {
		fail_sys(err, REMIT_E_GONE, "connect to the keeper %s", path);
		snprintf(err->remedy, sizeof(err->remedy),
			 "Start it with \"remit keeper --listen %s\", or unset "
			 "REMIT_KEEPER.",
			 path);
		return -1;
	}
	/* Code and policy go only to a keeper of the same user, or root's. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    (peer.uid != geteuid() && peer.uid != 0))
		return fail(err, REMIT_E_GONE,
			    "the keeper at %s belongs to another user", path);
	return take_fd(&fd);
}

/* One that was kept, or -1. */
static int
take_kept(struct remit *r)
{
	int fd = -1;

	pthread_mutex_lock(&r->lock);
	if (r->connections.count)
		fd = r->connections.kept[--r->connections.count];
	pthread_mutex_unlock(&r->lock);
	return fd;
}

int
connection_make(struct remit *r, bool shared, int *theirs,
		struct remit_error *err)
{
	int pair[2], kept;

	*theirs = -1;
	if (shared)
		return connection_connect(r->keeper_path, err);
	kept = take_kept(r);
	if (kept >= 0)
		return kept;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*theirs = pair[1];
	return pair[0];
}

int
connection_give(struct remit *r, int theirs, struct remit_error *err)
{
	ssize_t n;

	if (theirs < 0)
		return 0;
	pthread_mutex_lock(&r->lock);
	n = pass_send(r->control, "d", 1, &theirs, 1, 0);
	pthread_mutex_unlock(&r->lock);
	return n == 1 ? 0 : fail_sys(err, REMIT_E_GONE, "the keeper is gone");
}

int
connection_open(struct remit *r, bool shared, struct remit_error *err)
{
	own_fd int theirs = -1, ours = connection_make(r, shared, &theirs, err);

	if (ours < 0 || connection_give(r, theirs, err) < 0)
		return -1;
	return take_fd(&ours);
}

void
connection_keep(struct remit *r, int fd)
{
	bool kept;

	pthread_mutex_lock(&r->lock);
	kept = r->connections.count < CONNECTIONS_KEPT;
	if (kept)
		r->connections.kept[r->connections.count++] = fd;
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		close(fd);
}

void
connections_close(struct connections *d)
{
	while (d->count)
		close(d->kept[--d->count]);
}

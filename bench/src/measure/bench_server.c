#include "measure/bench_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
	/* Who was served hangs up. */
	recv(fd, &word, 1, 0);
}

static void *
serve(void *arg)
{
	const struct bench_server *s = arg;
	int fd;

	while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve_one(fd);
		close(fd);
	}
	return NULL;
}

int
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
	if (pthread_create(&s->thread, NULL, serve, s))
		return fail(err, REMIT_E_MEMORY, "no thread for a server");
	s->runs = true;
	return 0;
}

void
bench_server_free(struct bench_server *s)
{
	/* It wakes whoever waits in accept(). */
	if (s->runs) {
		shutdown(s->fd, SHUT_RDWR);
		pthread_join(s->thread, NULL);
	}
	own_fd_close(&s->fd);
	*s = (struct bench_server){ .fd = -1 };
}

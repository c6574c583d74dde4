/*
 * fd: descriptors that travel with a message over a unix socket (unix(7)), and
 * those that a process goes on with.
 */
#ifndef REMIT_FD_H
#define REMIT_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/own.h"

/*
 * A list may have holes (-1). They do not travel: the message says by a mask
 * which places are taken, and pass_place() puts what came back there.
 */

/* The most in one message. */
#define PASS_MAX 96

/* A bit for each place that is taken. */
uint32_t pass_mask(const int *fds, size_t count);
/* As sendmsg(2), never with SIGPIPE. */
ssize_t pass_send(int socket, const void *bytes, size_t len, const int *fds,
		  size_t count, int flags);
/* As recvmsg(2). The caller owns the *count descriptors that came, which are
   closed at exec: also those it did not expect. */
ssize_t pass_recv(int socket, void *bytes, size_t len, int got[PASS_MAX],
		  size_t *count, int flags);
/* The same; *sender is the sender's pid if the socket has SO_PASSCRED, or -1.
 */
ssize_t pass_recv_from(int socket, void *bytes, size_t len, int got[PASS_MAX],
		       size_t *count, pid_t *sender, int flags);
/* -1 if there are more or fewer than the mask says. */
int pass_place(const int *got, size_t got_count, uint32_t mask, int *fds,
	       size_t count) must_check;

/* ---- which descriptors a process goes on with ---- */

/* Ascending, as fds_close_others() wants them. */
void fds_sort(int *fds, size_t count);
/* Close all but these. Allocates nothing. */
void fds_close_others(const int *sorted, size_t count);

#endif

/*
 * fd: sending descriptors over a unix socket (unix(7)), and closing all
 * descriptors that a process does not need.
 */
#ifndef REMIT_FD_H
#define REMIT_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/own.h"

/*
 * A list of descriptors may have holes (-1), which are not sent. The message
 * contains a mask of the used positions, by which pass_place() restores the
 * list.
 */

/* The maximum in one message. */
#define PASS_MAX 96

/* Returns a mask with a bit for each used position. */
uint32_t pass_mask(const int *fds, size_t count);
/* Like sendmsg(2), but never raises SIGPIPE. */
ssize_t pass_send(int socket, const void *bytes, size_t len, const int *fds,
		  size_t count, int flags);
/* Like recvmsg(2). The caller owns all *count received descriptors, including
   unexpected ones. They are close-on-exec. */
ssize_t pass_recv(int socket, void *bytes, size_t len, int got[PASS_MAX],
		  size_t *count, int flags);
/* Like pass_recv(). *sender is the pid of the sender if the socket has
   SO_PASSCRED, else -1. */
ssize_t pass_recv_from(int socket, void *bytes, size_t len, int got[PASS_MAX],
		       size_t *count, pid_t *sender, int flags);
/* Writes received descriptors to the positions of the mask, and -1 to all
   others. Returns -1 if there are more or fewer than the mask has bits. */
int pass_place(const int *got, size_t got_count, uint32_t mask, int *fds,
	       size_t count) must_check;

/* ---- closing descriptors ---- */

/* Sorts in ascending order, as fds_close_others() requires. */
void fds_sort(int *fds, size_t count);
/* Closes all other descriptors. Allocates nothing. */
void fds_close_others(const int *sorted, size_t count);

#endif

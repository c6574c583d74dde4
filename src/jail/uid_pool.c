#include "jail/uid_pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"

#define UID_POOL_DIRECTORY "/run/remit"
#define UID_POOL_FILE	   UID_POOL_DIRECTORY "/uids"

static int
uid_pool_base(uint32_t *out, struct remit_error *err)
{
	const char *text = getenv("REMIT_UID_BASE");
	uint64_t n = UID_POOL_BASE;

	if (text && (number_parse(&n, text) < 0 || n < 1000 ||
		     n > UINT32_MAX - UID_POOL_SIZE))
		return fail(err, REMIT_E_INPUT,
			    "REMIT_UID_BASE=%s: not a user id from 1000 to %u",
			    text, UINT32_MAX - UID_POOL_SIZE);
	*out = (uint32_t)n;
	return 0;
}

int
uid_lease_acquire(struct uid_lease *out, struct remit_error *err)
{
	/* Start after the last slot: that one and those before it are likely to
	   be taken. */
	static uint32_t next_slot;
	own_fd int fd = -1;
	uint32_t base = 0;

	if (uid_pool_base(&base, err) < 0)
		return -1;
	if (mkdir(UID_POOL_DIRECTORY, 0755) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s",
				UID_POOL_DIRECTORY);
	fd = open(UID_POOL_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", UID_POOL_FILE);
	/* Begin at a different slot in each keeper, so that keepers started
	   together do not compete for the same bytes. */
	if (!next_slot)
		next_slot = (uint32_t)getpid();
	for (uint32_t i = 0; i < UID_POOL_SIZE; i++) {
		uint32_t slot = (next_slot + i) % UID_POOL_SIZE;
		struct flock lock = {
			.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = slot,
			.l_len = 1,
		};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			next_slot = slot + 1;
			out->uid = base + slot;
			out->fd = take_fd(&fd);
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return fail_sys(err, REMIT_E_KERNEL, "lock %s",
					UID_POOL_FILE);
	}
	return fail(err, REMIT_E_BUSY, "all %u user ids are in use",
		    UID_POOL_SIZE);
}

void
uid_lease_free(struct uid_lease *l)
{
	own_fd_close(&l->fd);
	l->fd = -1;
}

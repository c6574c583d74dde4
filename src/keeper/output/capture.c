#include "keeper/output/capture.h"

bool
capture_is_truncated(const struct capture *c)
{
	return c->total_bytes > c->kept_bytes;
}

bool
capture_is_over_ceiling(const struct capture *c)
{
	return c->total_bytes > c->ceiling_bytes;
}

int
capture_drain(struct capture *c, struct link *client, struct remit_error *err)
{
	char piece[FRAME_PIECE];
	uint64_t room = c->max_bytes - c->kept_bytes;
	size_t keep;
	ssize_t n;

	n = read(c->fd, piece, sizeof(piece));
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		return fail_sys(err, REMIT_E_KERNEL, "read output");
	}
	if (n == 0) {
		c->ended = true;
		return 0;
	}
	c->total_bytes += (uint64_t)n;
	keep = (uint64_t)n < room ? (size_t)n : (size_t)room;
	c->kept_bytes += keep;
	if (keep && link_send(client, c->type, piece, keep, err) < 0)
		return -1;
	return 0;
}

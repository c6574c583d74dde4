#include "cli/batch/progress.h"

#include <string.h>
#include <sys/ioctl.h>

/* ---- counts ---- */

void
batch_count_add(struct batch_count *c, const struct batch_result *r)
{
	c->by_status[r->status]++;
	c->written++;
	c->good += r->is_good;
}

bool
batch_count_all_ran(const struct batch_count *c)
{
	return !c->by_status[STATUS_REFUSED] && !c->by_status[STATUS_BUSY] &&
	       !c->by_status[STATUS_INTERNAL];
}

double
batch_count_rate(const struct batch_count *c, uint64_t wall_ms)
{
	return (double)c->written * 1000 / (double)(wall_ms ? wall_ms : 1);
}

int
batch_count_show(const struct batch_count *c, uint64_t wall_ms, struct buf *out)
{
	double rate = batch_count_rate(c, wall_ms);
	const char *before = ": ";

	if (buf_addf(out, "%llu job%s", (unsigned long long)c->written,
		     c->written == 1 ? "" : "s") < 0)
		return -1;
	for (int i = 0; i < STATUS_COUNT; i++) {
		if (!c->by_status[i])
			continue;
		if (buf_addf(out, "%s%llu %s", before,
			     (unsigned long long)c->by_status[i],
			     statuses[i].name) < 0)
			return -1;
		before = ", ";
	}
	if (c->skipped && buf_addf(out, ", %llu done before",
				   (unsigned long long)c->skipped) < 0)
		return -1;
	return buf_addf(out, " in %.1f s, %.*f/s", (double)wall_ms / 1000,
			rate < 10 ? 1 : 0, rate);
}

/* ---- the progress bar ---- */

#define GAUGE	      30
#define GAUGE_COLUMNS 80 /* a narrower terminal shows no gauge */
#define COLUMNS_MIN   20

static const char clear[] = "\r\x1b[K";

static int
add_gauge(uint64_t done, uint64_t total, struct buf *out)
{
	int full = (int)(done * GAUGE / total);
	char gauge[GAUGE + 1];

	memset(gauge, ' ', GAUGE);
	gauge[GAUGE] = '\0';
	memset(gauge, '=', (size_t)full);
	if (full < GAUGE)
		gauge[full] = '>';
	return buf_addf(out, "[%s] ", gauge);
}

static int
add_left(const struct batch_count *c, uint64_t done, uint64_t total,
	 uint64_t wall_ms, struct buf *out)
{
	double seconds;
	unsigned long long s;

	if (!c->written)
		return 0;
	seconds = (double)(total - done) / batch_count_rate(c, wall_ms);
	s = (unsigned long long)seconds;
	if (s >= 3600)
		return buf_addf(out, "  %llu:%02llu:%02llu left", s / 3600,
				s / 60 % 60, s % 60);
	return buf_addf(out, "  %llu:%02llu left", s / 60, s % 60);
}

int
batch_bar_show(const struct batch_bar *b, const struct batch_count *c,
	       uint64_t wall_ms, unsigned columns, struct buf *out)
{
	uint64_t done = c->written + c->skipped;
	/* The file may grow while the batch reads it. */
	uint64_t total = b->total > done ? b->total : done;
	double rate = batch_count_rate(c, wall_ms);
	unsigned most = columns > COLUMNS_MIN ? columns - 1 : COLUMNS_MIN - 1;

	if (b->total && columns >= GAUGE_COLUMNS &&
	    add_gauge(done, total, out) < 0)
		return -1;
	if (buf_addf(out, "%llu", (unsigned long long)done) < 0 ||
	    (b->total &&
	     buf_addf(out, "/%llu", (unsigned long long)total) < 0) ||
	    buf_addf(out, "  %.*f/s  %llu ok, %llu failed", rate < 10 ? 1 : 0,
		     rate, (unsigned long long)c->good,
		     (unsigned long long)(c->written - c->good)) < 0 ||
	    (b->total && add_left(c, done, total, wall_ms, out) < 0))
		return -1;
	/* A longer line would scroll the terminal. */
	if (out->len > most) {
		out->len = most;
		out->data[most] = '\0';
	}
	return 0;
}

static unsigned
columns_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
								: 80;
}

/* Ignore errors: the batch continues if the terminal is gone. */
static void
write_bar(const char *text, size_t len)
{
	if (write(2, text, len) < 0)
		return;
}

void
batch_bar_draw(const struct batch_bar *b, const struct batch_count *c,
	       uint64_t wall_ms)
{
	own(buf) struct buf line = BUF_INIT(512);
	own(buf) struct buf out = BUF_INIT(600);

	if (b->is_on &&
	    batch_bar_show(b, c, wall_ms, columns_of(2), &line) == 0 &&
	    buf_addf(&out, "%s%s", clear, line.data) == 0)
		write_bar(out.data, out.len);
}

void
batch_bar_clear(const struct batch_bar *b)
{
	if (b->is_on)
		write_bar(clear, sizeof(clear) - 1);
}

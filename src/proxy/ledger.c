#include "proxy/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/net/address.h"

/* Memory that can never be executed, if the kernel supports that. */
static int
ledger_memory_file(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING, noexec = 8;
	int fd = memfd_create("remit-ledger", flags | noexec);

	return fd < 0 && errno == EINVAL ? memfd_create("remit-ledger", flags)
					 : fd;
}

struct ledger *
ledger_map(int fd)
{
	void *at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct ledger *
ledger_new(int *fd, struct remit_error *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	own_fd int file = ledger_memory_file();
	struct ledger *l = NULL;

	if (file >= 0 && ftruncate(file, sizeof(*l)) == 0 &&
	    fcntl(file, F_ADD_SEALS, seals) == 0)
		l = ledger_map(file);
	if (!l) {
		fail_memory(err, "ledger");
		return NULL;
	}
	*fd = take_fd(&file);
	return l;
}

void
ledger_free(struct ledger *l)
{
	if (l)
		munmap(l, sizeof(*l));
}

static struct ledger_row *
ledger_find_row(struct ledger *l, const char *host, uint16_t port,
		enum ledger_why why)
{
	struct ledger_row *r;

	for (r = l->rows; r < l->rows + l->row_count; r++)
		if (r->port == port && r->why == (uint16_t)why &&
		    !strcmp(r->host, host))
			return r;
	if (l->row_count == LEDGER_ROWS ||
	    (why != LEDGER_LET_THROUGH &&
	     l->refused_rows == LEDGER_REFUSED_ROWS))
		return NULL;
	l->refused_rows += why != LEDGER_LET_THROUGH;
	snprintf(r->host, sizeof(r->host), "%s", host);
	r->port = port;
	r->why = (uint16_t)why;
	l->row_count++;
	return r;
}

struct ledger_row *
ledger_note(struct ledger *l, const char *host, uint16_t port,
	    enum ledger_why why)
{
	/* The code sees a reset, and the result has only the number. */
	struct ledger_row *r = why == LEDGER_UNREACHABLE
				       ? NULL
				       : ledger_find_row(l, host, port, why);

	l->connections += why == LEDGER_LET_THROUGH;
	l->unreachable += why == LEDGER_UNREACHABLE;
	l->refusals += why >= LEDGER_NOT_NAMED;
	if (r)
		r->count++;
	else if (why == LEDGER_LET_THROUGH)
		l->hosts_left_out++;
	else if (why >= LEDGER_NOT_NAMED)
		l->left_out++;
	return r;
}

void
ledger_sent(struct ledger *l, struct ledger_row *row, uint64_t bytes)
{
	l->sent_bytes += bytes;
	if (row)
		row->sent_bytes += bytes;
}

void
ledger_received(struct ledger *l, struct ledger_row *row, uint64_t bytes)
{
	l->received_bytes += bytes;
	if (row)
		row->received_bytes += bytes;
}

/* The host must be a valid name or address, or the row is dropped. */
static bool
is_well_formed(const struct ledger_row *r)
{
	char name[HOST_NAME_SIZE];
	struct address a;
	size_t len = strnlen(r->host, sizeof(r->host));

	if (r->why >= LEDGER_WHYS || len == sizeof(r->host) || !r->count)
		return false;
	if (host_name_read(r->host, len, name) == 0)
		return true;
	return address_read(r->host, &a) == 0;
}

void
ledger_copy(struct ledger *out, const struct ledger *shared)
{
	size_t n = 0, count;

	memcpy(out, shared, sizeof(*out));
	count = out->row_count < LEDGER_ROWS ? out->row_count : LEDGER_ROWS;
	for (size_t i = 0; i < count; i++)
		if (is_well_formed(&out->rows[i]))
			out->rows[n++] = out->rows[i];
	out->row_count = n;
}

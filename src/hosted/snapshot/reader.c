#include "hosted/snapshot/reader.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "base/number.h"
#include "hosted/snapshot/part.h"
#include "wire/record.h"

struct snapshot_reader {
	struct snapshot_store *store;
	struct snapshot_owner *owner;
	uint64_t list_bytes; /* charged for the memory of the manifest */
	int directory;
	struct buf manifest;
	size_t at;
};

/* Charges the memory of the manifest and of a list of its entries. */
static int
charge_list(struct snapshot_reader *r, const struct snapshot_head *h,
	    struct remit_error *err)
{
	struct stat st;
	uint64_t needed;

	if (fstatat(r->directory, "manifest", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read a snapshot");
	needed = number_add(
		number_mul((uint64_t)st.st_size, 2),
		number_mul(h->info.entries, sizeof(struct snapshot_entry)));
	if (snapshot_list_charge(r->store, r->owner, needed, err) < 0)
		return -1;
	r->list_bytes = needed;
	return 0;
}

static int
read_all(struct snapshot_reader *r, const char *id, struct remit_error *err)
{
	own_fd int parent = snapshot_owner_open(r->store, r->owner);
	struct snapshot_head h;

	if (parent >= 0 && snapshot_is_id(id))
		r->directory =
			openat(parent, id,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->directory < 0)
		return fail(err, REMIT_E_GONE, "no such snapshot: %.40s", id);
	if (snapshot_head_read(&h, r->directory, err) < 0 ||
	    charge_list(r, &h, err) < 0 ||
	    snapshot_read_file(&r->manifest, r->directory, "manifest",
			       h.manifest_sum, err) < 0)
		return -1;
	return record_check(buf_text(&r->manifest), r->manifest.len, err);
}

int
snapshot_reader_open(struct snapshot_reader **out, struct snapshot_store *s,
		     const char *owner, const char *id, struct remit_error *err)
{
	struct snapshot_owner *o = snapshot_owner_find(s, owner);
	struct snapshot_reader *r = calloc(1, sizeof(*r));

	if (!r || !o) {
		free(r);
		return fail_memory(err, "snapshot");
	}
	*r = (struct snapshot_reader){ .store = s,
				       .owner = o,
				       .directory = -1,
				       .manifest = BUF_INIT(MANIFEST_MAX) };
	if (read_all(r, id, err) < 0) {
		snapshot_reader_free(r);
		return -1;
	}
	*out = r;
	return 0;
}

void
snapshot_reader_free(struct snapshot_reader *r)
{
	if (!r)
		return;
	own_fd_close(&r->directory);
	buf_free(&r->manifest);
	snapshot_list_refund(r->store, r->owner, r->list_bytes);
	free(r);
}

void
snapshot_rewind(struct snapshot_reader *r)
{
	r->at = 0;
}

/* ---- entries ---- */

static bool
read_type(struct snapshot_entry *e, const char *value)
{
	static const char *const types[] = {
		[SNAPSHOT_FILE] = "file",
		[SNAPSHOT_DIRECTORY] = "directory",
		[SNAPSHOT_LINK] = "link",
		[SNAPSHOT_SKIPPED] = "skipped",
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(value, types[i])) {
			e->type = (enum snapshot_type)i;
			return true;
		}
	return false;
}

/* Returns false for an unknown key or an invalid value. */
static bool
read_member(struct snapshot_entry *e, const struct record *r)
{
	struct {
		const char *key;
		const char **to;
	} texts[] = {
		{ "path", &e->path },
		{ "target", &e->target },
		{ "reason", &e->reason },
		{ "sha256", &e->sha256 },
	};
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(r->key, texts[i].key)) {
			*texts[i].to = r->value;
			return true;
		}
	if (number_parse(&n, r->value) < 0 || n > INT64_MAX)
		return false;
	if (!strcmp(r->key, "size"))
		e->size = n;
	else if (!strcmp(r->key, "mode"))
		e->attributes.mode = (unsigned)n & 0777;
	else if (!strcmp(r->key, "modified"))
		e->attributes.modified_ns = (long long)n;
	else
		return false;
	return true;
}

/* Whether the entry has what its type needs. */
static bool
is_complete(const struct snapshot_entry *e)
{
	return e->path && (e->type != SNAPSHOT_FILE || e->sha256) &&
	       (e->type != SNAPSHOT_LINK || e->target) &&
	       (e->type != SNAPSHOT_SKIPPED || e->reason);
}

int
snapshot_next(struct snapshot_reader *r, struct snapshot_entry *e,
	      struct remit_error *err)
{
	const char *text = buf_text(&r->manifest);
	size_t len = r->manifest.len, at = r->at;
	struct record rec;
	bool is_right;

	if (!record_next(text, len, &at, &rec))
		return 0;
	*e = (struct snapshot_entry){ 0 };
	is_right = !strcmp(rec.key, "type") && read_type(e, rec.value);
	r->at = at;
	while (is_right && record_next(text, len, &at, &rec) &&
	       strcmp(rec.key, "type") != 0) {
		is_right = read_member(e, &rec);
		r->at = at;
	}
	if (is_right && is_complete(e))
		return 1;
	return fail(err, REMIT_E_KERNEL,
		    "the snapshot is damaged: its manifest is malformed");
}

/* ---- contents ---- */

static int
fail_damaged(const struct snapshot_entry *e, struct remit_error *err)
{
	char name[QUOTE_SIZE];

	return fail(err, REMIT_E_KERNEL,
		    "the snapshot is damaged: the contents of %s have another "
		    "SHA-256 than when they were stored",
		    quote(name, e->path));
}

/* Where the pieces of a file go. */
struct sink {
	int (*add)(void *user, const char *bytes, size_t len,
		   struct remit_error *err);
	void *user;
	char *bytes; /* a buffer for one piece */
	size_t piece;
};

static int
read_pieces(int fd, const struct snapshot_entry *e, const struct sink *to,
	    struct remit_error *err)
{
	struct sha256 digest = SHA256_INIT;
	char sum[SHA256_TEXT];
	uint64_t left = e->size;
	ssize_t n;

	for (; left; left -= (uint64_t)n) {
		n = io_read(fd, to->bytes,
			    left < to->piece ? (size_t)left : to->piece);
		if (n <= 0)
			return fail_damaged(e, err);
		sha256_add(&digest, to->bytes, (size_t)n);
		if (to->add(to->user, to->bytes, (size_t)n, err) < 0)
			return -1;
	}
	sha256_end(&digest, sum);
	return strcmp(sum, e->sha256) ? fail_damaged(e, err) : 0;
}

int
snapshot_read_object(const struct snapshot_reader *r,
		     const struct snapshot_entry *e, size_t piece,
		     int (*add)(void *user, const char *bytes, size_t len,
				struct remit_error *err),
		     void *user, struct remit_error *err)
{
	own_fd int fd = openat(r->directory, e->sha256,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct sink to = { .add = add, .user = user, .piece = piece };
	struct stat st;
	int failed;

	/* Check the length first, since it bounds the work. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != e->size)
		return fail_damaged(e, err);
	to.bytes = malloc(piece);
	if (!to.bytes)
		return fail_memory(err, "snapshot");
	failed = read_pieces(fd, e, &to, err);
	free(to.bytes);
	return failed;
}

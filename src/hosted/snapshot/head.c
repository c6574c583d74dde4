/*
 * snapshot_head: the small file that completes a snapshot on disk, and the
 * checks of a snapshot's other files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file/io.h"
#include "base/number.h"
#include "hosted/snapshot/part.h"
#include "wire/record.h"

bool
snapshot_is_id(const char *name)
{
	return strlen(name) == SNAPSHOT_ID_SIZE - 1 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz234567") ==
		       SNAPSHOT_ID_SIZE - 1;
}

int
snapshot_read_file(struct buf *out, int directory, const char *name,
		   const char *sum, struct remit_error *err)
{
	own_fd int fd = openat(directory, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char is[SHA256_TEXT];

	if (fd < 0 || io_read_all(fd, out) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"cannot read the %s of the snapshot", name);
	sha256_text(buf_text(out), out->len, is);
	if (sum && strcmp(sum, is) != 0)
		return fail(err, REMIT_E_KERNEL,
			    "the snapshot is damaged: its %s has another "
			    "SHA-256 than when it was stored",
			    name);
	return 0;
}

/* ---- heads ---- */

static int
add_number(struct buf *b, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return record_add(b, key, text);
}

int
snapshot_head_write(struct buf *out, const struct snapshot_head *h)
{
	const struct snapshot_info *i = &h->info;
	char sum[SHA256_TEXT];

	if (record_add(out, "format", FORMAT) < 0 ||
	    record_add(out, "owner", h->owner) < 0 ||
	    record_add(out, "id", i->id) < 0 ||
	    record_add(out, "name", i->name) < 0 ||
	    record_add(out, "source", i->source) < 0 ||
	    record_add(out, "manifest", h->manifest_sum) < 0 ||
	    record_add(out, "about", h->about_sum) < 0 ||
	    add_number(out, "kind", i->kind) < 0 ||
	    add_number(out, "created", i->created_ms) < 0 ||
	    add_number(out, "expires", i->expires_ms) < 0 ||
	    add_number(out, "entries", i->entries) < 0 ||
	    add_number(out, "bytes", i->bytes) < 0)
		return -1;
	sha256_text(buf_text(out), out->len, sum);
	return record_add(out, "head", sum);
}

static bool
read_text(char *to, size_t size, const char *value)
{
	return (size_t)snprintf(to, size, "%s", value) < size;
}

/* Returns false for an unknown key or an invalid value. */
static bool
read_head_record(struct snapshot_head *h, const struct record *r)
{
	struct snapshot_info *i = &h->info;
	struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{ "owner", h->owner, sizeof(h->owner) },
		{ "id", i->id, sizeof(i->id) },
		{ "name", i->name, sizeof(i->name) },
		{ "source", i->source, sizeof(i->source) },
		{ "manifest", h->manifest_sum, sizeof(h->manifest_sum) },
		{ "about", h->about_sum, sizeof(h->about_sum) },
	};
	struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
		{ "created", &i->created_ms },
		{ "expires", &i->expires_ms },
		{ "entries", &i->entries },
		{ "bytes", &i->bytes },
	};
	uint64_t kind;

	for (size_t n = 0; n < ARRAY_LEN(texts); n++)
		if (!strcmp(r->key, texts[n].key))
			return read_text(texts[n].to, texts[n].size, r->value);
	for (size_t n = 0; n < ARRAY_LEN(numbers); n++)
		if (!strcmp(r->key, numbers[n].key))
			return number_parse(numbers[n].to, r->value) == 0;
	if (!strcmp(r->key, "kind")) {
		if (number_parse(&kind, r->value) < 0 ||
		    (kind != SNAPSHOT_PAUSED && kind != SNAPSHOT_TEMPLATE))
			return false;
		i->kind = (enum snapshot_kind)kind;
		return true;
	}
	return !strcmp(r->key, "format") && !strcmp(r->value, FORMAT);
}

int
snapshot_head_read(struct snapshot_head *h, int directory,
		   struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(HEAD_MAX);
	char sum[SHA256_TEXT];
	struct record r;
	size_t at = 0, before = 0;

	*h = (struct snapshot_head){ 0 };
	if (snapshot_read_file(&text, directory, "head", NULL, err) < 0)
		return -1;
	if (record_check(buf_text(&text), text.len, err) < 0)
		at = text.len;
	while (record_next(buf_text(&text), text.len, &at, &r)) {
		if (!strcmp(r.key, "head") && at == text.len) {
			sha256_text(buf_text(&text), before, sum);
			if (!strcmp(sum, r.value) && h->info.kind &&
			    snapshot_is_id(h->info.id))
				return 0;
			break;
		}
		if (!read_head_record(h, &r))
			break;
		before = at;
	}
	return fail(err, REMIT_E_KERNEL,
		    "the snapshot is damaged: its head is malformed");
}

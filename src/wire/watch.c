#include "wire/watch.h"

#include <string.h>

struct request_head {
	uint32_t id;
	uint8_t op, flags;
	uint16_t zero;
};

struct event_head {
	uint32_t id;
	uint8_t kind, has_entry;
	uint16_t name_len;
};

struct entry_part {
	uint64_t size, device, inode;
	int64_t modified_ns;
	uint32_t mode, zero;
};

/* A path without NULs, empty only if `may_be_empty`. */
static bool
is_path(const char *bytes, size_t len, bool may_be_empty)
{
	return (len || may_be_empty) && len < WATCH_PATH_SIZE &&
	       !memchr(bytes, '\0', len);
}

int
watch_request_write(struct buf *out, const struct watch_request *r)
{
	struct request_head h = { .id = r->id, .op = r->op, .flags = r->flags };

	if (r->path_len >= WATCH_PATH_SIZE ||
	    buf_reserve(out, sizeof(h) + r->path_len) < 0 ||
	    buf_add(out, &h, sizeof(h)) < 0)
		return -1;
	return r->path_len ? buf_add(out, r->path, r->path_len) : 0;
}

int
watch_request_read(struct watch_request *out, const char *payload, size_t len)
{
	struct request_head h;

	if (len < sizeof(h))
		return -1;
	memcpy(&h, payload, sizeof(h));
	len -= sizeof(h);
	if (!h.op || h.op > WATCH_SYNC || h.flags & ~WATCH_FLAGS || h.zero ||
	    (h.op != WATCH_BEGIN && (len || h.flags)) ||
	    !is_path(payload + sizeof(h), len, h.op != WATCH_BEGIN))
		return -1;
	*out = (struct watch_request){
		.id = h.id,
		.op = h.op,
		.flags = h.flags,
		.path = payload + sizeof(h),
		.path_len = len,
	};
	return 0;
}

int
watch_event_write(struct buf *out, const struct watch_event *e)
{
	struct event_head h = {
		.id = e->id,
		.kind = (uint8_t)e->kind,
		.has_entry = e->has_entry,
		.name_len = (uint16_t)e->name_len,
	};
	struct entry_part p = {
		.size = e->entry.size,
		.device = e->entry.device,
		.inode = e->entry.inode,
		.modified_ns = e->entry.modified_ns,
		.mode = e->entry.mode,
	};

	if (e->name_len >= WATCH_PATH_SIZE ||
	    e->target_len >= WATCH_PATH_SIZE ||
	    buf_reserve(out, sizeof(h) + sizeof(p) + e->name_len +
				     e->target_len) < 0 ||
	    buf_add(out, &h, sizeof(h)) < 0 ||
	    (e->has_entry && buf_add(out, &p, sizeof(p)) < 0) ||
	    (e->name_len && buf_add(out, e->name, e->name_len) < 0))
		return -1;
	return e->has_entry && e->target_len
		       ? buf_add(out, e->target, e->target_len)
		       : 0;
}

/* Whether the name of this kind is one that the kind may have. */
static bool
name_fits(const struct watch_event *e)
{
	bool may_be_empty = !watch_is_of_file(e->kind);

	return is_path(e->name, e->name_len, may_be_empty) &&
	       (may_be_empty || e->name[0] != '/');
}

int
watch_event_read(struct watch_event *out, const char *payload, size_t len)
{
	struct watch_event e = { 0 };
	struct event_head h;
	struct entry_part p;

	if (len < sizeof(h))
		return -1;
	memcpy(&h, payload, sizeof(h));
	payload += sizeof(h);
	len -= sizeof(h);
	if (!h.kind || h.kind >= WATCH_KINDS || h.has_entry > 1)
		return -1;
	e.id = h.id;
	e.kind = (enum watch_kind)h.kind;
	e.has_entry = h.has_entry;
	if (e.has_entry) {
		if (len < sizeof(p) || !watch_is_of_file(e.kind))
			return -1;
		memcpy(&p, payload, sizeof(p));
		payload += sizeof(p);
		len -= sizeof(p);
		if (p.zero)
			return -1;
		e.entry = (struct watch_entry){
			.size = p.size,
			.device = p.device,
			.inode = p.inode,
			.modified_ns = p.modified_ns,
			.mode = p.mode,
		};
	}
	if (h.name_len > len || (!e.has_entry && h.name_len != len))
		return -1;
	e.name = payload;
	e.name_len = h.name_len;
	e.target = payload + h.name_len;
	e.target_len = len - h.name_len;
	if (!name_fits(&e) || !is_path(e.target, e.target_len, true))
		return -1;
	*out = e;
	return 0;
}

#include "artifact_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "beneath.h"
#include "loop.h"
#include "sweep.h"

/* What a name costs: empty files are not for nothing. */
#define ENTRY_BYTES 4096

/* What one room left. */
struct kept {
	struct kept *next; /* older ones first */
	char *owner, *id;
	uint64_t bytes, until_us;
};

struct artifact_store {
	char *path;
	int folder;
	uint64_t keep_us, max_bytes;
	pthread_mutex_t lock; /* of what follows */
	struct kept *first;
	uint64_t bytes;
};

static int
make_folder(struct artifact_store *s, const char *parent,
	    struct remit_error *err)
{
	if (asprintf(&s->path, "%s/remit-artifacts-XXXXXX", parent) < 0) {
		s->path = NULL;
		return fail_sys(err, REMIT_E_MEMORY, "artifacts");
	}
	if (!mkdtemp(s->path))
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", s->path);
	s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->folder < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", s->path);
	return 0;
}

int
artifact_store_open(struct artifact_store **out, const char *parent,
		    uint64_t keep_ms, uint64_t max_bytes,
		    struct remit_error *err)
{
	struct artifact_store *s = calloc(1, sizeof(*s));

	if (!s)
		return fail_sys(err, REMIT_E_MEMORY, "artifacts");
	*s = (struct artifact_store){ .folder = -1,
				      .keep_us = keep_ms * 1000,
				      .max_bytes = max_bytes };
	pthread_mutex_init(&s->lock, NULL);
	if (make_folder(s, parent, err) < 0) {
		artifact_store_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static void
remove_room(const struct artifact_store *s, const char *id)
{
	own_fd int fd =
		beneath_open(s->folder, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* What cannot be removed now goes with the folder of all. */
	if (fd >= 0 && sweep(fd) == 0)
		unlinkat(s->folder, id, AT_REMOVEDIR);
}

static void
kept_free(struct kept *k)
{
	if (!k)
		return;
	free(k->owner);
	free(k->id);
	free(k);
}

static void
forget_first(struct artifact_store *s)
{
	struct kept *k = s->first;

	if (!k)
		return;
	s->first = k->next;
	s->bytes -= k->bytes;
	remove_room(s, k->id);
	kept_free(k);
}

void
artifact_store_free(struct artifact_store *s)
{
	if (!s)
		return;
	while (s->first)
		forget_first(s);
	if (s->folder >= 0) {
		sweep(s->folder);
		close(s->folder);
	}
	if (s->path)
		rmdir(s->path);
	pthread_mutex_destroy(&s->lock);
	free(s->path);
	free(s);
}

char *
artifact_store_path(const struct artifact_store *s, const char *id)
{
	char *path;

	return asprintf(&path, "%s/%s", s->path, id) < 0 ? NULL : path;
}

/* Of all files below a folder. The policy bounds their depth and number. */
static uint64_t
count_bytes(int at, const char *name)
{
	int fd = beneath_open(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	if (!dir) {
		own_fd_close(&fd);
		return 0;
	}
	while ((e = readdir(dir))) {
		if (beneath_is_dots(e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += ENTRY_BYTES;
		bytes += S_ISDIR(st.st_mode) ? count_bytes(fd, e->d_name)
					     : (uint64_t)st.st_size;
	}
	closedir(dir);
	return bytes;
}

static struct kept *
kept_new(const char *owner, const char *id)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->owner = strdup(owner);
	k->id = strdup(id);
	if (k->owner && k->id)
		return k;
	kept_free(k);
	return NULL;
}

void
artifact_store_keep(struct artifact_store *s, const char *owner, const char *id)
{
	struct kept *k = kept_new(owner, id), **end = &s->first;

	if (k)
		k->bytes = count_bytes(s->folder, id);
	if (!k || !k->bytes || k->bytes > s->max_bytes) {
		remove_room(s, id);
		kept_free(k);
		return;
	}
	k->until_us = loop_now_us() + s->keep_us;
	pthread_mutex_lock(&s->lock);
	while (*end)
		end = &(*end)->next;
	*end = k;
	s->bytes += k->bytes;
	while (s->first && s->bytes > s->max_bytes)
		forget_first(s);
	pthread_mutex_unlock(&s->lock);
}

void
artifact_store_sweep(struct artifact_store *s)
{
	uint64_t now = loop_now_us();

	pthread_mutex_lock(&s->lock);
	while (s->first && s->first->until_us <= now)
		forget_first(s);
	pthread_mutex_unlock(&s->lock);
}

static int
open_regular(int folder, const char *id, const char *path)
{
	own_fd int room =
		beneath_open(folder, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own_fd int fd = -1;
	struct stat st;

	if (room < 0)
		return -1;
	fd = beneath_open(room, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENOENT;
		return -1;
	}
	return take_fd(&fd);
}

int
artifact_store_read(struct artifact_store *s, const char *owner, const char *id,
		    const char *path)
{
	const struct kept *k;
	int fd = -1;

	pthread_mutex_lock(&s->lock);
	for (k = s->first; k; k = k->next)
		if (!strcmp(k->id, id) && !strcmp(k->owner, owner))
			break;
	errno = ENOENT;
	if (k)
		fd = open_regular(s->folder, id, path);
	pthread_mutex_unlock(&s->lock);
	return fd;
}

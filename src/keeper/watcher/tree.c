#include "keeper/watcher/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/file/path.h"

/* IN_EXCL_UNLINK: files that only have descriptors left are silent. */
#define MASK                                                             \
	(IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | \
	 IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |      \
	 IN_EXCL_UNLINK)

#define BATCH ((size_t)8 * 1024)

_Static_assert(sizeof(((struct watcher_tree *)0)->last.name) == NAME_MAX + 1,
	       "a name of a file fits");

/* ---- paths in the workspace ---- */

/* Returns what follows `directory` in `path`, without a slash; NULL if the path
   is not in that directory. "" is in every directory that is "". */
static const char *
path_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (!n)
		return path;
	if (strncmp(path, directory, n) != 0)
		return NULL;
	return path[n] == '/' ? path + n + 1 : path[n] ? NULL : path + n;
}

/* Writes the path of an entry. Returns -1 if it is too long. */
static int
path_join(char out[WATCH_PATH_SIZE], const char *directory, const char *name)
{
	int n = snprintf(out, WATCH_PATH_SIZE, "%s%s%s", directory,
			 *directory && *name ? "/" : "", name);

	return n < 0 || n >= WATCH_PATH_SIZE ? -1 : 0;
}

static int
open_directory(const struct watcher_tree *t, const char *path)
{
	return beneath_open(t->workspace, *path ? path : ".",
			    O_RDONLY | O_DIRECTORY);
}

/* ---- events ---- */

static int
emit(struct watcher_tree *t, const struct watch_event *e)
{
	t->cost++;
	return t->emit(t->user, e);
}

static int
emit_state(struct watcher_tree *t, uint32_t id, enum watch_kind kind,
	   const char *name)
{
	struct watch_event e = { .id = id,
				 .kind = kind,
				 .name = name,
				 .name_len = strlen(name),
				 .target = "" };

	return emit(t, &e);
}

/* Whether a watch includes what happens in this directory. *name begins the
   names of its files, without a slash. */
static bool
watch_covers(const struct watcher_watch *w, const char *directory,
	     const char **name)
{
	*name = w->id ? path_below(directory, w->path) : NULL;
	return *name && (!**name || w->flags & WATCH_RECURSIVE);
}

/* The code can choose a time that does not fit. */
static int64_t
nanoseconds(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Describes a file; an event without a description is complete too. */
static void
describe(const struct watcher_tree *t, const char *directory, const char *name,
	 struct watch_event *e, char target[WATCH_PATH_SIZE])
{
	own_fd int fd = open_directory(t, directory);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	e->has_entry = true;
	e->entry = (struct watch_entry){
		.size = (uint64_t)st.st_size,
		.device = st.st_dev,
		.inode = st.st_ino,
		.modified_ns = nanoseconds(&st.st_mtim),
		.mode = st.st_mode,
	};
	if (!S_ISLNK(st.st_mode))
		return;
	n = readlinkat(fd, name, target, WATCH_PATH_SIZE - 1);
	e->target_len = n < 0 ? 0 : (size_t)n;
}

static bool
has_entry(enum watch_kind kind)
{
	return kind != WATCH_REMOVED && kind != WATCH_RENAMED;
}

/* Sends an event to each watch that includes the directory. */
static int
emit_file(struct watcher_tree *t, const char *directory, const char *file,
	  enum watch_kind kind)
{
	char name[WATCH_PATH_SIZE], target[WATCH_PATH_SIZE];
	struct watch_event e = { .kind = kind, .target = target };
	const char *inner;
	bool described = false;

	for (size_t i = 0; i < WATCHES_MAX; i++) {
		struct watcher_watch *w = &t->watches[i];
		struct watch_event one;

		if (!watch_covers(w, directory, &inner) ||
		    path_join(name, inner, file) < 0)
			continue;
		if (w->flags & WATCH_DESCRIBES && !described &&
		    has_entry(kind)) {
			describe(t, directory, file, &e, target);
			described = true;
		}
		one = e;
		one.id = w->id;
		one.name = name;
		one.name_len = strlen(name);
		one.has_entry &= (w->flags & WATCH_DESCRIBES) != 0;
		if (emit(t, &one) < 0)
			return -1;
	}
	return 0;
}

/* Something happened to a watched directory itself. Its parent, if that is
   watched, reports the same. */
static int
emit_self(struct watcher_tree *t, const char *directory, enum watch_kind kind)
{
	for (size_t i = 0; i < WATCHES_MAX; i++) {
		struct watcher_watch *w = &t->watches[i];

		if (w->id && !strcmp(w->path, directory) &&
		    emit_state(t, w->id, kind, ".") < 0)
			return -1;
	}
	return 0;
}

/* ---- directories ---- */

static size_t
find_place(const struct watcher_tree *t, int number)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->directories[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct watched_directory *
find_directory(const struct watcher_tree *t, int number)
{
	size_t at = find_place(t, number);

	return at < t->count && t->directories[at].number == number
		       ? &t->directories[at]
		       : NULL;
}

static void
forget_directory(struct watcher_tree *t, size_t at)
{
	free(t->directories[at].path);
	list_free(&t->directories[at].found);
	memmove(&t->directories[at], &t->directories[at + 1],
		(--t->count - at) * sizeof(*t->directories));
}

static void
unwatch_directory(struct watcher_tree *t, size_t at)
{
	inotify_rm_watch(t->inotify, t->directories[at].number);
	forget_directory(t, at);
}

static bool
is_covered(const struct watcher_tree *t, const char *directory)
{
	const char *name;

	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (watch_covers(&t->watches[i], directory, &name))
			return true;
	return false;
}

/* Whether a watch includes the directories in this one. */
static bool
is_recursive(const struct watcher_tree *t, const char *directory)
{
	const char *name;

	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (t->watches[i].flags & WATCH_RECURSIVE &&
		    watch_covers(&t->watches[i], directory, &name))
			return true;
	return false;
}

static void
unwatch_uncovered(struct watcher_tree *t)
{
	for (size_t i = t->count; i-- > 0;)
		if (!is_covered(t, t->directories[i].path))
			unwatch_directory(t, i);
}

/* Sends the last event of a watch. */
static int
end_watch(struct watcher_tree *t, struct watcher_watch *w, enum watch_kind why)
{
	uint32_t id = w->id;

	free(w->path);
	*w = (struct watcher_watch){ 0 };
	unwatch_uncovered(t);
	return emit_state(t, id, why, "");
}

/* Ends all watches that include this directory. */
static int
end_watches(struct watcher_tree *t, const char *directory, enum watch_kind why)
{
	const char *name;

	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (watch_covers(&t->watches[i], directory, &name) &&
		    end_watch(t, &t->watches[i], why) < 0)
			return -1;
	return 0;
}

/* Watches an open directory. Returns its place, or NULL with errno. */
static struct watched_directory *
watch_directory(struct watcher_tree *t, int fd, const char *path, bool *is_new)
{
	struct watched_directory new = { .path = strdup(path) };
	char magic[40];
	size_t at;

	if (!new.path)
		return NULL;
	/* This link is the process's own, and leads to the directory that was
	   opened, even if its path has another meaning now. */
	snprintf(magic, sizeof(magic), "/proc/self/fd/%d", fd);
	new.number = inotify_add_watch(t->inotify, magic, MASK);
	at = find_place(t, new.number);
	*is_new = new.number >= 0 &&
		  (at == t->count || t->directories[at].number != new.number);
	if (!*is_new) {
		free(new.path);
		return new.number < 0 ? NULL : &t->directories[at];
	}
	memmove(&t->directories[at + 1], &t->directories[at],
		(t->count - at) * sizeof(*t->directories));
	t->directories[at] = new;
	t->count++;
	return &t->directories[at];
}

/* Reports a file that existed before its directory was watched. */
static int
report_found(struct watcher_tree *t, int fd, struct watched_directory *d,
	     const char *name)
{
	struct stat st;

	if (list_add(&d->found, name) < 0 ||
	    emit_file(t, d->path, name, WATCH_CREATED) < 0)
		return -1;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	return emit_file(t, d->path, name, WATCH_WRITTEN);
}

static int
visit_entry(struct watcher_tree *t, int fd, struct watched_directory *d,
	    const struct dirent *e, bool reports, struct list *below)
{
	char path[WATCH_PATH_SIZE];

	t->cost++;
	if (!t->entries_left || path_join(path, d->path, e->d_name) < 0) {
		errno = ENOSPC;
		return -1;
	}
	t->entries_left--;
	if (e->d_type == DT_DIR && list_add(below, path) < 0)
		return -1;
	return reports ? report_found(t, fd, d, e->d_name) : 0;
}

/* Adds the directories in this one to `below`, and reports its files if it is
   new. */
static int
read_directory(struct watcher_tree *t, DIR *dir, struct watched_directory *d,
	       bool reports, struct list *below)
{
	const struct dirent *e;
	int failed = 0;

	while (!failed && (e = readdir(dir)))
		if (!beneath_is_dots(e->d_name))
			failed = visit_entry(t, dirfd(dir), d, e, reports,
					     below);
	return failed;
}

/* Watches one directory. The code may have removed or replaced it already, or
   made it unreadable; this is not an error. */
static int
add_directory(struct watcher_tree *t, const char *path, bool reports,
	      struct list *below)
{
	own_fd int fd = open_directory(t, path);
	struct watched_directory *d;
	bool is_new = false;
	int failed;
	DIR *dir;

	if (fd < 0)
		return 0;
	if (t->count >= t->directories_max) {
		errno = ENOSPC;
		return -1;
	}
	d = watch_directory(t, fd, path, &is_new);
	if (!d)
		return errno == ENOSPC || errno == ENOMEM ? -1 : 0;
	/* Watched by another path: the code has moved it, which is reported
	   next. */
	if (strcmp(d->path, path) != 0 || !is_recursive(t, path))
		return 0;
	dir = fdopendir(fd);
	if (!dir)
		return -1;
	(void)take_fd(&fd);
	failed = read_directory(t, dir, d, reports && is_new, below);
	closedir(dir);
	return failed;
}

/* Watches a directory, and those in it if a watch includes them. Returns -1
   with ENOSPC if there are too many. */
static int
add_tree(struct watcher_tree *t, const char *path, bool reports)
{
	own(list) struct list all = { 0 };

	t->entries_left = WATCHER_ENTRIES_MAX;
	if (list_add(&all, path) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++)
		if (add_directory(t, all.items[i], reports, &all) < 0)
			return -1;
	return 0;
}

/* ---- what the kernel reports ---- */

static enum watch_kind
kind_of(uint32_t mask)
{
	static const struct {
		uint32_t mask;
		enum watch_kind kind;
	} kinds[] = {
		{ IN_CREATE | IN_MOVED_TO, WATCH_CREATED },
		{ IN_MODIFY, WATCH_WRITTEN },
		{ IN_ATTRIB, WATCH_CHANGED },
		{ IN_DELETE | IN_DELETE_SELF, WATCH_REMOVED },
		{ IN_MOVED_FROM | IN_MOVE_SELF, WATCH_RENAMED },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (mask & kinds[i].mask)
			return kinds[i].kind;
	return (enum watch_kind)0;
}

/* Whether this file was found, and reported, when its directory was new. */
static bool
was_found(struct watched_directory *d, const char *name)
{
	for (size_t i = 0; i < d->found.count; i++) {
		if (strcmp(d->found.items[i], name) != 0)
			continue;
		free(d->found.items[i]);
		d->found.items[i] = d->found.items[--d->found.count];
		return true;
	}
	return false;
}

/* Everything that happened while new directories were read has been read. */
static void
forget_found(struct watcher_tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		list_free(&t->directories[i].found);
}

/* Ends the watches of a directory that was moved, and of those in it: the paths
   by which they are opened lead nowhere, or to others. */
static int
end_moved_watches(struct watcher_tree *t, const char *path)
{
	for (size_t i = 0; i < WATCHES_MAX; i++) {
		struct watcher_watch *w = &t->watches[i];
		const char *rest = w->id ? path_below(w->path, path) : NULL;

		if (!rest)
			continue;
		if ((!*rest && emit_state(t, w->id, WATCH_RENAMED, ".") < 0) ||
		    end_watch(t, w, WATCH_LOST) < 0)
			return -1;
	}
	return 0;
}

/* The last moved directory did not come back: stop watching what is in it. */
static void
drop_moved(struct watcher_tree *t)
{
	own_mem char *path = take_ptr(&t->moved_path);

	for (size_t i = t->count; path && i-- > 0;)
		if (path_below(t->directories[i].path, path))
			unwatch_directory(t, i);
	unwatch_uncovered(t);
}

/* Gives moved directories their new paths. */
static int
rename_moved(struct watcher_tree *t, const char *to)
{
	own_mem char *from = take_ptr(&t->moved_path);

	for (size_t i = 0; i < t->count; i++) {
		char **path = &t->directories[i].path, new[WATCH_PATH_SIZE];
		const char *rest = path_below(*path, from);
		char *copy;

		if (!rest)
			continue;
		if (path_join(new, to, rest) < 0) {
			errno = ENOSPC;
			return -1;
		}
		copy = strdup(new);
		if (!copy)
			return -1;
		free(*path);
		*path = copy;
	}
	unwatch_uncovered(t);
	return 0;
}

/* A directory was created in a tree, moved into it, or moved out of it. */
static int
follow_directory(struct watcher_tree *t, const char *directory,
		 const struct inotify_event *e)
{
	char path[WATCH_PATH_SIZE];

	if (path_join(path, directory, e->name) < 0) {
		errno = ENOSPC;
		return -1;
	}
	if (e->mask & IN_MOVED_FROM) {
		t->moved = e->cookie;
		t->moved_path = strdup(path);
		return t->moved_path ? end_moved_watches(t, path) : -1;
	}
	if (e->mask & IN_MOVED_TO && t->moved_path && rename_moved(t, path) < 0)
		return -1;
	if (e->mask & (IN_CREATE | IN_MOVED_TO) && is_covered(t, path))
		return add_tree(t, path, e->mask & IN_CREATE);
	return 0;
}

static int
handle_self(struct watcher_tree *t, const char *directory, uint32_t mask)
{
	/* If the parent is watched, it has reported this already. */
	if (mask & IN_MOVE_SELF)
		return end_moved_watches(t, directory);
	return emit_self(t, directory, kind_of(mask));
}

/* Whether the same happened to the same file just before. */
static bool
is_repeated(struct watcher_tree *t, const struct inotify_event *e)
{
	if (e->mask & IN_MODIFY && t->last.number == e->wd &&
	    t->last.mask == e->mask && !strcmp(t->last.name, e->name))
		return true;
	t->last.number = e->wd;
	t->last.mask = e->mask;
	snprintf(t->last.name, sizeof(t->last.name), "%s",
		 e->len ? e->name : "");
	return false;
}

int
watcher_tree_lose(struct watcher_tree *t)
{
	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (t->watches[i].id &&
		    end_watch(t, &t->watches[i], WATCH_LOST) < 0)
			return -1;
	return 0;
}

static int
handle_event(struct watcher_tree *t, const struct inotify_event *e)
{
	struct watched_directory *d = find_directory(t, e->wd);
	own_mem char *directory = NULL;
	bool was_reported;

	if (e->mask & IN_Q_OVERFLOW)
		return watcher_tree_lose(t);
	if (t->moved_path && t->moved != e->cookie) {
		drop_moved(t);
		d = find_directory(t, e->wd);
	}
	if (!d || (e->len && is_repeated(t, e)))
		return 0;
	if (e->mask & IN_IGNORED) {
		forget_directory(t, (size_t)(d - t->directories));
		return 0;
	}
	/* The array may move below. */
	directory = strdup(d->path);
	if (!directory)
		return -1;
	if (!e->len)
		return handle_self(t, directory, e->mask);
	was_reported =
		was_found(d, e->name) && e->mask & (IN_CREATE | IN_MOVED_TO);
	if (!was_reported &&
	    emit_file(t, directory, e->name, kind_of(e->mask)) < 0)
		return -1;
	if (!(e->mask & IN_ISDIR) || follow_directory(t, directory, e) == 0)
		return 0;
	return errno == ENOSPC ? end_watches(t, directory, WATCH_FULL) : -1;
}

int
watcher_tree_read(struct watcher_tree *t, bool *more)
{
	char bytes[BATCH]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(t->inotify, bytes, sizeof(bytes));

	*more = n > 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	if (n <= 0) {
		forget_found(t);
		drop_moved(t);
		t->last.number = 0;
		return 0;
	}
	for (const char *at = bytes; at < bytes + n;) {
		const struct inotify_event *e =
			(const struct inotify_event *)(const void *)at;

		t->cost++;
		if (handle_event(t, e) < 0)
			return -1;
		at += sizeof(*e) + e->len;
	}
	return 0;
}

/* ---- watches ---- */

/* Whether inotify would see less in this directory than the code does. */
static bool
has_mount(const struct watcher_tree *t, const char *path, unsigned flags)
{
	for (size_t i = 0; i < t->mounts.count; i++)
		if (path_below(path, t->mounts.items[i]) ||
		    (flags & WATCH_RECURSIVE &&
		     path_below(t->mounts.items[i], path)))
			return true;
	return false;
}

/* Each directory must have one path here. */
static bool
climbs(const char *path)
{
	for (; *path; path += strspn(path, "/")) {
		size_t n = strcspn(path, "/");

		if (n <= 2 && !strncmp(path, "..", n))
			return true;
		path += n;
	}
	return false;
}

static struct watcher_watch *
find_watch(struct watcher_tree *t, uint32_t id)
{
	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (t->watches[i].id == id)
			return &t->watches[i];
	return NULL;
}

int
watcher_tree_begin(struct watcher_tree *t, uint32_t id, unsigned flags,
		   const char *path)
{
	struct watcher_watch *w = find_watch(t, 0);
	own_fd int fd = -1;

	if (!id || find_watch(t, id) || !w || climbs(path) ||
	    has_mount(t, path, flags))
		return emit_state(t, id, WATCH_REFUSED, "");
	fd = open_directory(t, path);
	if (fd < 0)
		return emit_state(t, id, WATCH_REFUSED, "");
	*w = (struct watcher_watch){ id, flags, strdup(path) };
	if (!w->path)
		return -1;
	if (add_tree(t, path, false) < 0)
		return errno == ENOSPC ? end_watch(t, w, WATCH_REFUSED) : -1;
	return emit_state(t, id, WATCH_BEGUN, path);
}

int
watcher_tree_stop(struct watcher_tree *t, uint32_t id)
{
	struct watcher_watch *w = id ? find_watch(t, id) : NULL;

	/* If it has ended already, its last event is on the way. */
	return w ? end_watch(t, w, WATCH_STOPPED) : 0;
}

static size_t
kernel_share(void)
{
	own(buf) struct buf text = BUF_INIT(64);
	struct remit_error err;

	if (path_read_file(&text, "/proc/sys/fs/inotify/max_user_watches",
			   &err) < 0)
		return WATCHER_DIRECTORIES_MAX;
	return strtoul(buf_text(&text), NULL, 10) / WATCHER_SHARE;
}

int
watcher_tree_open(struct watcher_tree *t)
{
	size_t share = kernel_share();

	t->directories_max = share < WATCHER_DIRECTORIES_MAX
				     ? share
				     : WATCHER_DIRECTORIES_MAX;
	t->directories =
		calloc(t->directories_max + 1, sizeof(*t->directories));
	if (!t->directories)
		return -1;
	t->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return t->inotify < 0 ? -1 : 0;
}

void
watcher_tree_free(struct watcher_tree *t)
{
	while (t->count)
		forget_directory(t, t->count - 1);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		free(t->watches[i].path);
	free(t->moved_path);
	free(t->directories);
	list_free(&t->mounts);
	own_fd_close(&t->inotify);
	own_fd_close(&t->workspace);
	*t = (struct watcher_tree)WATCHER_TREE_INIT;
}

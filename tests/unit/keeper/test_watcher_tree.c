/* watcher_tree: what happens in watched directories, as the kernel reports it
   to a watcher of a directory of this test. */
#include "keeper/watcher/tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	char path[64];
	int place; /* the workspace */
	struct watcher_tree tree;
	struct buf text;     /* the events so far */
	bool fails;	     /* events cannot be sent */
	int64_t modified_ns; /* of the last event */
};

static const char *const kinds[WATCH_KINDS] = {
	[WATCH_CREATED] = "created", [WATCH_WRITTEN] = "written",
	[WATCH_REMOVED] = "removed", [WATCH_RENAMED] = "renamed",
	[WATCH_CHANGED] = "changed", [WATCH_BEGUN] = "BEGUN",
	[WATCH_REFUSED] = "REFUSED", [WATCH_STOPPED] = "STOPPED",
	[WATCH_LOST] = "LOST",	     [WATCH_FULL] = "FULL",
};

static int
note(void *user, const struct watch_event *e)
{
	struct world *w = user;

	if (w->fails)
		return -1;
	w->modified_ns = e->entry.modified_ns;
	return buf_addf(&w->text, "%u %s %.*s%s%.*s\n", e->id, kinds[e->kind],
			(int)e->name_len, e->name, e->has_entry ? " = " : "",
			e->has_entry ? (int)e->target_len : 0, e->target);
}

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->path, "/tmp/remit-watcher-XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->place = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->text = (struct buf)BUF_INIT(1 << 24);
	w->tree = (struct watcher_tree)WATCHER_TREE_INIT;
	w->tree.workspace = dup(w->place);
	w->tree.emit = note;
	w->tree.user = w;
	assert_int_equal(watcher_tree_open(&w->tree), 0);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;
	char command[128];

	watcher_tree_free(&w->tree);
	buf_free(&w->text);
	close(w->place);
	snprintf(command, sizeof(command), "rm -rf %s", w->path);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void
drain(struct world *w)
{
	bool more = true;

	while (more)
		assert_int_equal(watcher_tree_read(&w->tree, &more), 0);
}

#define expect(w, wanted)                                            \
	do {                                                         \
		drain(w);                                            \
		assert_string_equal(buf_text(&(w)->text), (wanted)); \
		(w)->text.len = 0;                                   \
		if ((w)->text.data)                                  \
			(w)->text.data[0] = '\0';                    \
	} while (0)

static void
begin(struct world *w, uint32_t id, unsigned flags, const char *path)
{
	assert_int_equal(watcher_tree_begin(&w->tree, id, flags, path), 0);
}

static void
write_file(struct world *w, const char *path, const char *text)
{
	int fd = openat(w->place, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
make(struct world *w, const char *path)
{
	assert_int_equal(mkdirat(w->place, path, 0755), 0);
}

static void
move(struct world *w, const char *from, const char *to)
{
	assert_int_equal(renameat(w->place, from, w->place, to), 0);
}

static void
each_change_is_an_event(void **state)
{
	struct world *w = *state;

	begin(w, 1, 0, "");
	expect(w, "1 BEGUN \n");
	write_file(w, "f", "x");
	assert_int_equal(fchmodat(w->place, "f", 0600, 0), 0);
	move(w, "f", "g");
	unlinkat(w->place, "g", 0);
	expect(w, "1 created f\n1 written f\n1 changed f\n1 renamed f\n"
		  "1 created g\n1 removed g\n");
}

static void
repeated_writes_are_one_event(void **state)
{
	struct world *w = *state;

	begin(w, 1, 0, "");
	for (int i = 0; i < 1000; i++)
		write_file(w, "f", "x");
	write_file(w, "g", "x");
	write_file(w, "f", "x");
	expect(w, "1 BEGUN \n1 created f\n1 written f\n1 created g\n"
		  "1 written g\n1 written f\n");
}

static void
only_recursive_watch_reports_nested_files(void **state)
{
	struct world *w = *state;

	make(w, "d");
	make(w, "d/e");
	begin(w, 1, 0, "");
	begin(w, 2, WATCH_RECURSIVE, "");
	begin(w, 3, 0, "d/e");
	write_file(w, "d/e/f", "");
	write_file(w, "d/g", "");
	expect(w, "1 BEGUN \n2 BEGUN \n3 BEGUN d/e\n2 created d/e/f\n"
		  "3 created f\n2 created d/g\n");
}

static void
new_directory_is_watched_with_its_files(void **state)
{
	struct world *w = *state;

	begin(w, 1, WATCH_RECURSIVE, "");
	make(w, "d");
	make(w, "d/e");
	write_file(w, "d/e/f", "x");
	/* These files exist before anything in `d` can be watched. */
	expect(w, "1 BEGUN \n1 created d\n1 created d/e\n1 created d/e/f\n"
		  "1 written d/e/f\n");
	write_file(w, "d/e/f", "y");
	expect(w, "1 written d/e/f\n");
}

/* Between the watch and the first look into the directory, a file can be made:
   inotify reports it, and so does the look. */
static void
file_found_and_reported_is_one_event(void **state)
{
	struct world *w = *state;
	struct watched_directory *d;

	make(w, "d");
	begin(w, 1, WATCH_RECURSIVE, "");
	expect(w, "1 BEGUN \n");
	write_file(w, "d/f", "");
	write_file(w, "d/g", "");
	for (size_t i = 0; i < w->tree.count; i++) {
		d = &w->tree.directories[i];
		if (!strcmp(d->path, "d"))
			assert_int_equal(list_add(&d->found, "f"), 0);
	}
	expect(w, "1 created d/g\n");
	unlinkat(w->place, "d/f", 0);
	write_file(w, "d/f", "");
	expect(w, "1 removed d/f\n1 created d/f\n");
}

static void
moved_directory_is_watched_at_its_new_path(void **state)
{
	struct world *w = *state;

	make(w, "d");
	make(w, "d/e");
	make(w, "out");
	begin(w, 1, WATCH_RECURSIVE, "");
	expect(w, "1 BEGUN \n");
	move(w, "d", "n");
	write_file(w, "n/e/f", "");
	expect(w, "1 renamed d\n1 created n\n1 created n/e/f\n");
	assert_int_equal(watcher_tree_stop(&w->tree, 1), 0);
	assert_int_equal(w->tree.count, 0);
	begin(w, 2, WATCH_RECURSIVE, "n");
	expect(w, "1 STOPPED \n2 BEGUN n\n");
	move(w, "n/e", "out/e");
	write_file(w, "out/e/g", "");
	expect(w, "2 renamed e\n");
	assert_int_equal(w->tree.count, 1);
}

static void
watch_of_moved_directory_ends(void **state)
{
	struct world *w = *state;

	make(w, "d");
	make(w, "d/e");
	begin(w, 1, 0, "d");
	begin(w, 2, WATCH_RECURSIVE, "");
	begin(w, 3, 0, "d/e");
	expect(w, "1 BEGUN d\n2 BEGUN \n3 BEGUN d/e\n");
	move(w, "d", "n");
	expect(w, "2 renamed d\n1 renamed .\n1 LOST \n3 LOST \n2 created n\n");
	write_file(w, "n/f", "");
	expect(w, "2 created n/f\n");
}

static void
removed_directory_reports_itself(void **state)
{
	struct world *w = *state;

	make(w, "d");
	begin(w, 1, 0, "d");
	unlinkat(w->place, "d", AT_REMOVEDIR);
	expect(w, "1 BEGUN d\n1 removed .\n");
	assert_int_equal(w->tree.count, 0);
}

static void
links_are_neither_watched_nor_followed(void **state)
{
	struct world *w = *state;

	make(w, "d");
	assert_int_equal(symlinkat("/tmp", w->place, "out"), 0);
	assert_int_equal(symlinkat("d", w->place, "in"), 0);
	begin(w, 1, 0, "out");
	begin(w, 2, 0, "in");
	begin(w, 3, 0, "d/..");
	begin(w, 4, 0, "../..");
	begin(w, 5, 0, "/tmp");
	begin(w, 6, 0, "nothing");
	begin(w, 7, WATCH_RECURSIVE, "");
	expect(w, "1 REFUSED \n2 REFUSED \n3 REFUSED \n4 REFUSED \n"
		  "5 REFUSED \n6 REFUSED \n7 BEGUN \n");
	assert_int_equal(w->tree.count, 2);
}

static void
mounted_directory_is_refused(void **state)
{
	struct world *w = *state;

	make(w, "a");
	make(w, "a/m");
	make(w, "am");
	assert_int_equal(list_add(&w->tree.mounts, "a/m"), 0);
	begin(w, 1, 0, "a/m");
	begin(w, 2, WATCH_RECURSIVE, "a");
	begin(w, 3, WATCH_RECURSIVE, "");
	begin(w, 4, 0, "a");
	begin(w, 5, WATCH_RECURSIVE, "am");
	expect(w, "1 REFUSED \n2 REFUSED \n3 REFUSED \n4 BEGUN a\n"
		  "5 BEGUN am\n");
}

static void
event_describes_its_file_on_request(void **state)
{
	struct world *w = *state;

	begin(w, 1, WATCH_DESCRIBES, "");
	begin(w, 2, 0, "");
	expect(w, "1 BEGUN \n2 BEGUN \n");
	assert_int_equal(symlinkat("nowhere", w->place, "l"), 0);
	expect(w, "1 created l = nowhere\n2 created l\n");
	unlinkat(w->place, "l", 0);
	expect(w, "1 removed l\n2 removed l\n");
}

static void
time_that_does_not_fit_is_the_latest(void **state)
{
	struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	struct world *w = *state;
	struct stat st;

	write_file(w, "f", "");
	begin(w, 1, WATCH_DESCRIBES, "");
	assert_int_equal(utimensat(w->place, "f", times, 0), 0);
	drain(w);
	assert_int_equal(w->modified_ns, INT64_C(5000000000));
	times[1].tv_sec = INT64_MAX / 4;
	assert_int_equal(utimensat(w->place, "f", times, 0), 0);
	assert_int_equal(fstatat(w->place, "f", &st, 0), 0);
	/* Some filesystems cannot keep it. */
	if (st.st_mtim.tv_sec <= INT64_MAX / 1000000000)
		skip();
	drain(w);
	assert_int_equal(w->modified_ns, INT64_MAX);
}

static void
too_many_directories_end_the_watch(void **state)
{
	struct world *w = *state;
	char name[16];

	w->tree.directories_max = 4;
	begin(w, 1, WATCH_RECURSIVE, "");
	begin(w, 2, 0, "");
	expect(w, "1 BEGUN \n2 BEGUN \n");
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make(w, name);
	}
	drain(w);
	assert_non_null(strstr(buf_text(&w->text), "1 FULL"));
	w->text.len = 0;
	begin(w, 3, WATCH_RECURSIVE, "");
	expect(w, "3 REFUSED \n");
}

static void
lost_events_end_all_watches(void **state)
{
	struct world *w = *state;

	make(w, "d");
	begin(w, 1, WATCH_RECURSIVE, "");
	begin(w, 2, 0, "d");
	assert_int_equal(watcher_tree_lose(&w->tree), 0);
	expect(w, "1 BEGUN \n2 BEGUN d\n1 LOST \n2 LOST \n");
	assert_int_equal(w->tree.count, 0);
	/* What the kernel still reports has no meaning any more. */
	write_file(w, "d/f", "");
	begin(w, 3, 0, "d");
	expect(w, "3 BEGUN d\n");
}

/* The kernel's queue is finite. */
static void
overflow_of_the_queue_is_reported(void **state)
{
	struct world *w = *state;
	char name[16];
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	int most = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &most), 1);
	fclose(f);
	if (most > 100000)
		skip();
	begin(w, 1, 0, "");
	for (int i = 0; i < most; i++) {
		snprintf(name, sizeof(name), "%d", i % 2);
		write_file(w, name, "x");
	}
	drain(w);
	assert_non_null(strstr(buf_text(&w->text), "1 LOST"));
}

static void
watches_are_limited_in_number(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 1; i <= WATCHES_MAX; i++)
		begin(w, i, 0, "");
	w->text.len = 0;
	begin(w, 99, 0, "");
	expect(w, "99 REFUSED \n");
	assert_int_equal(watcher_tree_stop(&w->tree, 5), 0);
	begin(w, 7, 0, ""); /* this id is in use */
	begin(w, 5, 0, "");
	expect(w, "5 STOPPED \n7 REFUSED \n5 BEGUN \n");
}

static void
event_that_cannot_be_sent_ends_the_watcher(void **state)
{
	struct world *w = *state;
	bool more;

	begin(w, 1, 0, "");
	w->fails = true;
	write_file(w, "f", "");
	assert_int_equal(watcher_tree_read(&w->tree, &more), -1);
}

#define test(name) \
	cmocka_unit_test_setup_teardown(name, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(each_change_is_an_event),
		test(repeated_writes_are_one_event),
		test(only_recursive_watch_reports_nested_files),
		test(new_directory_is_watched_with_its_files),
		test(file_found_and_reported_is_one_event),
		test(moved_directory_is_watched_at_its_new_path),
		test(watch_of_moved_directory_ends),
		test(removed_directory_reports_itself),
		test(links_are_neither_watched_nor_followed),
		test(mounted_directory_is_refused),
		test(event_describes_its_file_on_request),
		test(time_that_does_not_fit_is_the_latest),
		test(too_many_directories_end_the_watch),
		test(lost_events_end_all_watches),
		test(overflow_of_the_queue_is_reported),
		test(watches_are_limited_in_number),
		test(event_that_cannot_be_sent_ends_the_watcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

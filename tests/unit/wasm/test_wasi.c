/*
 * The system interface gets hostile addresses, lengths, counts, descriptors and
 * paths from its guest.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"
#include "wasm/wasi.h"

/* The guest's memory is followed by a page that cannot be accessed, so a check
   that is off by one byte crashes the test. */
#define MEMORY ((uint32_t)65536)
#define GUARD  ((size_t)4096)

/* The places of arguments and results in the memory. */
#define TEXT   ((uint32_t)1024)
#define TEXT_2 ((uint32_t)8192)
#define LIST   ((uint32_t)16384)
#define OUT    ((uint32_t)20480)
#define BUFFER ((uint32_t)32768)

struct fixture {
	struct wasi wasi;
	char root[64];
	int root_fd;
};

static char *const arguments[] = { "remit-wasm", "-I", NULL };
static char *const environment[] = { "PWD=/workspace", NULL };

static void
run(const char *root, const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", root, command);
	assert_int_equal(system(line), 0); /* NOLINT */
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	void *memory = mmap(NULL, MEMORY + GUARD, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_non_null(f);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory, MEMORY, PROT_READ | PROT_WRITE), 0);
	strcpy(f->root, "/tmp/test_wasi.XXXXXX");
	assert_non_null(mkdtemp(f->root));
	run(f->root, "mkdir -p root/dir/sub && echo secret > outside && "
		     "echo text > root/file && echo inner > root/dir/file && "
		     "ln -s /file root/absolute && ln -s ../outside root/up && "
		     "ln -s ../file root/dir/up && ln -s /file root/dir/top && "
		     "ln -s loop root/loop");
	snprintf(f->root + strlen(f->root), 16, "/root");
	f->root_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	f->wasi = (struct wasi){
		.memory = memory,
		.memory_bytes = MEMORY,
		.argv = arguments,
		.env = environment,
	};
	assert_int_equal(wasi_init(&f->wasi, 16, -1, f->root_fd), 0);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	wasi_free(&f->wasi);
	close(f->root_fd);
	munmap(f->wasi.memory, MEMORY + GUARD);
	/* The directory above the root, which has "outside". */
	run(f->root, "rm -rf \"$(dirname \"$PWD\")\"");
	free(f);
	return 0;
}

static struct wasi *
wasi_of(void **state)
{
	return &((struct fixture *)*state)->wasi;
}

static uint32_t
put_text(struct wasi *w, uint32_t at, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	memcpy(w->memory + at, text, len);
	return len;
}

static void
put_iov(struct wasi *w, uint32_t i, uint32_t base, uint32_t len)
{
	memcpy(w->memory + LIST + (size_t)i * 8, &base, 4);
	memcpy(w->memory + LIST + (size_t)i * 8 + 4, &len, 4);
}

static uint32_t
out32(struct wasi *w)
{
	uint32_t value;

	memcpy(&value, w->memory + OUT, 4);
	return value;
}

static uint64_t
out64(struct wasi *w, uint32_t at)
{
	uint64_t value;

	memcpy(&value, w->memory + at, 8);
	return value;
}

static uint32_t
open_with(struct wasi *w, uint32_t fd, const char *path, uint32_t flags,
	  uint32_t oflags, uint64_t rights)
{
	return wasi_path_open(w, fd, flags, TEXT, put_text(w, TEXT, path),
			      oflags, rights, WASI_RIGHTS_ALL, 0, OUT);
}

#define FOLLOW	  1
#define CREATE	  1
#define DIRECTORY 2

static uint32_t
open_reading(struct wasi *w, uint32_t fd, const char *path)
{
	return open_with(w, fd, path, FOLLOW, 0,
			 WASI_RIGHTS_ALL & ~WASI_RIGHT_WRITE &
				 ~WASI_RIGHT_DATASYNC & ~WASI_RIGHT_ALLOCATE &
				 ~WASI_RIGHT_SET_SIZE);
}

/* The number of an opened descriptor. */
static uint32_t
opened(struct wasi *w, uint32_t fd, const char *path)
{
	assert_int_equal(open_reading(w, fd, path), WASI_OK);
	return out32(w);
}

/* How many descriptors this process has. */
static int
count_host_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* ---- memory ---- */

static void
span_ends_with_the_memory(void **state)
{
	struct wasi *w = wasi_of(state);

	assert_non_null(wasi_span(w, 0, MEMORY));
	assert_non_null(wasi_span(w, MEMORY, 0));
	assert_non_null(wasi_span(w, MEMORY - 4, 4));
	assert_null(wasi_span(w, MEMORY - 3, 4));
	assert_null(wasi_span(w, MEMORY + 1, 0));
	assert_null(wasi_span(w, UINT32_MAX, UINT32_MAX));
	assert_null(wasi_span(w, 8, UINT64_MAX - 4));
	assert_null(wasi_span(w, 16, UINT64_C(48) * UINT32_MAX));
	w->memory_bytes = UINT64_C(65535) << 16;
	assert_null(wasi_span(w, UINT32_MAX - 1, 4));
	assert_null(wasi_span(w, UINT32_MAX, 2));
	w->memory_bytes = MEMORY;
}

/* A result for which there is no room is refused before anything happens. */
static void
results_outside_of_the_memory_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	const uint32_t bad[] = { MEMORY, MEMORY - 3, UINT32_MAX,
				 UINT32_MAX - 3 };
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");
	uint32_t dir = opened(w, WASI_FD_ROOT, "dir");
	uint32_t len = put_text(w, TEXT, "absolute");
	int before = count_host_fds();

	put_iov(w, 0, BUFFER, 4);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint32_t at = bad[i];

		assert_int_equal(wasi_args_sizes_get(w, at, OUT), WASI_FAULT);
		assert_int_equal(wasi_args_sizes_get(w, OUT, at), WASI_FAULT);
		assert_int_equal(wasi_args_get(w, at, BUFFER), WASI_FAULT);
		assert_int_equal(wasi_args_get(w, OUT, at), WASI_FAULT);
		assert_int_equal(wasi_environ_get(w, at, BUFFER), WASI_FAULT);
		assert_int_equal(wasi_environ_sizes_get(w, at, OUT),
				 WASI_FAULT);
		assert_int_equal(wasi_clock_res_get(w, 0, at), WASI_FAULT);
		assert_int_equal(wasi_clock_time_get(w, 0, 0, at), WASI_FAULT);
		assert_int_equal(wasi_random_get(w, at, 4), WASI_FAULT);
		assert_int_equal(wasi_poll_oneoff(w, at, OUT, 1, OUT),
				 WASI_FAULT);
		assert_int_equal(wasi_poll_oneoff(w, LIST, at, 1, OUT),
				 WASI_FAULT);
		assert_int_equal(wasi_poll_oneoff(w, LIST, OUT, 1, at),
				 WASI_FAULT);
		assert_int_equal(wasi_fd_read(w, fd, LIST, 1, at), WASI_FAULT);
		assert_int_equal(wasi_fd_read(w, fd, at, 1, OUT), WASI_FAULT);
		assert_int_equal(wasi_fd_pread(w, fd, LIST, 1, 0, at),
				 WASI_FAULT);
		assert_int_equal(wasi_fd_write(w, 1, LIST, 1, at), WASI_FAULT);
		assert_int_equal(wasi_fd_write(w, 1, at, 1, OUT), WASI_FAULT);
		assert_int_equal(wasi_fd_seek(w, fd, 0, 1, at), WASI_FAULT);
		assert_int_equal(wasi_fd_tell(w, fd, at), WASI_FAULT);
		assert_int_equal(wasi_fd_fdstat_get(w, fd, at), WASI_FAULT);
		assert_int_equal(wasi_fd_filestat_get(w, fd, at), WASI_FAULT);
		assert_int_equal(wasi_fd_prestat_get(w, 4, at), WASI_FAULT);
		assert_int_equal(wasi_fd_prestat_dir_name(w, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_fd_readdir(w, dir, at, 4, 0, OUT),
				 WASI_FAULT);
		assert_int_equal(wasi_fd_readdir(w, dir, BUFFER, 64, 0, at),
				 WASI_FAULT);
		assert_int_equal(
			wasi_path_open(w, 4, 0, TEXT, len, 0, 0, 0, 0, at),
			WASI_FAULT);
		assert_int_equal(
			wasi_path_open(w, 4, 0, at, 4, 0, 0, 0, 0, OUT),
			WASI_FAULT);
		assert_int_equal(wasi_path_filestat_get(w, 4, 0, TEXT, len, at),
				 WASI_FAULT);
		assert_int_equal(wasi_path_filestat_get(w, 4, 0, at, 4, OUT),
				 WASI_FAULT);
		assert_int_equal(
			wasi_path_readlink(w, 4, TEXT, len, at, 4, OUT),
			WASI_FAULT);
		assert_int_equal(
			wasi_path_readlink(w, 4, TEXT, len, BUFFER, 4, at),
			WASI_FAULT);
		assert_int_equal(wasi_path_symlink(w, at, 4, 4, TEXT, 3),
				 WASI_FAULT);
		assert_int_equal(wasi_path_symlink(w, TEXT, 4, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_path_create_directory(w, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_path_remove_directory(w, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_path_unlink_file(w, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_path_rename(w, 4, at, 4, 4, TEXT, len),
				 WASI_FAULT);
		assert_int_equal(wasi_path_rename(w, 4, TEXT, len, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(wasi_path_link(w, 4, 0, TEXT, len, 4, at, 4),
				 WASI_FAULT);
		assert_int_equal(
			wasi_path_filestat_set_times(w, 4, 0, at, 4, 0, 0, 0),
			WASI_FAULT);
	}
	assert_int_equal(count_host_fds(), before);
}

static void
counts_that_overflow_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	/* Times 8, 48 and 32, each is a small number in 32 bits. */
	const uint32_t counts[] = { UINT32_C(0x20000001), UINT32_C(0x08000001),
				    UINT32_C(0x15555556), UINT32_MAX };
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");

	put_iov(w, 0, BUFFER, 4);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		assert_int_equal(wasi_fd_read(w, fd, LIST, counts[i], OUT),
				 WASI_FAULT);
		assert_int_equal(wasi_fd_write(w, 1, LIST, counts[i], OUT),
				 WASI_FAULT);
		assert_int_equal(
			wasi_poll_oneoff(w, LIST, BUFFER, counts[i], OUT),
			WASI_FAULT);
	}
}

static void
parts_outside_of_the_memory_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");

	put_iov(w, 0, BUFFER, 2);
	put_iov(w, 1, MEMORY - 2, 3);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 2, OUT), WASI_FAULT);
	put_iov(w, 1, UINT32_MAX, UINT32_MAX);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 2, OUT), WASI_FAULT);
	/* An empty part is checked, too. */
	put_iov(w, 1, UINT32_MAX, 0);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 2, OUT), WASI_FAULT);
	put_iov(w, 1, MEMORY - 2, 2);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 2, OUT), WASI_OK);
	assert_int_equal(out32(w), 4);
	assert_memory_equal(w->memory + BUFFER, "te", 2);
	assert_memory_equal(w->memory + MEMORY - 2, "xt", 2);
}

/* More parts than are transferred at once: the rest is left for the next call,
   and empty parts do not look like the end of the file. */
static void
many_parts_are_a_short_read(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");

	for (uint32_t i = 0; i < 400; i++)
		put_iov(w, i, BUFFER + i, i < 200 ? 0 : 1);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 400, OUT), WASI_OK);
	assert_int_equal(out32(w), 5);
	assert_memory_equal(w->memory + BUFFER + 200, "text\n", 5);
}

static void
directory_entries_never_leave_the_buffer(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t dir = opened(w, WASI_FD_ROOT, "dir");

	for (uint32_t len = 0; len < 300; len++) {
		uint32_t at = MEMORY - len;

		assert_int_equal(wasi_fd_readdir(w, dir, at, len, 0, OUT),
				 WASI_OK);
		assert_true(out32(w) <= len);
	}
	assert_int_equal(wasi_fd_readdir(w, dir, BUFFER, 64, UINT64_MAX, OUT),
			 WASI_INVAL);
}

/* ---- descriptors ---- */

static void
descriptors_that_are_not_open_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	/* 3 has no channel in this test; 5 and 15 are free; 16 is the size of
	   the table. */
	const uint32_t bad[] = { 3, 5, 15, 16, 255, UINT32_MAX, 0x80000000u };

	put_iov(w, 0, BUFFER, 4);
	put_text(w, TEXT, "file");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint32_t fd = bad[i];

		assert_int_equal(wasi_fd_close(w, fd), WASI_BADF);
		assert_int_equal(wasi_fd_read(w, fd, LIST, 1, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_write(w, fd, LIST, 1, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_sync(w, fd), WASI_BADF);
		assert_int_equal(wasi_fd_datasync(w, fd), WASI_BADF);
		assert_int_equal(wasi_fd_advise(w, fd, 0, 0, 0), WASI_BADF);
		assert_int_equal(wasi_fd_tell(w, fd, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_seek(w, fd, 0, 0, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_fdstat_get(w, fd, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_fdstat_set_flags(w, fd, 0), WASI_BADF);
		assert_int_equal(wasi_fd_fdstat_set_rights(w, fd, 0, 0),
				 WASI_BADF);
		assert_int_equal(wasi_fd_filestat_get(w, fd, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_filestat_set_size(w, fd, 0),
				 WASI_BADF);
		assert_int_equal(wasi_fd_filestat_set_times(w, fd, 0, 0, 0),
				 WASI_BADF);
		assert_int_equal(wasi_fd_prestat_get(w, fd, OUT), WASI_BADF);
		assert_int_equal(wasi_fd_prestat_dir_name(w, fd, OUT, 1),
				 WASI_BADF);
		assert_int_equal(wasi_fd_readdir(w, fd, BUFFER, 64, 0, OUT),
				 WASI_BADF);
		assert_int_equal(wasi_fd_renumber(w, fd, 4), WASI_BADF);
		assert_int_equal(wasi_fd_renumber(w, 4, fd), WASI_BADF);
		assert_int_equal(
			wasi_path_open(w, fd, 0, TEXT, 4, 0, 0, 0, 0, OUT),
			WASI_BADF);
		assert_int_equal(wasi_path_unlink_file(w, fd, TEXT, 4),
				 WASI_BADF);
	}
}

static void
files_are_no_directories(void **state)
{
	struct wasi *w = wasi_of(state);

	/* A stream has no right to open; give it all. */
	w->fds[0].rights = w->fds[0].inheriting = WASI_RIGHTS_ALL;
	assert_int_equal(open_reading(w, 0, "file"), WASI_NOTDIR);
}

static void
descriptors_are_limited(void **state)
{
	struct wasi *w = wasi_of(state);
	int before = count_host_fds();

	for (int i = 0; i < 12; i++) /* 3 is free as well */
		opened(w, WASI_FD_ROOT, "file");
	assert_int_equal(open_reading(w, WASI_FD_ROOT, "file"), WASI_MFILE);
	assert_int_equal(count_host_fds(), before + 12);
	assert_int_equal(wasi_fd_close(w, 7), WASI_OK);
	assert_int_equal(wasi_fd_close(w, 7), WASI_BADF);
	assert_int_equal(opened(w, WASI_FD_ROOT, "file"), 7);
}

static void
rights_only_shrink(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t dir = opened(w, WASI_FD_ROOT, "dir");
	uint32_t fd;

	assert_int_equal(wasi_fd_fdstat_set_rights(w, dir, WASI_RIGHT_OPEN,
						   WASI_RIGHT_READ),
			 WASI_OK);
	assert_int_equal(wasi_fd_fdstat_set_rights(w, dir, WASI_RIGHTS_ALL, 0),
			 WASI_NOTCAPABLE);
	assert_int_equal(open_with(w, dir, "file", FOLLOW, 0, WASI_RIGHTS_ALL),
			 WASI_OK);
	fd = out32(w);
	put_iov(w, 0, BUFFER, 4);
	assert_int_equal(wasi_fd_read(w, fd, LIST, 1, OUT), WASI_OK);
	assert_int_equal(wasi_fd_write(w, fd, LIST, 1, OUT), WASI_NOTCAPABLE);
	assert_int_equal(wasi_fd_filestat_set_size(w, fd, 0), WASI_NOTCAPABLE);
	assert_int_equal(open_with(w, dir, "new", 0, CREATE, WASI_RIGHTS_ALL),
			 WASI_NOTCAPABLE);
	put_text(w, TEXT, "file");
	assert_int_equal(wasi_path_unlink_file(w, dir, TEXT, 4),
			 WASI_NOTCAPABLE);
}

static void
renumbered_descriptor_replaces_the_other(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t a = opened(w, WASI_FD_ROOT, "file");
	uint32_t b = opened(w, WASI_FD_ROOT, "dir/file");
	int before = count_host_fds();

	assert_int_equal(wasi_fd_renumber(w, a, a), WASI_OK);
	assert_int_equal(wasi_fd_renumber(w, b, a), WASI_OK);
	assert_int_equal(count_host_fds(), before - 1);
	put_iov(w, 0, BUFFER, 5);
	assert_int_equal(wasi_fd_read(w, a, LIST, 1, OUT), WASI_OK);
	assert_memory_equal(w->memory + BUFFER, "inner", 5);
	assert_int_equal(wasi_fd_close(w, b), WASI_BADF);
}

static void
channel_is_not_offered_as_a_directory(void **state)
{
	struct wasi *w = wasi_of(state);

	w->fds[WASI_FD_CHANNEL] =
		(struct wasi_fd){ WASI_CHANNEL, dup(0), w->fds[0].rights, 0 };
	assert_int_equal(wasi_fd_prestat_get(w, 3, OUT), WASI_OK);
	assert_int_not_equal(w->memory[OUT], 0);
	assert_int_equal(wasi_fd_prestat_dir_name(w, 3, OUT, 1), WASI_BADF);
	assert_int_equal(wasi_fd_prestat_get(w, 4, OUT), WASI_OK);
	assert_int_equal(w->memory[OUT], 0);
	assert_int_equal(wasi_fd_prestat_dir_name(w, 4, OUT, 1), WASI_OK);
	assert_int_equal(w->memory[OUT], '/');
	assert_int_equal(wasi_fd_prestat_dir_name(w, 4, OUT, 0),
			 WASI_NAMETOOLONG);
	assert_int_equal(open_reading(w, 3, "file"), WASI_NOTCAPABLE);
	assert_int_equal(wasi_fd_close(w, 3), WASI_OK);
}

/* ---- paths ---- */

static void
paths_stay_in_the_root(void **state)
{
	struct wasi *w = wasi_of(state);
	static const char *const inside[] = {
		"file",
		"/file",
		"absolute",
		"../file",
		"../../file",
		"dir/../../../file",
		"/../dir/../file",
		"dir/top",
		"//file",
	};

	put_iov(w, 0, BUFFER, 4);
	for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
		uint32_t fd = opened(w, WASI_FD_ROOT, inside[i]);

		assert_int_equal(wasi_fd_read(w, fd, LIST, 1, OUT), WASI_OK);
		assert_memory_equal(w->memory + BUFFER, "text", 4);
		assert_int_equal(wasi_fd_close(w, fd), WASI_OK);
	}
	/* The link leads to "outside" above the root, where it is. */
	assert_int_equal(open_reading(w, WASI_FD_ROOT, "up"), WASI_NOENT);
	assert_int_equal(open_reading(w, WASI_FD_ROOT, "../outside"),
			 WASI_NOENT);
	assert_int_equal(open_reading(w, WASI_FD_ROOT, "loop"), WASI_LOOP);
}

static void
paths_stay_in_a_directory(void **state)
{
	struct wasi *w = wasi_of(state);
	static const char *const outside[] = {
		"../file", "/file", "up", "top", "sub/../../file", ".."
	};
	uint32_t dir = opened(w, WASI_FD_ROOT, "dir");

	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		uint32_t len = put_text(w, TEXT, outside[i]);

		assert_int_equal(open_reading(w, dir, outside[i]),
				 WASI_NOTCAPABLE);
		assert_int_equal(
			wasi_path_filestat_get(w, dir, FOLLOW, TEXT, len, OUT),
			WASI_NOTCAPABLE);
	}
	assert_int_equal(open_reading(w, dir, "sub/../file"), WASI_OK);
}

/* Calls that change a directory do not follow a path out of it. */
static void
changes_stay_in_a_directory(void **state)
{
	struct wasi *w = wasi_of(state);
	struct fixture *f = *state;
	uint32_t dir = opened(w, WASI_FD_ROOT, "dir");
	uint32_t out = put_text(w, TEXT, "../file");
	uint32_t in = put_text(w, TEXT_2, "file");

	assert_int_equal(wasi_path_unlink_file(w, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_remove_directory(w, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_create_directory(w, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_rename(w, dir, TEXT, out, dir, TEXT_2, in),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_rename(w, dir, TEXT_2, in, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_link(w, dir, 0, TEXT, out, dir, TEXT_2, in),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_link(w, dir, 0, TEXT_2, in, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(
		wasi_path_link(w, dir, FOLLOW, TEXT_2, in, dir, TEXT_2, in),
		WASI_INVAL);
	assert_int_equal(wasi_path_symlink(w, TEXT_2, in, dir, TEXT, out),
			 WASI_NOTCAPABLE);
	assert_int_equal(wasi_path_readlink(w, dir, TEXT, out, BUFFER, 64, OUT),
			 WASI_NOTCAPABLE);
	assert_int_equal(
		wasi_path_filestat_set_times(w, dir, 0, TEXT, out, 0, 0, 5),
		WASI_NOTCAPABLE);
	run(f->root, "test -f file && test -f dir/file && test ! -e ../new");
}

static void
names_that_leave_their_directory_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	static const char *const names[] = { ".", "..", "dir/..",   "dir/.",
					     "/", "//", "dir/../.." };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		uint32_t len = put_text(w, TEXT, names[i]);

		assert_int_equal(wasi_path_unlink_file(w, 4, TEXT, len),
				 WASI_INVAL);
		assert_int_equal(wasi_path_remove_directory(w, 4, TEXT, len),
				 WASI_INVAL);
		assert_int_equal(wasi_path_create_directory(w, 4, TEXT, len),
				 WASI_INVAL);
	}
}

static void
malformed_paths_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);

	memcpy(w->memory + TEXT, "file\0x", 6);
	assert_int_equal(wasi_path_open(w, 4, 0, TEXT, 6, 0, 0, 0, 0, OUT),
			 WASI_INVAL);
	assert_int_equal(wasi_path_symlink(w, TEXT, 6, 4, TEXT, 3), WASI_INVAL);
	assert_int_equal(wasi_path_open(w, 4, 0, TEXT, 0, 0, 0, 0, 0, OUT),
			 WASI_NOENT);
	memset(w->memory + TEXT_2, 'a', 5000);
	for (uint32_t len = 256; len <= 5000; len += 593)
		assert_int_equal(
			wasi_path_open(w, 4, 0, TEXT_2, len, 0, 0, 0, 0, OUT),
			WASI_NAMETOOLONG);
	assert_int_equal(wasi_path_symlink(w, TEXT_2, 5000, 4, TEXT, 3),
			 WASI_NAMETOOLONG);
	assert_int_equal(wasi_path_open(w, 4, 0, 0, MEMORY, 0, 0, 0, 0, OUT),
			 WASI_NAMETOOLONG);
}

static void
unknown_flags_are_refused(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");

	put_text(w, TEXT, "file");
	assert_int_equal(wasi_path_open(w, 4, 2, TEXT, 4, 0, 0, 0, 0, OUT),
			 WASI_INVAL);
	assert_int_equal(wasi_path_open(w, 4, 0, TEXT, 4, 16, 0, 0, 0, OUT),
			 WASI_INVAL);
	assert_int_equal(wasi_path_open(w, 4, 0, TEXT, 4, 0, 0, 0, 32, OUT),
			 WASI_INVAL);
	assert_int_equal(wasi_path_filestat_get(w, 4, 2, TEXT, 4, OUT),
			 WASI_INVAL);
	assert_int_equal(wasi_fd_seek(w, fd, 0, 3, OUT), WASI_INVAL);
	assert_int_equal(wasi_fd_seek(w, fd, (uint64_t)-1, 0, OUT), WASI_INVAL);
	assert_int_equal(wasi_fd_advise(w, fd, 0, 0, 6), WASI_INVAL);
	assert_int_equal(wasi_clock_time_get(w, 4, 0, OUT), WASI_INVAL);
	put_iov(w, 0, BUFFER, 1);
	assert_int_equal(wasi_fd_pread(w, fd, LIST, 1, UINT64_MAX, OUT),
			 WASI_INVAL);
	/* Both "this time" and "now". */
	assert_int_equal(wasi_fd_filestat_set_times(w, fd, 0, 0, 3),
			 WASI_INVAL);
}

/* ---- what works ---- */

static void
files_are_written_and_listed(void **state)
{
	struct wasi *w = wasi_of(state);
	struct fixture *f = *state;
	uint32_t fd, dir;

	assert_int_equal(
		open_with(w, WASI_FD_ROOT, "new", 0, CREATE, WASI_RIGHTS_ALL),
		WASI_OK);
	fd = out32(w);
	put_text(w, BUFFER, "hello\n");
	put_iov(w, 0, BUFFER, 2);
	put_iov(w, 1, BUFFER + 2, 4);
	assert_int_equal(wasi_fd_write(w, fd, LIST, 2, OUT), WASI_OK);
	assert_int_equal(out32(w), 6);
	assert_int_equal(wasi_fd_filestat_get(w, fd, OUT), WASI_OK);
	assert_int_equal(out64(w, OUT + 32), 6);
	assert_int_equal(w->memory[OUT + 16], WASI_TYPE_FILE);
	run(f->root, "test \"$(cat new)\" = hello && "
		     "test \"$(stat -c %a new)\" = \"$(printf %o "
		     "$((0666 & ~0$(umask))))\"");
	dir = opened(w, WASI_FD_ROOT, ".");
	assert_int_equal(wasi_fd_readdir(w, dir, BUFFER, 4096, 0, OUT),
			 WASI_OK);
	assert_non_null(memmem(w->memory + BUFFER, out32(w), "absolute", 8));
	put_text(w, TEXT, "new");
	put_text(w, TEXT_2, "dir/old");
	assert_int_equal(wasi_path_rename(w, 4, TEXT, 3, dir, TEXT_2, 7),
			 WASI_OK);
	assert_int_equal(wasi_path_unlink_file(w, 4, TEXT_2, 7), WASI_OK);
	assert_int_equal(wasi_path_unlink_file(w, 4, TEXT_2, 7), WASI_NOENT);
	put_text(w, TEXT, "made/");
	assert_int_equal(wasi_path_create_directory(w, 4, TEXT, 5), WASI_OK);
	assert_int_equal(wasi_path_unlink_file(w, 4, TEXT, 5), WASI_NOTDIR);
	assert_int_equal(wasi_path_remove_directory(w, 4, TEXT, 5), WASI_OK);
}

/* Listing in small pieces by cookies gives each entry once. */
static void
listing_continues_at_its_cookie(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t dir = opened(w, WASI_FD_ROOT, ".");
	uint64_t cookie = 0;
	int entries = 0;

	for (;;) {
		assert_int_equal(
			wasi_fd_readdir(w, dir, BUFFER, 40, cookie, OUT),
			WASI_OK);
		if (out32(w) < 24)
			break;
		cookie = out64(w, BUFFER);
		entries++;
	}
	/* . .. dir file absolute up loop */
	assert_int_equal(entries, 7);
}

static void
arguments_have_their_sizes(void **state)
{
	struct wasi *w = wasi_of(state);

	assert_int_equal(wasi_args_sizes_get(w, OUT, OUT + 4), WASI_OK);
	assert_int_equal(out32(w), 2);
	assert_int_equal(w->memory[OUT + 4], sizeof("remit-wasm") + 3);
	assert_int_equal(wasi_args_get(w, OUT, BUFFER), WASI_OK);
	assert_string_equal((char *)w->memory + BUFFER, "remit-wasm");
	assert_int_equal(out32(w), BUFFER);
	assert_int_equal(wasi_environ_get(w, OUT, BUFFER), WASI_OK);
	assert_string_equal((char *)w->memory + BUFFER, "PWD=/workspace");
}

static void
put_subscription(struct wasi *w, uint32_t i, unsigned char type, uint32_t what,
		 uint64_t timeout_ns)
{
	unsigned char *at = w->memory + LIST + (size_t)i * 48;

	memset(at, 0, 48);
	at[0] = (unsigned char)(i + 1);
	at[8] = type;
	memcpy(at + 16, &what, 4);
	memcpy(at + 24, &timeout_ns, 8);
}

static void
waiting_reports_clocks_and_descriptors(void **state)
{
	struct wasi *w = wasi_of(state);
	uint32_t fd = opened(w, WASI_FD_ROOT, "file");

	put_subscription(w, 0, 0, 1, 1000);
	put_subscription(w, 1, 0, 1, UINT64_MAX - 1);
	assert_int_equal(wasi_poll_oneoff(w, LIST, BUFFER, 2, OUT), WASI_OK);
	assert_int_equal(out32(w), 1);
	assert_int_equal(w->memory[BUFFER], 1);
	put_subscription(w, 0, 1, fd, 0);
	assert_int_equal(wasi_poll_oneoff(w, LIST, BUFFER, 2, OUT), WASI_OK);
	assert_int_equal(out32(w), 1);
	/* A descriptor that is not open, and no type: both at once. */
	put_subscription(w, 0, 1, 99, 0);
	put_subscription(w, 1, 77, 0, 0);
	assert_int_equal(wasi_poll_oneoff(w, LIST, BUFFER, 2, OUT), WASI_OK);
	assert_int_equal(out32(w), 2);
	assert_int_equal(w->memory[BUFFER + 8], WASI_BADF);
	assert_int_equal(w->memory[BUFFER + 32 + 8], WASI_INVAL);
	assert_int_equal(wasi_poll_oneoff(w, LIST, BUFFER, 0, OUT), WASI_INVAL);
	assert_int_equal(wasi_poll_oneoff(w, 0, 0, 1100, OUT), WASI_INVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(span_ends_with_the_memory),
		TEST(results_outside_of_the_memory_are_refused),
		TEST(counts_that_overflow_are_refused),
		TEST(parts_outside_of_the_memory_are_refused),
		TEST(many_parts_are_a_short_read),
		TEST(directory_entries_never_leave_the_buffer),
		TEST(descriptors_that_are_not_open_are_refused),
		TEST(files_are_no_directories),
		TEST(descriptors_are_limited),
		TEST(rights_only_shrink),
		TEST(renumbered_descriptor_replaces_the_other),
		TEST(channel_is_not_offered_as_a_directory),
		TEST(paths_stay_in_the_root),
		TEST(paths_stay_in_a_directory),
		TEST(changes_stay_in_a_directory),
		TEST(names_that_leave_their_directory_are_refused),
		TEST(malformed_paths_are_refused),
		TEST(unknown_flags_are_refused),
		TEST(files_are_written_and_listed),
		TEST(listing_continues_at_its_cookie),
		TEST(arguments_have_their_sizes),
		TEST(waiting_reports_clocks_and_descriptors),
	};

	return cmocka_run_group_tests_name("wasi", tests, NULL, NULL);
}

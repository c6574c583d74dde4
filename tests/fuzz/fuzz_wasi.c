/*
 * The calls of a WebAssembly guest with arbitrary arguments and an arbitrary
 * memory: no call touches anything outside of the memory (a page behind it
 * cannot be accessed), leaves a descriptor open, or returns an unknown error.
 *
 * The input is a list of calls: a byte that chooses the call, and 9 words for
 * its arguments. The rest of the input is the beginning of the memory. Each
 * argument is made small in one of the ways of shape(), since hardly any word
 * is a descriptor or an address.
 */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/own.h"
#include "fuzz.h"
#include "wasm/wasi.h"

#define MEMORY	  ((uint32_t)16384)
#define GUARD	  ((size_t)4096)
#define WORDS	  9
#define CALL_SIZE (1 + WORDS * sizeof(uint32_t))
#define CALLS_MAX 64
#define FDS	  24

#define A(n) ((uint32_t)a[n])
#define CALL(name, ...)                                                \
	static uint32_t call_##name(struct wasi *w, const uint64_t *a) \
	{                                                              \
		(void)a;                                               \
		return wasi_##name(w __VA_OPT__(, ) __VA_ARGS__);      \
	}

CALL(args_get, A(0), A(1))
CALL(args_sizes_get, A(0), A(1))
CALL(environ_get, A(0), A(1))
CALL(environ_sizes_get, A(0), A(1))
CALL(clock_res_get, A(0), A(1))
CALL(clock_time_get, A(0), a[1], A(2))
CALL(random_get, A(0), A(1))
CALL(sched_yield)
CALL(fd_advise, A(0), a[1], a[2], A(3))
CALL(fd_close, A(0))
CALL(fd_datasync, A(0))
CALL(fd_fdstat_get, A(0), A(1))
CALL(fd_fdstat_set_flags, A(0), A(1))
CALL(fd_fdstat_set_rights, A(0), a[1], a[2])
CALL(fd_filestat_get, A(0), A(1))
CALL(fd_filestat_set_size, A(0), a[1])
CALL(fd_filestat_set_times, A(0), a[1], a[2], A(3))
CALL(fd_pread, A(0), A(1), A(2), a[3], A(4))
CALL(fd_prestat_get, A(0), A(1))
CALL(fd_prestat_dir_name, A(0), A(1), A(2))
CALL(fd_pwrite, A(0), A(1), A(2), a[3], A(4))
CALL(fd_read, A(0), A(1), A(2), A(3))
CALL(fd_readdir, A(0), A(1), A(2), a[3], A(4))
CALL(fd_renumber, A(0), A(1))
CALL(fd_seek, A(0), a[1], A(2), A(3))
CALL(fd_sync, A(0))
CALL(fd_tell, A(0), A(1))
CALL(fd_write, A(0), A(1), A(2), A(3))
CALL(path_create_directory, A(0), A(1), A(2))
CALL(path_filestat_get, A(0), A(1), A(2), A(3), A(4))
CALL(path_filestat_set_times, A(0), A(1), A(2), A(3), a[4], a[5], A(6))
CALL(path_link, A(0), A(1), A(2), A(3), A(4), A(5), A(6))
CALL(path_open, A(0), A(1), A(2), A(3), A(4), a[5] << 8 | 0xffffff, a[6], A(7),
     A(8))
CALL(path_readlink, A(0), A(1), A(2), A(3), A(4), A(5))
CALL(path_remove_directory, A(0), A(1), A(2))
CALL(path_rename, A(0), A(1), A(2), A(3), A(4), A(5))
CALL(path_symlink, A(0), A(1), A(2), A(3), A(4))
CALL(path_unlink_file, A(0), A(1), A(2))

/* Never waits: the first subscription is a clock, and no time is in the
   future. */
static uint32_t
call_poll_oneoff(struct wasi *w, const uint64_t *a)
{
	unsigned char *at = wasi_span(w, A(0), (uint64_t)A(2) * 48);

	for (uint32_t i = 0; at && i < A(2); i++)
		memset(at + (size_t)i * 48 + 24, 0, 17);
	if (at && A(2))
		at[8] = 0;
	return wasi_poll_oneoff(w, A(0), A(1), A(2), A(3));
}

static uint32_t (*const calls[])(struct wasi *w, const uint64_t *a) = {
	call_args_get,
	call_args_sizes_get,
	call_environ_get,
	call_environ_sizes_get,
	call_clock_res_get,
	call_clock_time_get,
	call_random_get,
	call_sched_yield,
	call_fd_advise,
	call_fd_close,
	call_fd_datasync,
	call_fd_fdstat_get,
	call_fd_fdstat_set_flags,
	call_fd_fdstat_set_rights,
	call_fd_filestat_get,
	call_fd_filestat_set_size,
	call_fd_filestat_set_times,
	call_fd_pread,
	call_fd_prestat_get,
	call_fd_prestat_dir_name,
	call_fd_pwrite,
	call_fd_read,
	call_fd_readdir,
	call_fd_renumber,
	call_fd_seek,
	call_fd_sync,
	call_fd_tell,
	call_fd_write,
	call_path_create_directory,
	call_path_filestat_get,
	call_path_filestat_set_times,
	call_path_link,
	call_path_open,
	call_path_readlink,
	call_path_remove_directory,
	call_path_rename,
	call_path_symlink,
	call_path_unlink_file,
	call_poll_oneoff,
};

/* A whole word, a descriptor or a length, an address, or one near the end of
   the memory or of 32 bits. */
static uint64_t
shape(uint32_t word)
{
	uint32_t rest = word >> 3;

	switch (word & 7) {
	case 0:
		return word;
	case 1:
		return MEMORY - rest % 64;
	case 2:
		return UINT32_MAX - rest % 64;
	case 3:
		return rest % MEMORY;
	case 4:
		return rest % 256;
	default:
		return rest % 16;
	}
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	return at->level ? remove(path) : 0;
}

struct ground {
	char path[32];
	int root;
	unsigned char *memory;
};

/* The directory and the memory that all inputs use. */
static const struct ground *
ground_get(void)
{
	static struct ground g = { .path = "/tmp/fuzz_wasi.XXXXXX" };
	const struct rlimit files = { 1 << 20, 1 << 20 };

	if (g.memory)
		return &g;
	signal(SIGXFSZ, SIG_IGN);
	must(setrlimit(RLIMIT_FSIZE, &files) == 0);
	must(mkdtemp(g.path));
	g.root = open(g.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(g.root >= 0);
	g.memory = mmap(NULL, MEMORY + GUARD, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(g.memory != MAP_FAILED &&
	     mprotect(g.memory, MEMORY, PROT_READ | PROT_WRITE) == 0);
	return &g;
}

static int
lowest_free(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	close(fd);
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const strings[] = { "remit-wasm", "-I", NULL };
	const struct ground *g = ground_get();
	struct wasi w = {
		.memory = g->memory,
		.memory_bytes = MEMORY,
		.argv = strings,
		.env = strings,
	};
	size_t count = size / CALL_SIZE;
	int before = lowest_free();
	size_t rest;

	if (count > CALLS_MAX)
		count = CALLS_MAX;
	rest = size - count * CALL_SIZE;
	memset(g->memory, 0, MEMORY);
	memcpy(g->memory, data + count * CALL_SIZE,
	       rest < MEMORY ? rest : MEMORY);
	must(wasi_init(&w, FDS, -1, dup(g->root)) == 0);
	/* The streams are those of the fuzzer. */
	for (int i = 0; i < 3; i++)
		w.fds[i] =
			(struct wasi_fd){ WASI_FILE,
					  open("/dev/null", O_RDWR | O_CLOEXEC),
					  w.fds[i].rights, 0 };
	for (size_t i = 0; i < count; i++) {
		const uint8_t *at = data + i * CALL_SIZE;
		uint64_t args[WORDS];

		for (size_t k = 0; k < WORDS; k++) {
			uint32_t word;

			memcpy(&word, at + 1 + k * sizeof(word), sizeof(word));
			args[k] = shape(word);
		}
		must(calls[at[0] % ARRAY_LEN(calls)](&w, args) <=
		     WASI_NOTCAPABLE);
	}
	/* wasi_free() leaves the root open. */
	for (uint32_t i = 0; i < FDS; i++)
		if (w.fds[i].kind == WASI_ROOT)
			w.fds[i].kind = WASI_DIRECTORY;
	wasi_free(&w);
	must(lowest_free() == before);
	nftw(g->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

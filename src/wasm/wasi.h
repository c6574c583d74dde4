/*
 * wasi: the system interface of a WebAssembly guest (WASI preview 1), on Linux.
 *
 * Everything that a guest passes is hostile: numbers of descriptors, addresses
 * in its memory, lengths, counts, paths. An address is used only after
 * wasi_span() has compared it with the size of the memory. A path is resolved
 * by openat2(2) below the directory it is relative to. The jail around this
 * process limits what the calls can reach.
 *
 * A function whose name starts with wasi_fd_, wasi_path_ and so on is the call
 * of that name without the prefix. It returns 0 or an error of enum wasi_error,
 * and writes its results only if it succeeds.
 */
#ifndef REMIT_WASI_H
#define REMIT_WASI_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers of the specification, as far as they are used. */
enum wasi_error {
	WASI_OK = 0,
	WASI_2BIG = 1,
	WASI_ACCES = 2,
	WASI_AGAIN = 6,
	WASI_BADF = 8,
	WASI_BUSY = 10,
	WASI_DQUOT = 19,
	WASI_EXIST = 20,
	WASI_FAULT = 21,
	WASI_FBIG = 22,
	WASI_ILSEQ = 25,
	WASI_INTR = 27,
	WASI_INVAL = 28,
	WASI_IO = 29,
	WASI_ISDIR = 31,
	WASI_LOOP = 32,
	WASI_MFILE = 33,
	WASI_MLINK = 34,
	WASI_NAMETOOLONG = 37,
	WASI_NFILE = 41,
	WASI_NODEV = 43,
	WASI_NOENT = 44,
	WASI_NOMEM = 48,
	WASI_NOSPC = 51,
	WASI_NOSYS = 52,
	WASI_NOTDIR = 54,
	WASI_NOTEMPTY = 55,
	WASI_NOTSUP = 58,
	WASI_NXIO = 60,
	WASI_OVERFLOW = 61,
	WASI_PERM = 63,
	WASI_PIPE = 64,
	WASI_ROFS = 69,
	WASI_SPIPE = 70,
	WASI_TXTBSY = 74,
	WASI_XDEV = 75,
	WASI_NOTCAPABLE = 76,
};

enum wasi_right {
	WASI_RIGHT_DATASYNC = 1 << 0,
	WASI_RIGHT_READ = 1 << 1,
	WASI_RIGHT_SEEK = 1 << 2,
	WASI_RIGHT_SET_FLAGS = 1 << 3,
	WASI_RIGHT_SYNC = 1 << 4,
	WASI_RIGHT_TELL = 1 << 5,
	WASI_RIGHT_WRITE = 1 << 6,
	WASI_RIGHT_ADVISE = 1 << 7,
	WASI_RIGHT_ALLOCATE = 1 << 8,
	WASI_RIGHT_CREATE_DIRECTORY = 1 << 9,
	WASI_RIGHT_CREATE_FILE = 1 << 10,
	WASI_RIGHT_LINK_SOURCE = 1 << 11,
	WASI_RIGHT_LINK_TARGET = 1 << 12,
	WASI_RIGHT_OPEN = 1 << 13,
	WASI_RIGHT_READDIR = 1 << 14,
	WASI_RIGHT_READLINK = 1 << 15,
	WASI_RIGHT_RENAME_SOURCE = 1 << 16,
	WASI_RIGHT_RENAME_TARGET = 1 << 17,
	WASI_RIGHT_PATH_STAT = 1 << 18,
	WASI_RIGHT_PATH_SET_SIZE = 1 << 19,
	WASI_RIGHT_PATH_SET_TIMES = 1 << 20,
	WASI_RIGHT_STAT = 1 << 21,
	WASI_RIGHT_SET_SIZE = 1 << 22,
	WASI_RIGHT_SET_TIMES = 1 << 23,
	WASI_RIGHT_SYMLINK = 1 << 24,
	WASI_RIGHT_REMOVE_DIRECTORY = 1 << 25,
	WASI_RIGHT_UNLINK = 1 << 26,
	WASI_RIGHT_POLL = 1 << 27,
	WASI_RIGHTS_ALL = (1 << 28) - 1,
};

enum wasi_kind {
	WASI_FREE,	/* no descriptor has this number */
	WASI_STREAM,	/* standard input, output and errors */
	WASI_CHANNEL,	/* the channel to the keeper */
	WASI_ROOT,	/* the root of the jail */
	WASI_FILE,	/* opened by the guest */
	WASI_DIRECTORY, /* likewise */
};

struct wasi_fd {
	enum wasi_kind kind;
	int host; /* the descriptor of this process */
	uint64_t rights;
	uint64_t inheriting; /* the most that what is opened in it can have */
};

/* The guest's numbers of what it starts with. */
#define WASI_FD_CHANNEL 3
#define WASI_FD_ROOT	4
#define WASI_FDS_FIRST	5

struct wasi {
	unsigned char *memory;
	uint64_t memory_bytes; /* changes only between calls */
	struct wasi_fd *fds;
	uint32_t fd_count; /* the most descriptors that a guest may have */
	char *const *argv;
	char *const *env; /* "NAME=VALUE"; both end with NULL */
};

/*
 * Prepares the table of descriptors, with room for `fd_count`: 0 to 2 are this
 * process's streams, then `channel` (-1: none) and `root`. Takes ownership of
 * none of them. Returns -1 with errno.
 */
int wasi_init(struct wasi *w, uint32_t fd_count, int channel, int root);
/* Closes what the guest has opened, and frees the table. */
void wasi_free(struct wasi *w);

/* The address of `len` bytes of the guest's memory from `at` on, or NULL if not
   all of them exist. `len` may be a product of two 32-bit numbers. */
static inline unsigned char *
wasi_span(const struct wasi *w, uint32_t at, uint64_t len)
{
	if (len > w->memory_bytes || at > w->memory_bytes - len)
		return 0;
	return w->memory + at;
}

/* The error for errno. */
uint32_t wasi_error_of(int sys_errno);

/* Finds a descriptor that has all of these rights. */
uint32_t wasi_find(struct wasi *w, uint32_t fd, uint64_t rights,
		   struct wasi_fd **out);
/* Gives a descriptor the lowest free number. It belongs to the table then, and
   is closed if there is no room. */
uint32_t wasi_add(struct wasi *w, const struct wasi_fd *f, uint32_t *fd);

struct stat;

/* Writes what fstat(2) has returned, in the form of a guest. */
void wasi_put_stat(unsigned char out[64], const struct stat *st);
#define WASI_STAT_SIZE 64

enum wasi_filetype {
	WASI_TYPE_UNKNOWN = 0,
	WASI_TYPE_BLOCK = 1,
	WASI_TYPE_CHARACTER = 2,
	WASI_TYPE_DIRECTORY = 3,
	WASI_TYPE_FILE = 4,
	WASI_TYPE_SOCKET = 6,
	WASI_TYPE_LINK = 7,
};

struct timespec;

/* The times of utimensat(2) for the flags of a guest. */
uint32_t wasi_times(struct timespec out[2], uint64_t atim, uint64_t mtim,
		    uint32_t flags);

/* ---- process.c: arguments, clocks, random numbers, waiting ---- */

uint32_t wasi_args_get(struct wasi *w, uint32_t argv, uint32_t buf);
uint32_t wasi_args_sizes_get(struct wasi *w, uint32_t count, uint32_t bytes);
uint32_t wasi_environ_get(struct wasi *w, uint32_t env, uint32_t buf);
uint32_t wasi_environ_sizes_get(struct wasi *w, uint32_t count, uint32_t bytes);
uint32_t wasi_clock_res_get(struct wasi *w, uint32_t id, uint32_t out);
uint32_t wasi_clock_time_get(struct wasi *w, uint32_t id, uint64_t precision,
			     uint32_t out);
uint32_t wasi_random_get(struct wasi *w, uint32_t buf, uint32_t len);
uint32_t wasi_sched_yield(struct wasi *w);
uint32_t wasi_poll_oneoff(struct wasi *w, uint32_t in, uint32_t out,
			  uint32_t count, uint32_t events);
void __attribute__((noreturn)) wasi_proc_exit(struct wasi *w, uint32_t code);

/* ---- fd.c: descriptors ---- */

uint32_t wasi_fd_advise(struct wasi *w, uint32_t fd, uint64_t offset,
			uint64_t len, uint32_t advice);
uint32_t wasi_fd_close(struct wasi *w, uint32_t fd);
uint32_t wasi_fd_datasync(struct wasi *w, uint32_t fd);
uint32_t wasi_fd_fdstat_get(struct wasi *w, uint32_t fd, uint32_t out);
uint32_t wasi_fd_fdstat_set_flags(struct wasi *w, uint32_t fd, uint32_t flags);
uint32_t wasi_fd_fdstat_set_rights(struct wasi *w, uint32_t fd, uint64_t rights,
				   uint64_t inheriting);
uint32_t wasi_fd_filestat_get(struct wasi *w, uint32_t fd, uint32_t out);
uint32_t wasi_fd_filestat_set_size(struct wasi *w, uint32_t fd, uint64_t size);
uint32_t wasi_fd_filestat_set_times(struct wasi *w, uint32_t fd, uint64_t atim,
				    uint64_t mtim, uint32_t flags);
uint32_t wasi_fd_pread(struct wasi *w, uint32_t fd, uint32_t iovs,
		       uint32_t count, uint64_t offset, uint32_t out);
uint32_t wasi_fd_prestat_get(struct wasi *w, uint32_t fd, uint32_t out);
uint32_t wasi_fd_prestat_dir_name(struct wasi *w, uint32_t fd, uint32_t buf,
				  uint32_t len);
uint32_t wasi_fd_pwrite(struct wasi *w, uint32_t fd, uint32_t iovs,
			uint32_t count, uint64_t offset, uint32_t out);
uint32_t wasi_fd_read(struct wasi *w, uint32_t fd, uint32_t iovs,
		      uint32_t count, uint32_t out);
uint32_t wasi_fd_readdir(struct wasi *w, uint32_t fd, uint32_t buf,
			 uint32_t len, uint64_t cookie, uint32_t out);
uint32_t wasi_fd_renumber(struct wasi *w, uint32_t from, uint32_t to);
uint32_t wasi_fd_seek(struct wasi *w, uint32_t fd, uint64_t offset,
		      uint32_t whence, uint32_t out);
uint32_t wasi_fd_sync(struct wasi *w, uint32_t fd);
uint32_t wasi_fd_tell(struct wasi *w, uint32_t fd, uint32_t out);
uint32_t wasi_fd_write(struct wasi *w, uint32_t fd, uint32_t iovs,
		       uint32_t count, uint32_t out);

/* ---- path.c: paths ---- */

uint32_t wasi_path_create_directory(struct wasi *w, uint32_t fd, uint32_t path,
				    uint32_t len);
uint32_t wasi_path_filestat_get(struct wasi *w, uint32_t fd, uint32_t flags,
				uint32_t path, uint32_t len, uint32_t out);
uint32_t wasi_path_filestat_set_times(struct wasi *w, uint32_t fd,
				      uint32_t flags, uint32_t path,
				      uint32_t len, uint64_t atim,
				      uint64_t mtim, uint32_t time_flags);
uint32_t wasi_path_link(struct wasi *w, uint32_t old_fd, uint32_t flags,
			uint32_t old, uint32_t old_len, uint32_t new_fd,
			uint32_t new, uint32_t new_len);
uint32_t wasi_path_open(struct wasi *w, uint32_t fd, uint32_t flags,
			uint32_t path, uint32_t len, uint32_t oflags,
			uint64_t rights, uint64_t inheriting, uint32_t fdflags,
			uint32_t out);
uint32_t wasi_path_readlink(struct wasi *w, uint32_t fd, uint32_t path,
			    uint32_t len, uint32_t buf, uint32_t buf_len,
			    uint32_t out);
uint32_t wasi_path_remove_directory(struct wasi *w, uint32_t fd, uint32_t path,
				    uint32_t len);
uint32_t wasi_path_rename(struct wasi *w, uint32_t old_fd, uint32_t old,
			  uint32_t old_len, uint32_t new_fd, uint32_t new,
			  uint32_t new_len);
uint32_t wasi_path_symlink(struct wasi *w, uint32_t target, uint32_t target_len,
			   uint32_t fd, uint32_t path, uint32_t len);
uint32_t wasi_path_unlink_file(struct wasi *w, uint32_t fd, uint32_t path,
			       uint32_t len);

#endif

/*
 * guest: connects the C code that wasm2c has made of a guest with the WASI, and
 * runs it.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "guest_abi.h"

#include "wasm/host.h"

static GUEST_INSTANCE guest;

/* A guest reserves this much of the address space: each sum of an address and
   an offset of 32 bits is in it. */
#define RESERVED_BYTES (UINT64_C(8) << 30)

/* Memory may have grown since the last call. */
static struct wasi *
current(WASI_INSTANCE *i)
{
	struct wasi *w = (struct wasi *)(void *)i;
	const wasm_rt_memory_t *m = GUEST_MEMORY(&guest);

	w->memory = m->data;
	w->memory_bytes = (uint64_t)m->pages * GUEST_PAGE;
	return w;
}

/* ---- what the guest imports, by the types of its parameters ---- */

#define I u32
#define L u64

#define CALL(name, params, args)         \
	u32 WASI_IMPORT(name) params;    \
	u32 WASI_IMPORT(name) params     \
	{                                \
		return wasi_##name args; \
	}
#define CALL0(name)    CALL(name, (WASI_INSTANCE * i), (current(i)))
#define CALL1(name, A) CALL(name, (WASI_INSTANCE * i, A a), (current(i), a))
#define CALL2(name, A, B) \
	CALL(name, (WASI_INSTANCE * i, A a, B b), (current(i), a, b))
#define CALL3(name, A, B, C) \
	CALL(name, (WASI_INSTANCE * i, A a, B b, C c), (current(i), a, b, c))
#define CALL4(name, A, B, C, D)                             \
	CALL(name, (WASI_INSTANCE * i, A a, B b, C c, D d), \
	     (current(i), a, b, c, d))
#define CALL5(name, A, B, C, D, E)                               \
	CALL(name, (WASI_INSTANCE * i, A a, B b, C c, D d, E e), \
	     (current(i), a, b, c, d, e))
#define CALL6(name, A, B, C, D, E, F)                                 \
	CALL(name, (WASI_INSTANCE * i, A a, B b, C c, D d, E e, F f), \
	     (current(i), a, b, c, d, e, f))
#define CALL7(name, A, B, C, D, E, F, G)                                   \
	CALL(name, (WASI_INSTANCE * i, A a, B b, C c, D d, E e, F f, G g), \
	     (current(i), a, b, c, d, e, f, g))
#define CALL9(name, A, B, C, D, E, F, G, H, K)                                 \
	CALL(name,                                                             \
	     (WASI_INSTANCE * i, A a, B b, C c, D d, E e, F f, G g, H h, K k), \
	     (current(i), a, b, c, d, e, f, g, h, k))

CALL2(args_get, I, I)
CALL2(args_sizes_get, I, I)
CALL2(environ_get, I, I)
CALL2(environ_sizes_get, I, I)
CALL2(clock_res_get, I, I)
CALL3(clock_time_get, I, L, I)
CALL2(random_get, I, I)
CALL0(sched_yield)
CALL4(poll_oneoff, I, I, I, I)
CALL4(fd_advise, I, L, L, I)
CALL1(fd_close, I)
CALL1(fd_datasync, I)
CALL2(fd_fdstat_get, I, I)
CALL2(fd_fdstat_set_flags, I, I)
CALL3(fd_fdstat_set_rights, I, L, L)
CALL2(fd_filestat_get, I, I)
CALL2(fd_filestat_set_size, I, L)
CALL4(fd_filestat_set_times, I, L, L, I)
CALL5(fd_pread, I, I, I, L, I)
CALL2(fd_prestat_get, I, I)
CALL3(fd_prestat_dir_name, I, I, I)
CALL5(fd_pwrite, I, I, I, L, I)
CALL4(fd_read, I, I, I, I)
CALL5(fd_readdir, I, I, I, L, I)
CALL2(fd_renumber, I, I)
CALL4(fd_seek, I, L, I, I)
CALL1(fd_sync, I)
CALL2(fd_tell, I, I)
CALL4(fd_write, I, I, I, I)
CALL3(path_create_directory, I, I, I)
CALL5(path_filestat_get, I, I, I, I, I)
CALL7(path_filestat_set_times, I, I, I, I, L, L, I)
CALL7(path_link, I, I, I, I, I, I, I)
CALL9(path_open, I, I, I, I, I, L, L, I, I)
CALL6(path_readlink, I, I, I, I, I, I)
CALL3(path_remove_directory, I, I, I)
CALL6(path_rename, I, I, I, I, I, I)
CALL5(path_symlink, I, I, I, I, I)
CALL3(path_unlink_file, I, I, I)

/* Calls that this tier does not have: sockets, signals, and reserving space in
   a file. */
#define MISSING(name, ...)                                               \
	u32 WASI_IMPORT(name)(WASI_INSTANCE * i, __VA_ARGS__);           \
	u32 WASI_IMPORT(name)(WASI_INSTANCE * i __attribute__((unused)), \
			      __VA_ARGS__)                               \
	{                                                                \
		return WASI_NOSYS;                                       \
	}
#define NO32 u32 __attribute__((unused))
#define NO64 u64 __attribute__((unused))

MISSING(fd_allocate, NO32 a, NO64 b, NO64 c)
MISSING(proc_raise, NO32 a)
MISSING(sock_accept, NO32 a, NO32 b, NO32 c)
MISSING(sock_recv, NO32 a, NO32 b, NO32 c, NO32 d, NO32 e, NO32 f)
MISSING(sock_send, NO32 a, NO32 b, NO32 c, NO32 d, NO32 e)
MISSING(sock_shutdown, NO32 a, NO32 b)

void WASI_IMPORT(proc_exit)(WASI_INSTANCE *i, u32 code);

void
WASI_IMPORT(proc_exit)(WASI_INSTANCE *i, u32 code)
{
	wasi_proc_exit(current(i), code);
}

u32 REMIT_IMPORT(unread_bytes)(REMIT_INSTANCE *i, u32 fd);

/* How many bytes of the channel the keeper has not read yet. */
u32
REMIT_IMPORT(unread_bytes)(REMIT_INSTANCE *i, u32 fd)
{
	struct wasi *w = current((WASI_INSTANCE *)(void *)i);
	struct wasi_fd *f = NULL;
	int bytes = 0;

	if (wasi_find(w, fd, 0, &f) || f->kind != WASI_CHANNEL ||
	    ioctl(f->host, SIOCOUTQ, &bytes) < 0)
		return 0;
	return (u32)bytes;
}

/* ---- running ---- */

static void
interrupt(void)
{
	GUEST_INTERRUPT(&guest);
}

/* Waits until the keeper has sent something, or has gone. */
static void
wait_for_keeper(const struct wasi *w)
{
	struct pollfd p = { .fd = w->fds[WASI_FD_CHANNEL].host,
			    .events = POLLIN };

	while (ppoll(&p, 1, NULL, NULL) < 0 && errno == EINTR)
		;
}

const char *
guest_run(struct wasi *w, uint32_t pages)
{
	wasm_rt_memory_t *m;

	GUEST_INIT();
	GUEST_INSTANTIATE(&guest, (WASI_INSTANCE *)(void *)w,
			  (REMIT_INSTANCE *)(void *)w);
	m = GUEST_MEMORY(&guest);
	if (m->pages > pages)
		return "memory_bytes is less than the interpreter starts with";
	if (m->max_pages > pages)
		m->max_pages = pages;
	trap_watch(m->data, RESERVED_BYTES);
	GUEST_INITIALIZE(&guest);
	trap_interrupt_with(interrupt);
	GUEST_START(&guest);
	while (GUEST_STEP(&guest) == 1)
		wait_for_keeper(w);
	return "the interpreter has returned";
}

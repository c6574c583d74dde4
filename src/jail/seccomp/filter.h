/*
 * filter: the seccomp programs, assembled at build time from the tables in
 * syscall_table.h. Nothing is compiled at run time.
 */
#ifndef REMIT_FILTER_H
#define REMIT_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These bits choose the filter of code: variants 0 to 15. */
enum filter_flag {
	FILTER_NETWORK = 1,	  /* TCP and UDP sockets */
	FILTER_SUBPROCESS = 2,	  /* fork, exec, signals inside the jail */
	FILTER_FORKABLE = 4,	  /* fork without exec, for session branches */
	FILTER_STRICT_MEMORY = 8, /* no memory that RLIMIT_AS does not count */
	/* Unix sockets and FIFOs. This is no bit of a variant: only code that
	   may start programs gets them, and so two variants have it (see
	   filter_of_code()). */
	FILTER_UNIX = 16,
	/* A program that runs a WebAssembly guest: all other bits are
	   ignored. */
	FILTER_WASM = 32,
	FILTER_FLAGS = 63, /* all of them */
};

/* These bits choose the closing filter of code: variants from FILTER_CLOSING
   on. */
enum closing_flag {
	CLOSING_STRICT = 1, /* for FILTER_STRICT_MEMORY */
	/* The code may write to a directory of the host itself, so fsync must
	   really be executed. */
	CLOSING_DIRECT = 2,
	CLOSING_NO_MEMFD = 4, /* memory files could be executed */
	/* Sockets of the host may be in a mounted directory: no pairs that can
	   send to one. */
	CLOSING_STREAMS = 8,
	CLOSING_FLAGS = 15, /* all of them */
};

enum filter_special {
	FILTER_INIT = 16,      /* pid 1 of a jail */
	FILTER_KEEPER,	       /* the keeper and the programs it starts */
	FILTER_KEEPER_NETWORK, /* the same, with network */
	FILTER_ZYGOTE,	       /* a zygote; code inherits it */
	FILTER_IMPORT,	       /* added while modules are imported */
	FILTER_BARE,	       /* code without namespaces, with strict memory */
	FILTER_BARE_NETWORK,   /* the same, with TCP and UDP sockets */
	FILTER_LOCAL,	       /* FILTER_SUBPROCESS with FILTER_UNIX */
	FILTER_LOCAL_NETWORK,  /* the same, with TCP and UDP sockets */
	FILTER_PROXY,	       /* a network proxy */
	FILTER_WATCHER,	       /* a watcher of a workspace's directories */
	FILTER_GUEST,	       /* code as WebAssembly */
	FILTER_CLOSING,	       /* added to the filter of code; the last ones */
	FILTER_CLOSING_STRICT = FILTER_CLOSING + CLOSING_STRICT,
	FILTER_CLOSING_DIRECT = FILTER_CLOSING + CLOSING_DIRECT,
	FILTER_CLOSING_DIRECT_STRICT =
		FILTER_CLOSING + CLOSING_DIRECT + CLOSING_STRICT,
	FILTER_VARIANTS = FILTER_CLOSING + CLOSING_FLAGS + 1,
};

/* In a jail, pid 1 is init and the code always has this pid. */
#define FILTER_RUN_PID 2
/* In a bare jail the pid is not known in advance: filter_load() replaces this
   number by it. The number is not a possible pid (they end at 4194304), and the
   programs contain it nowhere else. */
#define FILTER_OWN_PID 0x7e317a1d

/* At least the number of instructions in the longest program. */
#define FILTER_LONGEST 2048

enum filter_arch { FILTER_X86_64, FILTER_AARCH64, FILTER_ARCHES };

#if defined(__x86_64__)
#define FILTER_NATIVE FILTER_X86_64
#elif defined(__aarch64__)
#define FILTER_NATIVE FILTER_AARCH64
#else
#error "the tables cover only x86-64 and aarch64"
#endif

struct filter {
	const struct sock_filter *insns;
	unsigned short len;
};

/* The program for an architecture; tests check both. NULL if there is none. */
const struct filter *filter_for(enum filter_arch arch, unsigned variant);
/* The program for the architecture this was compiled for. */
const struct filter *filter_native(unsigned variant);

/* The variant for code with these FILTER_ bits. `bare`: without namespaces.
   FILTER_UNIX is ignored together with bits that it cannot be combined with. */
unsigned filter_of_code(unsigned properties, bool bare);

/* Load the filter into this process, irrevocably. Needs no_new_privs. Returns
   -1 with errno. Allocates nothing. */
int filter_load(unsigned variant);
/*
 * Like filter_load() for a filter of code, and *listener gets the descriptor on
 * which explained refusals wait for an answer. *listener is -1 if the kernel
 * provides none: it is too old, or a process outside listens already. Then all
 * refusals are plain.
 */
int filter_load_with_listener(unsigned variant, int *listener);
/* Load the last filter, with these CLOSING_ bits: no other can be loaded after
   it. */
int filter_load_closing(unsigned flags);

/* The program's verdict on a call: an action of seccomp(2). */
uint32_t filter_verdict(const struct filter *f,
			const struct seccomp_data *data);

#endif

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

/* The filter of code is chosen by these bits: variants 0 to 15. */
enum filter_flag {
	FILTER_NETWORK = 1,	  /* TCP and UDP sockets */
	FILTER_SUBPROCESS = 2,	  /* fork, exec, signals to others inside */
	FILTER_FORKABLE = 4,	  /* fork without exec, for session branches */
	FILTER_STRICT_MEMORY = 8, /* no memory that RLIMIT_AS does not count */
};

enum filter_special {
	FILTER_INIT = 16,      /* pid 1 of a jail */
	FILTER_KEEPER,	       /* the keeper and what it starts */
	FILTER_KEEPER_NETWORK, /* the same, for policies with network */
	FILTER_ZYGOTE,	       /* a zygote, and below the filter of code */
	FILTER_IMPORT,	       /* on top of it, while modules are imported */
	FILTER_BARE,	       /* code without namespaces, strict memory */
	FILTER_BARE_NETWORK,   /* the same, with TCP and UDP sockets */
	FILTER_PROXY,	       /* a network proxy */
	FILTER_CLOSING,	       /* on top of the filter of code */
	FILTER_CLOSING_STRICT, /* the same, for FILTER_STRICT_MEMORY */
	FILTER_CLOSING_DIRECT, /* the two for a directory of mode direct */
	FILTER_CLOSING_DIRECT_STRICT,
	FILTER_VARIANTS,
};

/* In a jail pid 1 is init, and the code is always this pid. */
#define FILTER_RUN_PID 2
/* In a bare jail it is not known before: filter_load() puts it in for this,
   which is no pid (they end at 4194304) and nothing else in the programs. */
#define FILTER_OWN_PID 0x7e317a1d

/* Instructions of the longest program, with room. */
#define FILTER_LONGEST 2048

enum filter_arch { FILTER_X86_64, FILTER_AARCH64, FILTER_ARCHES };

#if defined(__x86_64__)
#define FILTER_NATIVE FILTER_X86_64
#elif defined(__aarch64__)
#define FILTER_NATIVE FILTER_AARCH64
#else
#error "the tables know x86-64 and aarch64"
#endif

struct filter {
	const struct sock_filter *insns;
	unsigned short len;
};

/* The program for one architecture; tests look at both. */
const struct filter *filter_for(enum filter_arch arch, unsigned variant);
/* The program for the machine this was compiled for. */
const struct filter *filter_native(unsigned variant);

/* The variant for code with these properties; bare: without namespaces. */
unsigned filter_of_code(unsigned properties, bool bare);

/* Load it into this process, for good; needs no_new_privs. -1 with errno.
   Allocates nothing. */
int filter_load(unsigned variant);
/*
 * The same for a filter of code, with a listener for what is refused with an
 * explanation. *listener is -1 if the kernel gives none (it is too old, or
 * somebody outside listens already): then all of that is refused plainly.
 */
int filter_load_with_listener(unsigned variant, int *listener);
/* Nothing more can be loaded after it. direct: code may write to a directory of
   the host itself, so fsync is done and not only answered. */
int filter_load_closing(bool strict, bool direct);

/* What the program says of a call: an action of seccomp(2). */
uint32_t filter_verdict(const struct filter *f,
			const struct seccomp_data *data);

#endif

/*
 * init: pid 1 of a jail, once the jail is built. It reaps children and reports
 * how pid 2 ended. When the keeper's end of the lifeline closes it exits, and
 * everything in the jail dies with it.
 *
 * Pid 1 of a jail begins as a copy of the keeper, whose memory contains the
 * code, input and variables of other tenants. Before it waits, it moves to a
 * separate stack and unmaps everything except the program's text and one static
 * object. What follows must not use the C library: its variables are gone, so
 * there is no errno, no stack protector and no malloc.
 *
 * One other area stays: the one that the C library registered with rseq(2). The
 * kernel writes to it whenever it schedules this process, and kills a process
 * that has unmapped it. Everything around it is overwritten.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "jail/linux_abi.h"
#include "jail/lock/rights.h"
#include "jail/lock/step.h"
#include "jail/part.h"
#include "jail/seccomp/filter.h"
#include "wire/frame.h"

#define LIFELINE 0

/* Sanitizers keep tables outside of the program. Such builds are for tests
   only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_STAYS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define MEMORY_STAYS 1
#endif
#endif
#ifndef MEMORY_STAYS
#define MEMORY_STAYS 0
#endif

/* AddressSanitizer would insert calls before a function that does not
   return. */
#define UNINSTRUMENTED __attribute__((no_sanitize("address")))
#define STANDALONE     UNINSTRUMENTED __attribute__((no_stack_protector, noinline))

#if defined(__x86_64__)
#define LARGEST_PAGE 4096
#elif defined(__aarch64__)
#define LARGEST_PAGE 65536
#endif

struct range {
	uintptr_t from, to;
};

#define KEPT 3

/* Everything used after the rest is unmapped. It fills whole pages. */
static struct {
	pid_t main_pid;
	bool reports_all;
	int signals;
	struct pollfd polled[2];
	struct signalfd_siginfo info;
	struct rusage used;
	struct {
		unsigned char header[FRAME_HEADER];
		struct exit_report report;
	} exited;

	struct range kept[KEPT]; /* in ascending order */
	struct range rseq;	 /* empty if none is registered */
	struct range page;	 /* the pages that contain it */
	uintptr_t end;		 /* of the keeper's stack */

	char stack[8192] __attribute__((aligned(16)));
} __attribute__((aligned(LARGEST_PAGE))) self;

_Static_assert(sizeof(self.exited) == FRAME_HEADER + sizeof(struct exit_report),
	       "the frame has no padding");
_Static_assert(sizeof(self) % LARGEST_PAGE == 0,
	       "nothing else shares its pages");

/* ---- before unmapping: with the C library ---- */

static int
init_lock(int lifeline)
{
	sigset_t child;

	if (dup2(lifeline, LIFELINE) < 0 ||
	    syscall(SYS_close_range, LIFELINE + 1, ~0u, 0) < 0)
		return -1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	self.signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	if (self.signals < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NAME, "remit-init", 0, 0, 0) < 0 ||
	    rights_drop(false) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return filter_load(FILTER_INIT);
}

/* ---- after unmapping: system calls only ---- */

/* Returns what the kernel returns: -errno on failure. */
static inline UNINSTRUMENTED __attribute__((always_inline)) long
raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static inline UNINSTRUMENTED __attribute__((always_inline, noreturn)) void
init_exit(int code)
{
	for (;;)
		raw_syscall(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static STANDALONE void
init_reap(void)
{
	struct exit_report *r = &self.exited.report;
	const struct rusage *used = &self.used;
	int status = 0;
	long pid;

	while ((pid = raw_syscall(SYS_wait4, -1, (long)&status, WNOHANG,
				  (long)&self.used, 0, 0)) > 0) {
		if (pid != self.main_pid && !self.reports_all)
			continue;
		r->wait_status = status;
		r->pid = (int32_t)pid;
		r->max_rss_kib = (uint32_t)used->ru_maxrss;
		r->cpu_us = (uint64_t)(used->ru_utime.tv_sec +
				       used->ru_stime.tv_sec) *
				    1000000 +
			    (uint64_t)(used->ru_utime.tv_usec +
				       used->ru_stime.tv_usec);
		raw_syscall(SYS_sendto, LIFELINE, (long)&self.exited,
			    sizeof(self.exited), MSG_NOSIGNAL, 0, 0);
	}
}

static STANDALONE __attribute__((noreturn)) void
init_wait(void)
{
	self.polled[0].fd = LIFELINE;
	self.polled[1].fd = self.signals;
	self.polled[0].events = self.polled[1].events = POLLIN;
	for (;;) {
		long n;

		/* SIGCHLD may have arrived before the signalfd existed. */
		init_reap();
		n = raw_syscall(SYS_ppoll, (long)self.polled, 2, 0, 0, 0, 0);
		if (n < 0 && n != -EINTR)
			init_exit(1);
		/* The keeper sends nothing: if this is readable, its end is
		   closed. */
		if (n > 0 && self.polled[0].revents)
			init_exit(0);
		while (raw_syscall(SYS_read, self.signals, (long)&self.info,
				   sizeof(self.info), 0, 0, 0) > 0)
			;
	}
}

/* ---- the transition ---- */

extern const char __executable_start[], etext[];

static struct range
pages_of(uintptr_t from, uintptr_t to)
{
	uintptr_t size = getauxval(AT_PAGESZ);

	return (struct range){ from & ~(size - 1),
			       (to + size - 1) & ~(size - 1) };
}

static void
add_kept_range(struct range r)
{
	int at = 0;

	/* Unused entries are empty and come first. */
	while (at < KEPT - 1 && self.kept[at + 1].from < r.from) {
		self.kept[at] = self.kept[at + 1];
		at++;
	}
	self.kept[at] = r;
}

static void
find_kept_memory(void)
{
	/* The strings that the program was started with are at the end of the
	   stack. */
	const char *last = (const char *)getauxval(AT_EXECFN);
	struct range *rseq = &self.rseq;

	if (__rseq_size) {
		rseq->from = (uintptr_t)__builtin_thread_pointer() +
			     (uintptr_t)__rseq_offset;
		rseq->to = rseq->from + sizeof(struct rseq);
	}
	self.page = pages_of(rseq->from, rseq->to);
	add_kept_range(self.page);
	add_kept_range(
		pages_of((uintptr_t)__executable_start, (uintptr_t)etext));
	add_kept_range(pages_of((uintptr_t)&self, (uintptr_t)(&self + 1)));
	self.end =
		pages_of(0, (uintptr_t)last + (last ? strlen(last) + 1 : 0)).to;
}

static STANDALONE void
wipe_range(uintptr_t from, uintptr_t to)
{
	for (volatile char *at = (volatile char *)from;
	     at < (volatile char *)to; at++)
		*at = 0;
}

static STANDALONE void
unmap_range(uintptr_t from, uintptr_t to)
{
	if (from < to && raw_syscall(SYS_munmap, (long)from, (long)(to - from),
				     0, 0, 0, 0) < 0)
		init_exit(1);
}

static STANDALONE __attribute__((noreturn)) void
init_unmap_and_wait(void)
{
	uintptr_t at = 0;

	for (int i = 0; i < KEPT; i++) {
		unmap_range(at, self.kept[i].from);
		at = self.kept[i].to;
	}
	unmap_range(at, self.end);
	wipe_range(self.page.from, self.rseq.from);
	wipe_range(self.rseq.to, self.page.to);
	init_wait();
}

/* Call `f`, which does not return, on the stack that is kept. */
static inline UNINSTRUMENTED __attribute__((always_inline, noreturn)) void
call_on_stack(void (*f)(void))
{
	char *top = self.stack + sizeof(self.stack);

#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tcall *%1"
			 :
			 : "r"(top), "r"(f)
			 : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0\n\tmov x29, xzr\n\tblr %1"
			 :
			 : "r"(top), "r"(f)
			 : "memory");
#endif
	__builtin_unreachable();
}

UNINSTRUMENTED void
init_run(int lifeline, pid_t main_pid, bool reports_all)
{
	self.main_pid = main_pid;
	self.reports_all = reports_all;
	frame_header(self.exited.header, FRAME_EXITED,
		     sizeof(self.exited.report));
	find_kept_memory();
	if (init_lock(lifeline) < 0)
		_exit(1);
	call_on_stack(MEMORY_STAYS ? init_wait : init_unmap_and_wait);
}

/*
 * trap: ends the process when the guest does what WebAssembly forbids, and
 * passes interrupts on to it.
 *
 * The code that wasm2c writes does not compare most addresses with the size of
 * the memory: 8 GiB are reserved, and what lies behind the memory cannot be
 * accessed. So a trap is a signal, or a call of trap_guest().
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "wasm/host.h"
#include "wasm/trap_guest.h"

static const unsigned char *watched;
static uint64_t watched_bytes;
static void (*interrupt_guest)(void);

static const char *const trap_names[] = {
	"an access outside of its memory",
	"an integer overflow",
	"a division by zero",
	"a conversion of no number",
	"an unreachable instruction",
	"a call of a function of another type",
	"an exception that nothing caught",
	"a full stack",
};

/* Async-signal-safe. Nothing can be done if standard error is closed. */
static void
report(const char *what)
{
	static const char start[] =
		"remit-wasm: the interpreter was stopped after ";
	char line[sizeof(start) + 80];
	size_t len = strlen(what);

	memcpy(line, start, sizeof(start) - 1);
	memcpy(line + sizeof(start) - 1, what, len);
	line[sizeof(start) - 1 + len] = '\n';
	if (write(2, line, sizeof(start) + len) < 0)
		return;
}

/* The reasons of wasm-rt.h start with 1. */
void
trap_guest(int reason)
{
	size_t i = (size_t)reason - 1;

	report(i < sizeof(trap_names) / sizeof(trap_names[0])
		       ? trap_names[i]
		       : "an unknown trap");
	/* SIGILL has its default action: the process dies by it. */
	__builtin_trap();
}

/* SA_RESETHAND has restored the default action, so the same access kills the
   process when this returns. */
static void
on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uintptr_t first = (uintptr_t)watched;

	(void)number;
	(void)context;
	report(watched && at >= first && at - first < watched_bytes
		       ? trap_names[0]
		       : "a full stack, or an access to no memory");
}

static void
on_interrupt(int number)
{
	(void)number;
	if (interrupt_guest)
		interrupt_guest();
}

int
trap_prepare(void)
{
	/* The frame of a signal can take 12 KiB on processors with AMX. */
	static char stack[64 * 1024];
	const stack_t alternative = { .ss_sp = stack,
				      .ss_size = sizeof(stack) };
	const struct sigaction fault = {
		.sa_sigaction = on_fault,
		.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND),
	};
	/* SA_RESTART is left out: calls that wait return EINTR to the guest. */
	const struct sigaction interrupt = { .sa_handler = on_interrupt };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaltstack(&alternative, NULL) < 0 ||
	    sigaction(SIGSEGV, &fault, NULL) < 0 ||
	    sigaction(SIGBUS, &fault, NULL) < 0 ||
	    sigaction(SIGINT, &interrupt, NULL) < 0)
		return -1;
	/* As CPython does: writing then fails with an error instead. */
	if (sigaction(SIGXFSZ, &ignore, NULL) < 0)
		return -1;
	return sigaction(SIGPIPE, &ignore, NULL);
}

void
trap_watch(const unsigned char *memory, uint64_t bytes)
{
	watched_bytes = bytes;
	watched = memory;
}

void
trap_interrupt_with(void (*interrupt)(void))
{
	interrupt_guest = interrupt;
}

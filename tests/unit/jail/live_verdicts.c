/*
 * live_verdicts: compares the kernel's verdicts with those of the interpreter.
 *
 *	live_verdicts [VARIANT]    one variant by number, or all run variants
 *	                           and init
 *
 * For every number from 0 to 600 a child loads the filter, makes the call with
 * all arguments zero, and exits with errno:
 *
 *	refused    errno is the filter's
 *	explained  without a listener errno is ENOSYS, so it is a refusal
 *	killed     the child died of SIGSYS
 *	allowed    errno is what a child without the filter gets
 *
 * The child has only one descriptor, whose closing shows that the child has
 * ended, so a call on descriptor 0 has no effect. Calls that would not return,
 * or that would affect more than the child, are in the table below. The output
 * is TAP.
 */
#include "base/own.h"
#include "filter_query.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE FILTER_X86_64
#else
#define NATIVE FILTER_AARCH64
#endif

/* The number of the child's end of the pipe; close_range keeps it. */
#define END_FD 100
/* The exit status of a child that could not make the call. It is not an
   errno. */
#define NOT_READY 255

#define CALL_TIMEOUT_MS 60000

/* Calls that are not made if the filter allows them. A refused call is always
   made. */
static const struct {
	const char *name;
	const char *why;
} skipped[] = {
	{ "exit", "does not return" },
	{ "exit_group", "does not return" },
	{ "rt_sigreturn", "returns to a frame that is not there" },
	{ "pause", "waits for ever" },
	{ "ppoll", "waits for ever without a timeout" },
	{ "pselect6", "waits for ever without a timeout" },
	{ "select", "waits for ever without a timeout" },
	{ "clone", "the child would report a second time" },
	{ "fork", "the child would report a second time" },
	{ "vfork", "the child would run on our stack" },
	{ "seccomp", "without filter it would mean strict mode" },
};

/*
 * Linux lets these two calls of x86-64 pass without running any filter, since
 * the trampolines of probes insert them into the program (uretprobe: 6.14,
 * uprobe: 6.18). Made by other code they end in SIGILL or an error, so they
 * need not be refused.
 */
static const unsigned unfiltered[] = { 335, 336 };

static const uint64_t no_args[QUERY_ARGS];

static const char *
why_skipped(unsigned nr)
{
	const char *name = query_call_name(NATIVE, nr);

	for (size_t i = 0; name && i < ARRAY_LEN(skipped); i++)
		if (strcmp(skipped[i].name, name) == 0)
			return skipped[i].why;
	return NULL;
}

/* The child. It makes raw calls: glibc's wrappers may need calls that are
   refused. */

static void __attribute__((noreturn))
child_exit(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

static void
child_load(const struct filter *filter)
{
	struct sock_fprog program = {
		.len = filter->len,
		.filter = (struct sock_filter *)filter->insns,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		child_exit(NOT_READY);
}

static void __attribute__((noreturn))
call_and_report(unsigned nr, const struct filter *filter, int out)
{
	if (dup2(out, END_FD) < 0 || close_range(0, END_FD - 1, 0) < 0 ||
	    close_range(END_FD + 1, ~0U, 0) < 0)
		child_exit(NOT_READY);
	if (filter)
		child_load(filter);
	child_exit(syscall(nr, 0, 0, 0, 0, 0, 0) == -1 ? errno : 0);
}

/* The parent. */

/* How the child ended. */
static int
try_call(unsigned nr, const struct filter *filter)
{
	struct pollfd ended = { .events = POLLIN };
	int status;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		perror("Bail out!");
		exit(1);
	}
	if (pid == 0)
		call_and_report(nr, filter, ends[1]);
	close(ends[1]);
	ended.fd = ends[0];
	if (poll(&ended, 1, CALL_TIMEOUT_MS) <= 0)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(ends[0]);
	return status;
}

static bool
is_unseen(unsigned nr)
{
	for (size_t i = 0; i < ARRAY_LEN(unfiltered); i++)
		if (NATIVE == FILTER_X86_64 && unfiltered[i] == nr)
			return true;
	return false;
}

static bool
is_same_without_filter(unsigned nr, int with)
{
	return with == try_call(nr, NULL);
}

static bool
agrees(unsigned nr, uint32_t action, const struct filter *filter)
{
	int with = try_call(nr, filter);

	if (is_unseen(nr) && is_same_without_filter(nr, with))
		return true;
	if (action == KILL)
		return WIFSIGNALED(with) && WTERMSIG(with) == SIGSYS;
	if (!WIFEXITED(with) || WEXITSTATUS(with) == NOT_READY)
		return false;
	if (action != query_refusal(action))
		return WEXITSTATUS(with) == ENOSYS;
	if (action != ALLOW)
		return WEXITSTATUS(with) == (int)(action & SECCOMP_RET_DATA);
	return is_same_without_filter(nr, with);
}

static int
check_variant(unsigned variant, int test)
{
	const struct filter *filter = filter_native(variant);
	int called = 0, left_out = 0, wrong = 0;

	for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++) {
		uint32_t action =
			query_call(NATIVE, variant, nr, no_args).action;
		const char *name = query_call_name(NATIVE, nr);

		if (action == ALLOW && why_skipped(nr)) {
			left_out++;
			continue;
		}
		called++;
		if (agrees(nr, action, filter))
			continue;
		wrong++;
		printf("# variant %u: %u %s is not %s\n", variant, nr,
		       name ? name : "(no name)", query_action_name(action));
	}
	printf("%sok %d - variant %u: %d calls answered as expected, "
	       "%d left out\n",
	       wrong ? "not " : "", test, variant, called - wrong, left_out);
	fflush(stdout);
	return wrong;
}

static int
check_one(const char *text)
{
	char *end;
	unsigned long variant = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0' || variant > FILTER_INIT) {
		fprintf(stderr, "VARIANT is a number up to %d\n", FILTER_INIT);
		return 2;
	}
	printf("1..1\n");
	return check_variant((unsigned)variant, 1) ? 1 : 0;
}

int
main(int argc, char **argv)
{
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_LEN(skipped); i++)
		printf("# where allowed, not called: %s %s\n", skipped[i].name,
		       skipped[i].why);
	if (argc == 2)
		return check_one(argv[1]);
	printf("1..%d\n", FILTER_INIT + 1);
	fflush(stdout);
	for (unsigned v = 0; v <= FILTER_INIT; v++)
		wrong += check_variant(v, (int)v + 1);
	return wrong ? 1 : 0;
}

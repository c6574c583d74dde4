/*
 * wasm_main: the program remit-wasm, an interpreter as WebAssembly for a jail.
 * It is executed like python, and takes the same arguments.
 *
 *	1. prepare for traps, and move to a large stack
 *	2. read the keeper's parameters, and lock this process down
 *	3. only then run the first instruction of the guest
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/own.h"
#include "jail/lock/lock.h"
#include "wasm/host.h"

/* The guest's functions are functions of this program, so deep recursion in
   Python needs much of this stack. The part below it cannot be accessed. */
#define STACK_BYTES ((size_t)LOCK_GUEST_STACK)
#define GUARD_BYTES ((size_t)1 << 20)

/* If the policy does not limit open files. */
#define OPEN_FILES_DEFAULT 1024
#define OPEN_FILES_MAX	   65536

static char *const *arguments;

static int
fail_start(const char *what)
{
	dprintf(2, "remit-wasm: %s\n", what);
	return 1;
}

static uint32_t
open_files(const struct lock_params *params)
{
	uint64_t most = params->limits[LOCK_LIMIT_NOFILE];

	if (!most)
		return OPEN_FILES_DEFAULT;
	return most < OPEN_FILES_MAX ? (uint32_t)most : OPEN_FILES_MAX;
}

/* Returns only if the guest cannot be started. */
static int
run(void)
{
	static char pwd[PATH_MAX + 8] = "PWD=";
	static char *const env[] = { pwd, NULL };
	struct wasi w = { .argv = arguments, .env = env };
	struct step_report report;
	struct lock_params params;
	int root;

	/* wasi-libc starts in "/". The guest changes to this directory. */
	if (!getcwd(pwd + 4, PATH_MAX) || trap_prepare() < 0)
		return fail_start(strerror(errno));
	if (lock_params_read(&params, &report) < 0 ||
	    lock_down(&params, &report) < 0)
		return 1; /* the keeper has been sent the reason */
	if (!params.guest_pages || params.guest_pages > GUEST_PAGES_MAX)
		return fail_start("the keeper has sent no limit of memory");
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 ||
	    wasi_init(&w, open_files(&params), LOCK_CHANNEL_FD, root) < 0)
		return fail_start(strerror(errno));
	return fail_start(guest_run(&w, params.guest_pages));
}

static void
run_on_stack(void)
{
	_exit(run());
}

int
main(int argc, char **argv)
{
	ucontext_t context;
	char *stack;

	(void)argc;
	arguments = argv;
	stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED ||
	    mprotect(stack + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) <
		    0 ||
	    getcontext(&context) < 0)
		return fail_start(strerror(errno));
	context.uc_stack = (stack_t){ .ss_sp = stack + GUARD_BYTES,
				      .ss_size = STACK_BYTES };
	context.uc_link = NULL;
	makecontext(&context, run_on_stack, 0);
	setcontext(&context);
	return fail_start(strerror(errno));
}

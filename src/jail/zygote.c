#include "jail/zygote.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file/fd.h"
#include "jail/linux_abi.h"
#include "jail/lock/lock.h"
#include "jail/part.h"
#include "jail/seccomp/filter.h"

/* A process with threads cannot be forked safely: stop libraries from starting
   any when they are imported. */
static char *const zygote_environment[] = {
	"LD_BIND_NOW=1", /* bind symbols once, not in every child */
	"OPENBLAS_NUM_THREADS=1",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"NUMEXPR_NUM_THREADS=1",
	"NUMEXPR_MAX_THREADS=1",
	"BLIS_NUM_THREADS=1",
	"VECLIB_MAXIMUM_THREADS=1",
	"ARROW_IO_THREADS=1",
	"MPLBACKEND=Agg",
	"MPLCONFIGDIR=/tmp/.matplotlib",
	"LANG=C.UTF-8",
	"TZ=UTC",
	NULL,
};

/*
 * Give up uid 0, but keep the capabilities that the next steps need: dropping
 * the rest requires one too.
 */
static int
zygote_become(uint32_t uid)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    syscall(SYS_capget, &head, data) < 0)
		return -1;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return (int)syscall(SYS_capset, &head, data);
}

static void __attribute__((noreturn))
zygote_main(struct blueprint *b, uint32_t uid)
{
	struct enter_ends ends = { b->in, b->out, b->err, b->channel, -1, -1 };
	struct join_answer a = { .kind = JOIN_UNFIT };

	blueprint_close_others(b);
	if (build_run(b, &a.report.step, &a.report.detail) == 0 &&
	    (!b->by_root || zygote_become(uid) == 0) &&
	    enter_run(&b->params, &ends, &a.report.step, &a.report.detail) == 0)
		execve(b->plan->interpreter->real, b->argv, zygote_environment);
	snprintf(a.text, sizeof(a.text), "step \"%s\" failed: %s",
		 steps[a.report.step].name, strerror(errno));
	send(ends.channel, &a, sizeof(a), MSG_NOSIGNAL);
	_exit(1);
}

static size_t
argv_append(char **argv, size_t n, const struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		argv[n++] = l->items[i];
	return n;
}

/* Packages contain foreign code, which may only be imported in a jail: leave
   their directories out. */
static size_t
argv_append_path(char **argv, size_t n, const struct interpreter *in)
{
	for (size_t i = 0; i < in->sys_path.count; i++)
		if (!interpreter_is_packages(in, in->sys_path.items[i]))
			argv[n++] = in->sys_path.items[i];
	return n;
}

/* The arguments: executable, prefix, exec_prefix, paths, "--", environment,
   "--", modules. */
static char **
zygote_make_argv(const struct plan *plan, const struct list *env,
		 const struct list *preload)
{
	const struct interpreter *in = plan->interpreter;
	char *const fixed[] = {
		in->executable,
		"-I",
		"-S",
		"-u",
		"-X",
		"utf8",
		JAIL_RUNTIME "/zygote.py",
		plan_keeps(plan, MECH(SECCOMP)) ? "filtered" : "unfiltered",
		in->executable,
		in->prefix,
		in->exec_prefix,
	};
	char **argv = calloc(ARRAY_LEN(fixed) + in->sys_path.count +
				     env->count + preload->count + 3,
			     sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		argv[n++] = fixed[i];
	n = argv_append_path(argv, n, in);
	argv[n++] = "--";
	n = argv_append(argv, n, env);
	argv[n++] = "--";
	argv_append(argv, n, preload);
	return argv;
}

static int
open_high(const char *path, int flags)
{
	own_fd int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);
}

static int
zygote_make_ends(struct zygote *z, struct blueprint *b, struct remit_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	z->control = pair[0];
	b->channel = fcntl(pair[1], F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);
	close(pair[1]);
	b->in = open_high("/dev/null", O_RDONLY);
	b->out = open_high("/dev/null", O_WRONLY);
	b->err = open_high("/dev/null", O_WRONLY);
	b->lifeline = open_high("/dev/null", O_RDONLY);
	if (b->channel < 0 || b->in < 0 || b->out < 0 || b->err < 0 ||
	    b->lifeline < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"open the zygote's descriptors");
	return 0;
}

static int
zygote_start(struct zygote *z, struct blueprint *b, struct remit_error *err)
{
	struct clone_args args = {
		.flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};

	/* Its children without sockets use this network too. Only a test leaves
	   the namespace out: code that may use the host's network is never
	   warm. */
	if (b->plan->own_network)
		args.flags |= CLONE_NEWNET;
	z->pid = sys_clone3(&args);
	if (z->pid < 0) {
		z->pid = 0;
		return fail_sys(err, REMIT_E_KERNEL, "start the zygote");
	}
	if (z->pid == 0)
		zygote_main(b, z->host_uid);
	return 0;
}

int
zygote_open(struct zygote *z, const struct plan *plan,
	    const struct jail_site *site, const struct list *env,
	    const struct list *preload, struct remit_error *err)
{
	struct plan bare = *plan;
	own_mem char **argv = zygote_make_argv(plan, env, preload);
	own(blueprint) struct blueprint b =
		BLUEPRINT_FOR(&bare, site, BLUEPRINT_ZYGOTE);
	size_t runtime = 0;

	if (!argv)
		return fail_memory(err, "zygote");
	b.argv = argv;
	b.params.magic = LOCK_MAGIC;
	b.params.size = sizeof(b.params);
	/* The zygote's filter lets it start programs, so its bounding set must
	   be emptied as well (rights_drop()). */
	b.params.filter = FILTER_SUBPROCESS;
	/* A waiting zygote notices that the keeper is gone because its socket
	   closes. A hanging one does not, so the kernel must kill it. */
	b.params.keeper = (uint32_t)getpid();
	jail_fill_workspace(&b.params, plan);
	/* The interpreter's mounts come first in every plan. */
	while (runtime < plan->mount_count &&
	       plan->mounts[runtime].field == F_PYTHON)
		runtime++;
	bare.mount_count = runtime;
	z->host_uid = geteuid();
	if (plan->by_root) {
		if (uid_lease_acquire(&z->lease, err) < 0)
			return -1;
		z->host_uid = z->lease.uid;
	}
	if (blueprint_resolve(&b, z->host_uid, err) < 0 ||
	    zygote_make_ends(z, &b, err) < 0 ||
	    blueprint_list_kept(&b, err) < 0)
		return -1;
	return zygote_start(z, &b, err);
}

int
zygote_send(struct zygote *z, const struct join_command *cmd,
	    const int fds[JOIN_FDS], struct remit_error *err)
{
	struct join_command out = *cmd;

	out.has = pass_mask(fds, JOIN_FDS);
	if (pass_send(z->control, &out, sizeof(out), fds, JOIN_FDS,
		      MSG_DONTWAIT) != sizeof(out))
		return fail_sys(err, REMIT_E_GONE,
				"send a command to the zygote");
	return 0;
}

int
zygote_recv(struct zygote *z, struct join_answer *out, struct remit_error *err)
{
	ssize_t n = recv(z->control, out, sizeof(*out), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(*out))
		return fail(err, REMIT_E_GONE, "the zygote is gone");
	out->text[sizeof(out->text) - 1] = '\0';
	return 1;
}

void
zygote_free(struct zygote *z)
{
	if (z->pid) {
		kill(z->pid, SIGKILL);
		waitpid(z->pid, NULL, 0);
	}
	own_fd_close(&z->control);
	uid_lease_free(&z->lease);
	*z = (struct zygote)ZYGOTE_INIT;
}

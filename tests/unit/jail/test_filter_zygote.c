/*
 * A zygote joins jails and forks, and its children lock themselves down. It
 * builds nothing, and its empty network reaches no other process.
 */
#include "base/own.h"
#include "filter_query.h"

#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#include <cmocka.h>

#define FORK  UINT64_C(0x1200011)
#define VFORK UINT64_C(0x4111)

static void
expect_refused(const char *const *names, size_t n, uint32_t action)
{
	for (size_t i = 0; i < n; i++) {
		expect(FILTER_ZYGOTE, names[i], action, 0);
		expect(FILTER_ZYGOTE, names[i], action, 3, 1, 2, 3, 4, 5);
	}
}

static void
zygote_can_join_namespaces(void **state)
{
	static const uint64_t types[] = {
		CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWIPC,
		CLONE_NEWUTS,  CLONE_NEWPID, 0,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		expect(FILTER_ZYGOTE, "setns", ALLOW, 21, types[i]);
}

/* CLONE_THREAD alone changes nothing, and fails in a process with threads. */
static void
unshare_only_checks_for_threads(void **state)
{
	(void)state;
	expect(FILTER_ZYGOTE, "unshare", ALLOW, CLONE_THREAD);
	expect(FILTER_ZYGOTE, "unshare", REFUSE(EPERM), 0);
	expect(FILTER_ZYGOTE, "unshare", REFUSE(EPERM), UINT64_MAX);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint32_t want = REFUSE(EPERM);

		if (BIT(bit) != CLONE_THREAD)
			expect(FILTER_ZYGOTE, "unshare", want, BIT(bit));
		expect(FILTER_ZYGOTE, "unshare", want, CLONE_THREAD ^ BIT(bit));
	}
}

static void
unshare_is_allowed_only_to_zygotes_and_keepers(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		expect(v, "unshare", REFUSE(EPERM), CLONE_THREAD);
		expect(v, "setns", REFUSE(EPERM), 21, CLONE_NEWUSER);
	}
}

/* By number, since older headers lack the newer names. */
static void
madvise_never_merges_and_collapses_only_for_zygotes(void **state)
{
	static const uint64_t allowed[] = {
		0,  1,	2,  4,	8,  9,	10, 11,	 14,  15,
		16, 17, 18, 19, 22, 23, 24, 102, 103,
	};
	const uint64_t willneed = 3, collapse = 25;

	(void)state;
	for (unsigned v = 0; v <= FILTER_BARE_NETWORK; v++) {
		bool makes = v >= FILTER_KEEPER && v <= FILTER_ZYGOTE;

		if (v == FILTER_INIT)
			continue;
		for (uint64_t advice = 0; advice < 128; advice++) {
			uint32_t want = IS_ONE_OF(advice, allowed)
						? ALLOW
						: REFUSE(EINVAL);

			if (advice == willneed)
				want = IGNORE;
			if (advice == collapse && makes)
				want = ALLOW;
			expect(v, "madvise", want, 0, 4096, advice);
			expect(v, "madvise", want, 0, 4096, advice | HIGH);
		}
	}
}

static void
zygote_can_fork_but_makes_no_namespaces(void **state)
{
	const uint64_t refused = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
				 CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
				 CLONE_NEWNET | CLONE_NEWTIME | CLONE_PTRACE |
				 CLONE_UNTRACED | CLONE_PARENT |
				 UINT64_C(0xffffffff00000000);

	(void)state;
	expect(FILTER_ZYGOTE, "clone", ALLOW, FORK);
	expect(FILTER_ZYGOTE, "clone", ALLOW, VFORK);
	expect(FILTER_ZYGOTE, "vfork", ALLOW, 0);
	expect(FILTER_ZYGOTE, "clone3", REFUSE(ENOSYS), 0);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint32_t want = BIT(bit) & refused ? REFUSE(EPERM) : ALLOW;

		expect(FILTER_ZYGOTE, "clone", want, BIT(bit));
		expect(FILTER_ZYGOTE, "clone", want, FORK | BIT(bit));
		expect(FILTER_ZYGOTE, "clone", want, VFORK | BIT(bit));
	}
}

static void
zygote_cannot_mount_trace_or_change_the_system(void **state)
{
	static const char *const refused[] = {
		"mount",
		"umount2",
		"pivot_root",
		"chroot",
		"ptrace",
		"process_vm_readv",
		"process_vm_writev",
		"mknod",
		"mknodat",
		"chown",
		"fchownat",
		"setuid",
		"setgid",
		"setgroups",
		"setfsuid",
		"sethostname",
		"sched_setscheduler",
		"reboot",
		"swapon",
		"acct",
		"add_key",
	};
	static const char *const missing[] = {
		"fsopen",	 "fsmount",
		"move_mount",	 "open_tree",
		"mount_setattr", "landlock_create_ruleset",
		"pidfd_getfd",	 "landlock_add_rule",
		"bpf",		 "io_uring_setup",
	};
	static const char *const unsupported[] = { "setxattr", "removexattr" };

	(void)state;
	expect_refused(refused, ARRAY_LEN(refused), REFUSE(EPERM));
	expect_refused(missing, ARRAY_LEN(missing), REFUSE(ENOSYS));
	expect_refused(unsupported, ARRAY_LEN(unsupported), REFUSE(EOPNOTSUPP));
}

static void
zygote_has_only_the_sockets_of_its_children(void **state)
{
	(void)state;
	for (uint64_t family = 1; family <= 45; family++)
		for (uint64_t type = 0; type < 16; type++) {
			bool may = (family == AF_INET || family == AF_INET6) &&
				   (type == SOCK_STREAM || type == SOCK_DGRAM);

			if (family == AF_UNIX)
				continue;
			expect(FILTER_ZYGOTE, "socket",
			       may ? ALLOW : REFUSE(EAFNOSUPPORT), family,
			       type);
		}
	expect(FILTER_ZYGOTE, "socket", ALLOW, AF_UNIX, SOCK_STREAM);
	expect(FILTER_ZYGOTE, "socket", REFUSE(EAFNOSUPPORT), AF_UNIX,
	       SOCK_RAW);
	expect(FILTER_IMPORT, "socket", REFUSE(EPERM), AF_UNIX, SOCK_STREAM);
	expect(FILTER_ZYGOTE, "sendto", ALLOW, 3, 0x1000, 1, 0, 0, 0);
	expect(FILTER_ZYGOTE, "recvmsg", ALLOW, 3, 0x1000, 0);
}

/* The steps of a child, which has only this filter so far. */
static void
zygote_child_can_lock_itself_down(void **state)
{
	static const char *const needed[] = {
		"prctl",
		"seccomp",
		"landlock_restrict_self",
		"capget",
		"capset",
		"setresuid",
		"setresgid",
		"setrlimit",
		"prlimit64",
		"keyctl",
		"sched_setaffinity",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		expect(FILTER_ZYGOTE, needed[i], ALLOW, 1, 2, 3, 4, 5);
}

static void
import_cannot_fork_or_signal(void **state)
{
	static const char *const refused[] = {
		"fork",	    "vfork", "execve",
		"execveat", "tkill", "rt_sigqueueinfo",
		"setns",    "kill",  "tgkill",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect(FILTER_IMPORT, refused[i], REFUSE(EPERM), 1, 1, 9);
	expect(FILTER_IMPORT, "clone", REFUSE(EPERM), FORK);
	expect(FILTER_IMPORT, "clone", REFUSE(EPERM), VFORK);
	expect(FILTER_IMPORT, "clone3", REFUSE(ENOSYS), 0);
	expect(FILTER_IMPORT, "unshare", ALLOW, CLONE_THREAD);
	expect(FILTER_IMPORT, "unshare", REFUSE(EPERM), CLONE_NEWUSER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zygote_can_join_namespaces),
		cmocka_unit_test(unshare_only_checks_for_threads),
		cmocka_unit_test(
			unshare_is_allowed_only_to_zygotes_and_keepers),
		cmocka_unit_test(
			madvise_never_merges_and_collapses_only_for_zygotes),
		cmocka_unit_test(zygote_can_fork_but_makes_no_namespaces),
		cmocka_unit_test(
			zygote_cannot_mount_trace_or_change_the_system),
		cmocka_unit_test(zygote_has_only_the_sockets_of_its_children),
		cmocka_unit_test(zygote_child_can_lock_itself_down),
		cmocka_unit_test(import_cannot_fork_or_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

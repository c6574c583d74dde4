/*
 * The seccomp programs as a whole: the kernel accepts them, they answer every
 * number as verdicts.txt states, and each flag adds only what it is for. The
 * checks of arguments are tested in test_filter_arguments.c, and the kernel's
 * own reading of the programs in live_verdicts.c.
 *
 *	test_filter FILE            test; FILE is tests/unit/jail/verdicts.txt
 *	test_filter --write FILE    write FILE again. Read the difference before
 *	                            you commit it: it is the change of policy.
 *
 * A row of the file is one call: architecture, number, name, the answer to
 * code, and what differs in other variants. init, proxy, watcher and guest are
 * named only where they are allowed something, keeper_network only where it
 *differs from keeper, zygote only where it differs from subprocess, import only
 *where it differs from network, bare only where it differs from strict_memory
 *(with network), closing only where it does not allow, closing_strict and
 * closing_direct only where they differ from that, and closing_direct_strict
 * only where it differs from closing_direct. "arguments" means that these
 * decide.
 */
#include "base/own.h"
#include "filter_query.h"

#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *verdicts_path;

static const uint64_t no_args[QUERY_ARGS];

/* The form of the programs. */

static void
program_is_accepted_by_the_kernel(void **state)
{
	(void)state;
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned v = 0; v < FILTER_VARIANTS; v++) {
			const char *complaint =
				bpf_complaint(filter_for(arch, v));

			if (complaint)
				fail_msg("%s, variant %u %s",
					 query_arch_name(arch), v, complaint);
		}
}

static void
filter_for_returns_null_after_the_last_variant(void **state)
{
	(void)state;
	assert_null(filter_for(FILTER_X86_64, FILTER_VARIANTS));
	assert_null(filter_for(FILTER_ARCHES, 0));
	assert_null(filter_native(FILTER_VARIANTS));
	assert_non_null(filter_native(0));
}

/* This proves that the checker does not accept everything. */
static void
interpreter_refuses_programs_that_the_kernel_refuses(void **state)
{
	static const struct sock_filter bad[][2] = {
		/* the word after seccomp_data, and half a word */
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 18),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		/* bytes, and the packet, which seccomp does not have */
		{ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		/* past the end, in three ways */
		{ BPF_STMT(BPF_JMP | BPF_JA, 1),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		{ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		  BPF_STMT(BPF_RET | BPF_K, ALLOW) },
		{ BPF_STMT(BPF_RET | BPF_K, ALLOW),
		  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) },
	};
	static const struct sock_filter good[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 60),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
	};
	struct filter f = { .insns = good, .len = 2 };

	(void)state;
	assert_null(bpf_complaint(&f));
	f.len = 0;
	assert_non_null(bpf_complaint(&f));
	f.len = BPF_MAXINSNS + 1;
	assert_non_null(bpf_complaint(&f));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		f = (struct filter){ .insns = bad[i], .len = 2 };
		if (!bpf_complaint(&f))
			fail_msg("bad program %zu was accepted", i);
	}
}

/* System call numbers. */

static void
assert_arch_is_killed(const struct filter *f, uint32_t audit)
{
	for (int nr = 0; nr <= QUERY_LAST_CALL; nr++) {
		struct seccomp_data data = { .nr = nr, .arch = audit };

		assert_int_equal(bpf_run(f, &data).action, KILL);
	}
}

static void
foreign_architecture_is_killed(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_VARIANTS; v++) {
		const struct filter *x86 = filter_for(FILTER_X86_64, v);
		const struct filter *arm = filter_for(FILTER_AARCH64, v);

		assert_arch_is_killed(x86, AUDIT_ARCH_I386);
		assert_arch_is_killed(x86, AUDIT_ARCH_AARCH64);
		assert_arch_is_killed(x86, 0);
		assert_arch_is_killed(arm, AUDIT_ARCH_ARM);
		assert_arch_is_killed(arm, AUDIT_ARCH_X86_64);
		assert_arch_is_killed(arm, 0);
	}
}

static void
x32_numbers_are_killed_on_x86_64(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_VARIANTS; v++) {
		for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
			assert_int_equal(query_call(FILTER_X86_64, v,
						    0x40000000 | nr, no_args)
						 .action,
					 KILL);
		assert_int_equal(
			query_call(FILTER_X86_64, v, UINT32_MAX, no_args)
				.action,
			KILL);
	}
}

static void
assert_does_not_exist(enum filter_arch arch, unsigned variant, unsigned nr)
{
	assert_int_equal(query_call(arch, variant, nr, no_args).action,
			 REFUSE(ENOSYS));
}

/* The closing filters only restrict the filters below them. */
static void
number_without_a_name_gets_enosys(void **state)
{
	(void)state;
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned v = 0; v < FILTER_CLOSING; v++) {
			if (v == FILTER_INIT)
				continue; /* killed */
			for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
				if (!query_call_name(arch, nr))
					assert_does_not_exist(arch, v, nr);
			assert_does_not_exist(arch, v, 4096);
			assert_does_not_exist(arch, v, 0x10000);
			assert_does_not_exist(arch, v, 0x3fffffff);
		}
}

/* Flags. */

/* Pseudo-random numbers, the same in every run. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1;
	return *seed >> 33;
}

/* A value that the program compares with, a single bit, or zero. */
static uint64_t
interesting_argument(const struct filter *f, uint64_t *seed)
{
	uint64_t r = next_random(seed);

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_C(1) << (next_random(seed) % 64);
	case 2:
		return f->insns[next_random(seed) % f->len].k |
		       UINT64_C(1) << (next_random(seed) % 64);
	default:
		return f->insns[next_random(seed) % f->len].k;
	}
}

#define TRIES 4000

static void
assert_call_allows_no_more(enum filter_arch arch, unsigned nr, unsigned less,
			   unsigned more)
{
	const struct filter *f = filter_for(arch, less);
	uint64_t seed = nr, args[QUERY_ARGS] = { 0 };

	for (int i = 0; i < TRIES; i++) {
		struct bpf_outcome o = query_call(arch, less, nr, args);

		if (o.action == ALLOW &&
		    query_call(arch, more, nr, args).action != ALLOW)
			fail_msg("%s: %s is allowed in variant %u, not in %u",
				 query_arch_name(arch),
				 query_call_name(arch, nr), less, more);
		if (i == 0 && !o.by_arguments)
			return;
		for (int k = 0; k < QUERY_ARGS; k++)
			args[k] = interesting_argument(f, &seed);
	}
}

static void
assert_allows_no_more(unsigned less, unsigned more)
{
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
			assert_call_allows_no_more(arch, nr, less, more);
}

static void
network_subprocess_and_forkable_remove_no_permission(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (unsigned flag = 1; flag < FILTER_STRICT_MEMORY; flag *= 2)
			assert_allows_no_more(v, v | flag);
}

static void
strict_memory_grants_nothing(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		assert_allows_no_more(v | FILTER_STRICT_MEMORY,
				      v & ~(unsigned)FILTER_STRICT_MEMORY);
}

/* Filters add up: a call that is refused to the keeper is refused to its
   jails. */
static void
keeper_is_allowed_whatever_init_and_code_are(void **state)
{
	(void)state;
	assert_allows_no_more(FILTER_INIT, FILTER_KEEPER);
	assert_allows_no_more(FILTER_PROXY, FILTER_KEEPER_NETWORK);
	assert_allows_no_more(FILTER_WATCHER, FILTER_KEEPER);
	assert_allows_no_more(FILTER_GUEST, FILTER_KEEPER);
	assert_allows_no_more(FILTER_KEEPER, FILTER_KEEPER_NETWORK);
	for (unsigned v = 0; v < FILTER_INIT; v++)
		assert_allows_no_more(v, v & FILTER_NETWORK
						 ? FILTER_KEEPER_NETWORK
						 : FILTER_KEEPER);
	assert_allows_no_more(FILTER_LOCAL, FILTER_KEEPER);
	assert_allows_no_more(FILTER_LOCAL_NETWORK, FILTER_KEEPER_NETWORK);
}

/* FILTER_UNIX adds rows, and takes none away. */
static void
unix_sockets_remove_no_permission(void **state)
{
	(void)state;
	assert_allows_no_more(FILTER_SUBPROCESS, FILTER_LOCAL);
	assert_allows_no_more(FILTER_SUBPROCESS | FILTER_NETWORK,
			      FILTER_LOCAL_NETWORK);
	assert_allows_no_more(FILTER_LOCAL, FILTER_LOCAL_NETWORK);
}

static void
filter_of_code_has_unix_sockets_only_with_programs(void **state)
{
	(void)state;
	for (unsigned p = 0; p < FILTER_WASM; p++) {
		unsigned without = p & ~(unsigned)FILTER_UNIX;
		unsigned want = without;

		if (p == (FILTER_UNIX | FILTER_SUBPROCESS))
			want = FILTER_LOCAL;
		if (p == (FILTER_UNIX | FILTER_SUBPROCESS | FILTER_NETWORK))
			want = FILTER_LOCAL_NETWORK;
		assert_int_equal(filter_of_code(p, false), want);
		assert_int_equal(filter_of_code(p, true),
				 p & FILTER_NETWORK ? FILTER_BARE_NETWORK
						    : FILTER_BARE);
	}
}

/* Filters add up: a call that is refused to a zygote is refused to its
   children. */
static void
zygote_is_allowed_whatever_code_is(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		assert_allows_no_more(v, FILTER_ZYGOTE);
	assert_allows_no_more(FILTER_LOCAL, FILTER_ZYGOTE);
	assert_allows_no_more(FILTER_LOCAL_NETWORK, FILTER_ZYGOTE);
	assert_allows_no_more(FILTER_IMPORT, FILTER_ZYGOTE);
}

static bool
is_closed(const char *name, unsigned variant)
{
	static const char *const strict[] = { "sendmsg", "sendmmsg" };
	static const char *const synced[] = { "fsync", "fdatasync",
					      "sync_file_range" };

	unsigned flags = variant - FILTER_CLOSING;

	if (!name || strcmp(name, "seccomp") == 0)
		return name;
	for (size_t i = 0; i < ARRAY_LEN(strict); i++)
		if (strcmp(name, strict[i]) == 0)
			return flags & CLOSING_STRICT;
	for (size_t i = 0; i < ARRAY_LEN(synced); i++)
		if (strcmp(name, synced[i]) == 0)
			return !(flags & CLOSING_DIRECT);
	if (strcmp(name, "memfd_create") == 0)
		return flags & CLOSING_NO_MEMFD;
	/* Without arguments it names no family. */
	if (strcmp(name, "socketpair") == 0)
		return flags & CLOSING_STREAMS;
	return false;
}

/* A call that the closing filter allows is decided by the filter below. */
static void
closing_filters_remove_only_the_lock_down_calls(void **state)
{
	(void)state;
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned v = FILTER_CLOSING; v < FILTER_VARIANTS; v++)
			for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
				assert_int_equal(
					query_call(arch, v, nr, no_args)
							.action != ALLOW,
					is_closed(query_call_name(arch, nr),
						  v));
	expect(FILTER_CLOSING, "seccomp", REFUSE(ENOSYS), 1);
	expect(FILTER_CLOSING_STRICT, "seccomp", REFUSE(ENOSYS), 1);
	expect(FILTER_CLOSING_STRICT, "sendmsg", REFUSE(EPERM), 0);
	expect(FILTER_CLOSING_STRICT, "sendmmsg", REFUSE(EPERM), 0);
}

/* Programs check the result of fsync, so it is never a refusal. */
static void
fsync_succeeds_and_is_executed_only_in_mode_direct(void **state)
{
	static const char *const names[] = { "fsync", "fdatasync",
					     "sync_file_range" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		expect(FILTER_CLOSING, names[i], IGNORE, 3);
		expect(FILTER_CLOSING_STRICT, names[i], IGNORE, 3);
		expect(FILTER_CLOSING_DIRECT, names[i], ALLOW, 3);
		expect(FILTER_CLOSING_DIRECT_STRICT, names[i], ALLOW, 3);
		expect(0, names[i], ALLOW, 3);
	}
	for (unsigned v = 0; v < FILTER_INIT; v++)
		expect(v, "fadvise64", IGNORE, 3);
}

/* ERRNO takes precedence over USER_NOTIF: a plain refusal in a lower filter
   would hide the explanation. */
static void
assert_hides_nothing(enum filter_arch arch, unsigned nr, unsigned code,
		     unsigned below)
{
	const struct filter *f = filter_for(arch, code);
	uint64_t seed = nr, args[QUERY_ARGS] = { 0 };

	for (int i = 0; i < TRIES; i++) {
		uint32_t action = query_call(arch, code, nr, args).action;
		uint32_t under = query_call(arch, below, nr, args).action;

		if (action != query_refusal(action) && under != ALLOW &&
		    under == query_refusal(under))
			fail_msg("%s: %s is explained in variant %u and "
				 "refused plainly in %u",
				 query_arch_name(arch),
				 query_call_name(arch, nr), code, below);
		if (i == 0 && !query_call(arch, code, nr, args).by_arguments)
			return;
		for (int k = 0; k < QUERY_ARGS; k++)
			args[k] = interesting_argument(f, &seed);
	}
}

static void
lower_filter_hides_no_explanation_of_the_code_filter(void **state)
{
	static const unsigned below[] = { FILTER_KEEPER, FILTER_KEEPER_NETWORK,
					  FILTER_ZYGOTE };

	(void)state;
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned v = 0; v < FILTER_INIT; v++)
			for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
				for (size_t i = 0; i < ARRAY_LEN(below); i++)
					assert_hides_nothing(arch, nr, v,
							     below[i]);
}

/* The keeper answers with filter_verdict(): both must interpret the programs in
   the same way. */
static void
filter_verdict_matches_the_interpreter(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_VARIANTS; v++) {
		const struct filter *f = filter_for(FILTER_X86_64, v);
		uint64_t seed = v;

		for (int i = 0; i < 20 * TRIES; i++) {
			struct seccomp_data data = {
				.nr = (int)(next_random(&seed) %
					    QUERY_LAST_CALL),
				.arch = AUDIT_ARCH_X86_64,
			};

			for (int k = 0; k < QUERY_ARGS; k++)
				data.args[k] = interesting_argument(f, &seed);
			assert_int_equal(filter_verdict(f, &data),
					 bpf_run(f, &data).action);
		}
	}
}

/* The keeper's filter is below the zygote's. */
static void
zygote_is_allowed_no_more_than_the_keeper(void **state)
{
	(void)state;
	assert_allows_no_more(FILTER_ZYGOTE, FILTER_KEEPER_NETWORK);
}

/* Verdicts. */

static const char *
verdict_name(enum filter_arch arch, unsigned variant, unsigned nr)
{
	struct bpf_outcome o = query_call(arch, variant, nr, no_args);

	return o.by_arguments ? "arguments" : query_action_name(o.action);
}

static bool
is_worth_a_column(unsigned variant, const char *said, const char *usual)
{
	if (variant == FILTER_INIT || variant == FILTER_PROXY ||
	    variant == FILTER_WATCHER || variant == FILTER_GUEST)
		return strcmp(said, "allow") == 0 ||
		       strcmp(said, "arguments") == 0;
	if (variant == FILTER_CLOSING)
		return strcmp(said, "allow") != 0;
	return strcmp(said, usual) != 0;
}

/* The variant that a column is compared with. */
static unsigned
base_variant_of(unsigned variant)
{
	switch (variant) {
	case FILTER_KEEPER_NETWORK:
		return FILTER_KEEPER;
	case FILTER_ZYGOTE:
		return FILTER_SUBPROCESS;
	case FILTER_IMPORT:
		return FILTER_NETWORK;
	case FILTER_LOCAL:
		return FILTER_SUBPROCESS;
	case FILTER_LOCAL_NETWORK:
		return FILTER_LOCAL;
	case FILTER_BARE:
		return FILTER_STRICT_MEMORY;
	case FILTER_BARE_NETWORK:
		return FILTER_STRICT_MEMORY | FILTER_NETWORK;
	case FILTER_CLOSING_STRICT:
	case FILTER_CLOSING_DIRECT:
	case FILTER_CLOSING + CLOSING_NO_MEMFD:
	case FILTER_CLOSING + CLOSING_STREAMS:
		return FILTER_CLOSING;
	case FILTER_CLOSING_DIRECT_STRICT:
		return FILTER_CLOSING_DIRECT;
	default:
		return 0;
	}
}

static void
write_row(FILE *f, enum filter_arch arch, unsigned nr)
{
	static const unsigned columns[] = {
		FILTER_NETWORK,
		FILTER_SUBPROCESS,
		FILTER_FORKABLE,
		FILTER_STRICT_MEMORY,
		FILTER_INIT,
		FILTER_KEEPER,
		FILTER_KEEPER_NETWORK,
		FILTER_ZYGOTE,
		FILTER_IMPORT,
		FILTER_BARE,
		FILTER_BARE_NETWORK,
		FILTER_LOCAL,
		FILTER_LOCAL_NETWORK,
		FILTER_PROXY,
		FILTER_WATCHER,
		FILTER_GUEST,
		FILTER_CLOSING,
		FILTER_CLOSING_STRICT,
		FILTER_CLOSING_DIRECT,
		FILTER_CLOSING_DIRECT_STRICT,
		FILTER_CLOSING + CLOSING_NO_MEMFD,
		FILTER_CLOSING + CLOSING_STREAMS,
	};

	fprintf(f, "%s %u %s %s", query_arch_name(arch), nr,
		query_call_name(arch, nr), verdict_name(arch, 0, nr));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const char *said = verdict_name(arch, columns[i], nr);
		const char *usual =
			verdict_name(arch, base_variant_of(columns[i]), nr);

		if (is_worth_a_column(columns[i], said, usual))
			fprintf(f, " %s=%s", query_variant_name(columns[i]),
				said);
	}
	fputc('\n', f);
}

/* number_without_a_name_gets_enosys() tests the numbers left out here. */
static void
write_verdicts(FILE *f)
{
	fprintf(f, "# What the filters answer; see test_filter.c. A number "
		   "that is not here: ENOSYS.\n");
	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
		for (unsigned nr = 0; nr <= QUERY_LAST_CALL; nr++)
			if (query_call_name(arch, nr))
				write_row(f, arch, nr);
}

static void
compare_line(const char *want, const char *got, int line)
{
	if (strcmp(want, got) != 0)
		fail_msg("%s:%d says   %s  but the filter says   %s",
			 verdicts_path, line, want, got);
}

static void
verdicts_match_the_golden_file(void **state)
{
	char want[256], got[256];
	FILE *golden = fopen(verdicts_path, "r");
	FILE *now = tmpfile();
	int line = 0;

	(void)state;
	assert_non_null(golden);
	assert_non_null(now);
	write_verdicts(now);
	rewind(now);
	while (fgets(got, sizeof(got), now)) {
		line++;
		if (!fgets(want, sizeof(want), golden))
			fail_msg("%s ends at line %d, before %s", verdicts_path,
				 line, got);
		compare_line(want, got, line);
	}
	if (fgets(want, sizeof(want), golden))
		fail_msg("%s has more rows than the filter: %s", verdicts_path,
			 want);
	fclose(golden);
	fclose(now);
}

static int
write_golden_file(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		return 1;
	}
	write_verdicts(f);
	return fclose(f) == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_is_accepted_by_the_kernel),
		cmocka_unit_test(
			filter_for_returns_null_after_the_last_variant),
		cmocka_unit_test(
			interpreter_refuses_programs_that_the_kernel_refuses),
		cmocka_unit_test(foreign_architecture_is_killed),
		cmocka_unit_test(x32_numbers_are_killed_on_x86_64),
		cmocka_unit_test(number_without_a_name_gets_enosys),
		cmocka_unit_test(
			network_subprocess_and_forkable_remove_no_permission),
		cmocka_unit_test(strict_memory_grants_nothing),
		cmocka_unit_test(keeper_is_allowed_whatever_init_and_code_are),
		cmocka_unit_test(zygote_is_allowed_whatever_code_is),
		cmocka_unit_test(unix_sockets_remove_no_permission),
		cmocka_unit_test(
			filter_of_code_has_unix_sockets_only_with_programs),
		cmocka_unit_test(zygote_is_allowed_no_more_than_the_keeper),
		cmocka_unit_test(
			closing_filters_remove_only_the_lock_down_calls),
		cmocka_unit_test(
			fsync_succeeds_and_is_executed_only_in_mode_direct),
		cmocka_unit_test(
			lower_filter_hides_no_explanation_of_the_code_filter),
		cmocka_unit_test(filter_verdict_matches_the_interpreter),
		cmocka_unit_test(verdicts_match_the_golden_file),
	};

	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return write_golden_file(argv[2]);
	if (argc != 2) {
		fprintf(stderr, "usage: test_filter [--write] FILE\n");
		return 2;
	}
	verdicts_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

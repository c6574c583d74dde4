/*
 * outcome: facts come from the kernel, claims come from the code. All
 * combinations of both are tried, and each must satisfy the same rules.
 */
#include "base/own.h"
#include "keeper/output/outcome.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define EXITED(code) ((code) << 8)
#define BY(signal)   (signal)

enum { CLAIMS = CLAIM_REJECTED + 1, NO_WAIT_STATUS = -1, NO_CODE = -1 };

static const int wait_statuses[] = {
	NO_WAIT_STATUS, EXITED(0),   EXITED(1),	  EXITED(3),
	EXITED(255),	BY(SIGKILL), BY(SIGSEGV), BY(SIGXCPU),
};

/* Processor time without a limit; well below a limit of 1000 ms, since ticks
   and clocks differ by a few percent; and up to the limit. */
static const struct {
	uint64_t us, limit_ms;
} cpu_times[] = {
	{ 5000000, 0 },
	{ 800000, 1000 },
	{ 1000000, 1000 },
};

/* The exit codes that are claimed. */
static const int claimed_codes[] = { NO_CODE, 0, 1, 3, 255 };

enum {
	BIT_INIT_DIED = 1,
	BIT_TIMED_OUT = 2,
	BIT_OVER_CEILING = 4,
	BIT_INTERRUPTED = 8,
	BIT_OVER_CPU = 16,
	BIT_OOM = 32,
	BIT_CHECKED_ONLY = 64,
	BITS = 128,
};

static struct facts
facts_of(unsigned bits, int wait_status, size_t cpu)
{
	return (struct facts){
		.has_wait_status = wait_status != NO_WAIT_STATUS,
		.wait_status = wait_status == NO_WAIT_STATUS ? 0 : wait_status,
		.init_died = bits & BIT_INIT_DIED,
		.timed_out = bits & BIT_TIMED_OUT,
		.over_ceiling = bits & BIT_OVER_CEILING,
		.interrupted = bits & BIT_INTERRUPTED,
		.over_cpu = bits & BIT_OVER_CPU,
		.oom_kills = bits & BIT_OOM ? 2 : 0,
		.cpu_us = cpu_times[cpu].us,
		.cpu_limit_ms = cpu_times[cpu].limit_ms,
		.checked_only = bits & BIT_CHECKED_ONLY,
	};
}

static bool
exited(const struct facts *f)
{
	return f->has_wait_status && WIFEXITED(f->wait_status);
}

/* Whether the code claims to be done while no fact shows that it is dead. */
static bool
waits(const struct facts *f, const struct claim *c)
{
	return !f->has_wait_status && !f->init_died && c->has_exit_code;
}

/* From the kernel, or from the claim of a process that waits; NO_CODE: none. */
static int
exit_code(const struct facts *f, const struct claim *c)
{
	if (exited(f))
		return WEXITSTATUS(f->wait_status);
	return waits(f, c) ? c->exit_code : NO_CODE;
}

/* Limits end code only by SIGKILL. It also looks like that if pid 1 is gone and
   could not report how the code ended. */
static bool
by_kill(const struct facts *f, const struct claim *c)
{
	if (!f->has_wait_status)
		return !waits(f, c);
	return WIFSIGNALED(f->wait_status) &&
	       WTERMSIG(f->wait_status) == SIGKILL;
}

static bool
cpu_used_up(const struct facts *f)
{
	return f->cpu_limit_ms && f->cpu_us >= f->cpu_limit_ms * 1000;
}

static struct claim
claim_of(enum claim_kind kind, int code)
{
	return (struct claim){
		.kind = kind,
		.has_exit_code = code != NO_CODE,
		.exit_code = code == NO_CODE ? 0 : code,
	};
}

static struct outcome
reach_with(const struct facts *f, const struct claim *c)
{
	struct outcome v;

	memset(&v, 0xa5, sizeof(v));
	outcome_decide(&v, f, c);
	return v;
}

static struct outcome
reach(const struct facts *f, enum claim_kind kind)
{
	struct claim c = claim_of(kind, NO_CODE);

	return reach_with(f, &c);
}

typedef void check_fn(const struct facts *f, const struct claim *c,
		      const struct outcome *v);

/* Describes the combination for the message of a failure. */
static char looked_at[256];

#define must(truth)                                                   \
	do {                                                          \
		if (!(truth))                                         \
			fail_msg("%s does not hold for %s", (#truth), \
				 looked_at);                          \
	} while (0)

static void
send_as_client(check_fn *question, unsigned bits, int wait_status, size_t cpu)
{
	struct facts f = facts_of(bits, wait_status, cpu);

	for (size_t k = 0; k < CLAIMS * ARRAY_LEN(claimed_codes); k++) {
		int code = claimed_codes[k / CLAIMS];
		struct claim c = claim_of((enum claim_kind)(k % CLAIMS), code);
		struct outcome v = reach_with(&f, &c);

		snprintf(looked_at, sizeof(looked_at),
			 "wait %d, bits %u, cpu %zu, claim %d %d: status %d, "
			 "exit %d %d, signal %d",
			 wait_status, bits, cpu, (int)c.kind, code,
			 (int)v.status, v.has_exit_code, v.exit_code, v.signal);
		question(&f, &c, &v);
	}
}

static void
check_all(check_fn *question)
{
	for (unsigned bits = 0; bits < BITS; bits++)
		for (size_t w = 0; w < ARRAY_LEN(wait_statuses); w++)
			for (size_t cpu = 0; cpu < ARRAY_LEN(cpu_times); cpu++)
				send_as_client(question, bits, wait_statuses[w],
					       cpu);
}

static void
check_rejected(const struct facts *f, const struct claim *c,
	       const struct outcome *v)
{
	(void)f;
	must((v->status == STATUS_REJECTED) == (c->kind == CLAIM_REJECTED));
	if (c->kind == CLAIM_REJECTED)
		must(!v->has_exit_code && !v->signal && v->status_is_claim);
}

/* Nothing ran, and the keeper itself kills the jail afterwards. */
static void
rejected_status_requires_a_rejected_claim(void **state)
{
	(void)state;
	check_all(check_rejected);
}

static void
check_same_facts(const struct facts *f, const struct claim *c,
		 const struct outcome *v)
{
	struct outcome silent = reach(f, CLAIM_NONE);

	if (c->kind == CLAIM_REJECTED || waits(f, c))
		return;
	must(v->has_exit_code == silent.has_exit_code);
	must(v->exit_code == silent.exit_code);
	must(v->signal == silent.signal);
	if (v->status == silent.status)
		return;
	/* A claim may decide only between ok and error, if the code has
	   exited. */
	must(exited(f));
	must(silent.status == STATUS_EXIT ||
	     silent.status == STATUS_INTERRUPTED);
	must(v->status == STATUS_OK || v->status == STATUS_ERROR);
	must(v->status_is_claim);
}

static void
claims_change_no_fact(void **state)
{
	(void)state;
	check_all(check_same_facts);
}

static bool
is_forced(enum status s)
{
	return s == STATUS_MEMORY_LIMIT || s == STATUS_OUTPUT_LIMIT ||
	       s == STATUS_CPU_LIMIT || s == STATUS_TIMEOUT;
}

static void
check_wait_status(const struct facts *f, const struct claim *c,
		  const struct outcome *v)
{
	if (c->kind == CLAIM_REJECTED)
		return;
	if (v->has_exit_code)
		must(v->exit_code == exit_code(f, c));
	if (v->status == STATUS_OK && f->checked_only) {
		must(!v->has_exit_code && !v->signal);
		return;
	}
	/* A forced end has no exit code, whatever was claimed before. */
	must(v->has_exit_code ==
	     (exited(f) || (waits(f, c) && !is_forced(v->status))));
	if (exited(f) || waits(f, c))
		must(v->signal == 0);
	else if (f->has_wait_status)
		must(v->signal == WTERMSIG(f->wait_status));
	else
		must(v->signal == SIGKILL);
}

static void
exit_code_and_signal_come_from_the_wait_status(void **state)
{
	(void)state;
	check_all(check_wait_status);
}

/* What ended the run by force, in order of precedence. */
static enum status
force(const struct facts *f, const struct claim *c)
{
	if (f->oom_kills && (by_kill(f, c) || f->init_died))
		return STATUS_MEMORY_LIMIT;
	if (f->over_ceiling)
		return STATUS_OUTPUT_LIMIT;
	if (f->over_cpu || (!f->timed_out && by_kill(f, c) && cpu_used_up(f)))
		return STATUS_CPU_LIMIT;
	if (f->timed_out)
		return STATUS_TIMEOUT;
	return STATUS_COUNT;
}

static void
check_force(const struct facts *f, const struct claim *c,
	    const struct outcome *v)
{
	if (c->kind == CLAIM_REJECTED)
		return;
	must(is_forced(v->status) == (force(f, c) != STATUS_COUNT));
	if (is_forced(v->status))
		must(v->status == force(f, c) && !v->status_is_claim);
}

static void
forced_end_overrides_claims_in_order_of_precedence(void **state)
{
	(void)state;
	check_all(check_force);
}

static void
check_grounds(const struct facts *f, const struct claim *c,
	      const struct outcome *v)
{
	switch (v->status) {
	case STATUS_OK:
		must(f->checked_only ||
		     (c->kind == CLAIM_OK && exit_code(f, c) == 0));
		break;
	case STATUS_ERROR:
		must(c->kind == CLAIM_ERROR && exit_code(f, c) == 1);
		must(!f->interrupted);
		break;
	case STATUS_EXIT:
		must(exit_code(f, c) != NO_CODE && !f->interrupted);
		break;
	case STATUS_KILLED:
		must(exit_code(f, c) == NO_CODE && !f->interrupted &&
		     v->signal);
		break;
	case STATUS_INTERRUPTED:
		must(f->interrupted);
		break;
	case STATUS_MEMORY_LIMIT:
		must(f->oom_kills);
		break;
	case STATUS_TIMEOUT:
		must(f->timed_out);
		break;
	case STATUS_OUTPUT_LIMIT:
		must(f->over_ceiling);
		break;
	case STATUS_CPU_LIMIT:
		must(f->over_cpu || (by_kill(f, c) && cpu_used_up(f)));
		break;
	case STATUS_REJECTED:
		break;
	default:
		must(!"a status that no run of code can have");
	}
}

static void
statuses_require_matching_facts(void **state)
{
	(void)state;
	check_all(check_grounds);
}

static void
check_marked(const struct facts *f, const struct claim *c,
	     const struct outcome *v)
{
	bool claim = v->status == STATUS_OK || v->status == STATUS_ERROR ||
		     v->status == STATUS_EXIT || v->status == STATUS_REJECTED;

	(void)c;
	must(v->status_is_claim == claim);
	must(v->exit_code_is_claim ==
	     (v->has_exit_code && !f->has_wait_status));
}

static void
status_is_marked_as_reported_if_a_claim_contributed(void **state)
{
	(void)state;
	check_all(check_marked);
}

static void
check_dead(const struct facts *f, const struct claim *c,
	   const struct outcome *v)
{
	struct outcome without = reach(f, c->kind);

	if (!f->has_wait_status && !f->init_died)
		return;
	must(v->status == without.status);
	must(v->has_exit_code == without.has_exit_code);
	must(v->exit_code == without.exit_code);
	must(v->exit_code_is_claim == without.exit_code_is_claim);
	must(v->signal == without.signal);
	must(v->status_is_claim == without.status_is_claim);
}

static void
claimed_exit_code_is_ignored_after_a_real_end(void **state)
{
	(void)state;
	check_all(check_dead);
}

/* The answer does not wait for the exit. */
static void
claimed_end_counts_unless_a_fact_contradicts(void **state)
{
	static const struct {
		unsigned bits;
		enum claim_kind claim;
		int code;
		enum status status;
		bool has_code;
	} rows[] = {
		{ 0, CLAIM_OK, 0, STATUS_OK, true },
		{ 0, CLAIM_ERROR, 1, STATUS_ERROR, true },
		{ 0, CLAIM_EXIT, 0, STATUS_EXIT, true },
		{ 0, CLAIM_EXIT, 3, STATUS_EXIT, true },
		/* a kind that contradicts its exit code */
		{ 0, CLAIM_OK, 1, STATUS_EXIT, true },
		{ 0, CLAIM_ERROR, 0, STATUS_EXIT, true },
		{ BIT_INTERRUPTED, CLAIM_OK, 0, STATUS_OK, true },
		{ BIT_INTERRUPTED, CLAIM_ERROR, 1, STATUS_INTERRUPTED, true },
		{ BIT_INTERRUPTED, CLAIM_EXIT, 0, STATUS_INTERRUPTED, true },
		{ BIT_INTERRUPTED, CLAIM_EXIT, 3, STATUS_INTERRUPTED, true },
		/* facts */
		{ BIT_TIMED_OUT, CLAIM_OK, 0, STATUS_TIMEOUT, false },
		{ BIT_OVER_CPU, CLAIM_OK, 0, STATUS_CPU_LIMIT, false },
		{ BIT_OVER_CEILING, CLAIM_OK, 0, STATUS_OUTPUT_LIMIT, false },
		{ BIT_OOM | BIT_INIT_DIED, CLAIM_OK, 0, STATUS_MEMORY_LIMIT,
		  false },
		{ BIT_INIT_DIED, CLAIM_OK, 0, STATUS_KILLED, false },
		{ BIT_INIT_DIED | BIT_INTERRUPTED, CLAIM_OK, 0,
		  STATUS_INTERRUPTED, false },
		/* a child was killed for memory; the program ended well */
		{ BIT_OOM, CLAIM_OK, 0, STATUS_OK, true },
		{ BIT_CHECKED_ONLY, CLAIM_EXIT, 3, STATUS_OK, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct facts f = facts_of(rows[i].bits, NO_WAIT_STATUS, 0);
		struct claim c = claim_of(rows[i].claim, rows[i].code);
		struct outcome v = reach_with(&f, &c);

		if (v.status != rows[i].status ||
		    v.has_exit_code != rows[i].has_code ||
		    v.exit_code_is_claim != rows[i].has_code)
			fail_msg("row %zu: %s, exit code %d, a claim %d", i,
				 statuses[v.status].name, v.has_exit_code,
				 v.exit_code_is_claim);
		if (rows[i].has_code) {
			assert_int_equal(v.exit_code, rows[i].code);
			assert_int_equal(v.signal, 0);
		}
	}
}

/* One readable example for each way to end. */
static void
ends_have_distinct_statuses(void **state)
{
	static const struct {
		unsigned bits;
		int wait_status;
		size_t cpu;
		enum claim_kind claim;
		enum status status;
	} rows[] = {
		{ 0, EXITED(0), 0, CLAIM_OK, STATUS_OK },
		{ 0, EXITED(1), 0, CLAIM_ERROR, STATUS_ERROR },
		{ 0, EXITED(3), 0, CLAIM_EXIT, STATUS_EXIT },
		{ 0, EXITED(0), 0, CLAIM_NONE, STATUS_EXIT },
		/* false claims */
		{ 0, EXITED(1), 0, CLAIM_OK, STATUS_EXIT },
		{ 0, EXITED(0), 0, CLAIM_ERROR, STATUS_EXIT },
		{ 0, BY(SIGSEGV), 0, CLAIM_OK, STATUS_KILLED },
		{ BIT_TIMED_OUT, BY(SIGKILL), 0, CLAIM_OK, STATUS_TIMEOUT },
		{ BIT_OVER_CPU, BY(SIGKILL), 0, CLAIM_OK, STATUS_CPU_LIMIT },
		{ BIT_OVER_CEILING, EXITED(0), 0, CLAIM_OK,
		  STATUS_OUTPUT_LIMIT },
		{ BIT_OOM, BY(SIGKILL), 0, CLAIM_OK, STATUS_MEMORY_LIMIT },
		/* the kernel's kill for memory while the deadline passes */
		{ BIT_OOM | BIT_TIMED_OUT, BY(SIGKILL), 0, CLAIM_NONE,
		  STATUS_MEMORY_LIMIT },
		{ BIT_OOM | BIT_INIT_DIED, NO_WAIT_STATUS, 0, CLAIM_NONE,
		  STATUS_MEMORY_LIMIT },
		/* a child was killed for memory; the code lived on */
		{ BIT_OOM, EXITED(0), 0, CLAIM_OK, STATUS_OK },
		{ BIT_OOM | BIT_TIMED_OUT, EXITED(0), 0, CLAIM_OK,
		  STATUS_TIMEOUT },
		{ BIT_OOM, BY(SIGSEGV), 0, CLAIM_NONE, STATUS_KILLED },
		/* the kill by RLIMIT_CPU, and a crash at the same moment */
		{ 0, BY(SIGKILL), 2, CLAIM_NONE, STATUS_CPU_LIMIT },
		{ 0, NO_WAIT_STATUS, 2, CLAIM_NONE, STATUS_CPU_LIMIT },
		{ 0, BY(SIGKILL), 1, CLAIM_NONE, STATUS_KILLED },
		{ 0, BY(SIGKILL), 0, CLAIM_NONE, STATUS_KILLED },
		{ 0, BY(SIGSEGV), 2, CLAIM_NONE, STATUS_KILLED },
		{ 0, BY(SIGXCPU), 2, CLAIM_NONE, STATUS_KILLED },
		{ BIT_TIMED_OUT, BY(SIGKILL), 2, CLAIM_NONE, STATUS_TIMEOUT },
		{ 0, EXITED(0), 2, CLAIM_OK, STATUS_OK },
		{ BIT_INTERRUPTED, BY(SIGKILL), 0, CLAIM_NONE,
		  STATUS_INTERRUPTED },
		{ BIT_INTERRUPTED, EXITED(1), 0, CLAIM_ERROR,
		  STATUS_INTERRUPTED },
		{ BIT_INTERRUPTED, EXITED(0), 0, CLAIM_OK, STATUS_OK },
		{ BIT_CHECKED_ONLY, BY(SIGKILL), 0, CLAIM_NONE, STATUS_OK },
		{ BIT_CHECKED_ONLY | BIT_OOM, BY(SIGKILL), 0, CLAIM_NONE,
		  STATUS_MEMORY_LIMIT },
		{ 0, BY(SIGKILL), 0, CLAIM_REJECTED, STATUS_REJECTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct facts f = facts_of(rows[i].bits, rows[i].wait_status,
					  rows[i].cpu);
		struct outcome v = reach(&f, rows[i].claim);

		if (v.status != rows[i].status)
			fail_msg("row %zu: %s, not %s", i,
				 statuses[v.status].name,
				 statuses[rows[i].status].name);
	}
}

static enum status
after(int wait_status, uint64_t us, uint64_t limit_ms)
{
	struct facts f = facts_of(0, wait_status, 0);

	f.cpu_us = us;
	f.cpu_limit_ms = limit_ms;
	return reach(&f, CLAIM_NONE).status;
}

static void
kill_near_the_cpu_limit_is_cpu_limit(void **state)
{
	static const struct {
		uint64_t limit_ms, least_us;
	} rows[] = {
		{ 1000, 900000 },
		{ 30000, 27000000 },
		{ 10, 9000 },
		{ 1500, 1350000 },
		{ 9, 9000 },
		{ 1, 1000 },
		{ 86400000, UINT64_C(77760000000) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t limit = rows[i].limit_ms, us = rows[i].least_us;
		static const int kills[] = { NO_WAIT_STATUS, BY(SIGKILL) };

		for (size_t k = 0; k < ARRAY_LEN(kills); k++) {
			assert_int_equal(after(kills[k], us, limit),
					 STATUS_CPU_LIMIT);
			assert_int_equal(after(kills[k], us * 2, limit),
					 STATUS_CPU_LIMIT);
			assert_int_equal(after(kills[k], us - 1, limit),
					 STATUS_KILLED);
			assert_int_equal(after(kills[k], 0, limit),
					 STATUS_KILLED);
			assert_int_equal(after(kills[k], us, 0), STATUS_KILLED);
		}
	}
}

static void
other_signals_are_never_cpu_limit(void **state)
{
	(void)state;
	for (int sig = 1; sig <= 64; sig++) {
		enum status want =
			sig == SIGKILL ? STATUS_CPU_LIMIT : STATUS_KILLED;

		assert_int_equal(after(BY(sig), 900000, 1000), want);
		assert_int_equal(after(BY(sig), 1000000, 1000), want);
		assert_int_equal(after(BY(sig), 5000000, 1000), want);
		/* with a core dump */
		assert_int_equal(after(BY(sig) | 0x80, 1000000, 1000), want);
	}
	/* The exit code that a shell uses for SIGKILL is an ordinary code. */
	assert_int_equal(after(EXITED(137), 1000000, 1000), STATUS_EXIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rejected_status_requires_a_rejected_claim),
		cmocka_unit_test(claims_change_no_fact),
		cmocka_unit_test(
			exit_code_and_signal_come_from_the_wait_status),
		cmocka_unit_test(
			forced_end_overrides_claims_in_order_of_precedence),
		cmocka_unit_test(statuses_require_matching_facts),
		cmocka_unit_test(
			status_is_marked_as_reported_if_a_claim_contributed),
		cmocka_unit_test(claimed_exit_code_is_ignored_after_a_real_end),
		cmocka_unit_test(claimed_end_counts_unless_a_fact_contradicts),
		cmocka_unit_test(ends_have_distinct_statuses),
		cmocka_unit_test(kill_near_the_cpu_limit_is_cpu_limit),
		cmocka_unit_test(other_signals_are_never_cpu_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

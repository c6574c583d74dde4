/*
 * filter_query: for tests, what a filter answers to a call, by the call's name.
 */
#ifndef REMIT_TEST_FILTER_QUERY_H
#define REMIT_TEST_FILTER_QUERY_H

#include "jail/seccomp/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * This runs seccomp programs without a kernel, so that tests can try any call,
 * any argument and both architectures.
 *
 * It accepts only the instructions that our programs contain. The kernel
 * follows the same ones when it determines which calls it can allow without
 * running the program (seccomp_is_const_allow). Everything else is refused, and
 * so is everything that bpf_check_classic() and seccomp_check_filter() of the
 * kernel refuse.
 */

/* Returns NULL if the kernel would load the program, else what is wrong with
   it. */
const char *bpf_complaint(const struct filter *filter);

struct bpf_outcome {
	uint32_t action;
	bool by_arguments; /* the program has read an argument */
};

/* Only for programs without a complaint. */
struct bpf_outcome bpf_run(const struct filter *filter,
			   const struct seccomp_data *data);

#define ALLOW	    SECCOMP_RET_ALLOW
#define KILL	    SECCOMP_RET_KILL_PROCESS
#define REFUSE(err) (SECCOMP_RET_ERRNO | (err))
#define IGNORE	    REFUSE(0)
/* The keeper is notified, and refuses the call with this error. */
#define EXPLAIN(err) (SECCOMP_RET_USER_NOTIF | (err))

/* Every number from 0 to this one is tested. */
#define QUERY_LAST_CALL 600

#define QUERY_ARGS 6

/* Bits that the kernel ignores in an int, as a filter must. */
#define HIGH UINT64_C(0xdeadbeef00000000)

#define BIT(n) (UINT64_C(1) << (n))

#define IS_ONE_OF(value, list) is_one_of(value, list, ARRAY_LEN(list))
bool is_one_of(uint64_t value, const uint64_t *list, size_t n);

const char *query_arch_name(enum filter_arch arch);
const char *query_variant_name(unsigned variant);
/* "allow", "kill", "EPERM", … */
const char *query_action_name(uint32_t action);
/* NULL for a number without a name. */
const char *query_call_name(enum filter_arch arch, unsigned nr);
/* -1 if the architecture has no such call. */
int query_number(enum filter_arch arch, const char *name);

struct bpf_outcome query_call(enum filter_arch arch, unsigned variant,
			      unsigned nr, const uint64_t args[QUERY_ARGS]);

/* Treats an explained refusal as a plain one: the caller sees no difference. */
uint32_t query_refusal(uint32_t action);

/*
 * The test fails unless every architecture that has the call gives this answer.
 * The arguments of the call follow the action; missing ones are zero. Whether a
 * refusal is explained is not tested here, but by verdicts.txt.
 */
#define expect(variant, name, action, ...)   \
	expect_answer(variant, name, action, \
		      (const uint64_t[QUERY_ARGS]){ __VA_ARGS__ })
void expect_answer(unsigned variant, const char *name, uint32_t action,
		   const uint64_t args[QUERY_ARGS]);

#endif

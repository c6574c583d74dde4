#include "assembler.h"

#include "base/own.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below 255, so that instructions put in between do not push a target out of
   reach. */
#define REACH 250

static place
asm_put(struct assembler *as, struct sock_filter insn)
{
	if (as->count == BPF_MAXINSNS) {
		fprintf(stderr, "a filter has more than %d instructions\n",
			BPF_MAXINSNS);
		exit(1);
	}
	as->code[as->count] = insn;
	return as->count++;
}

static bool
is_return(const struct sock_filter *insn)
{
	return insn->code == (BPF_RET | BPF_K);
}

/* How many instructions a jump written next must skip to reach the target. */
static int
asm_distance(const struct assembler *as, place target)
{
	return as->count - target - 1;
}

place
asm_return(struct assembler *as, uint32_t action)
{
	place p;

	for (p = as->count - 1; p >= 0 && asm_distance(as, p) < REACH; p--)
		if (is_return(&as->code[p]) && as->code[p].k == action)
			return p;
	return asm_put(as,
		       (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static place
long_jump(struct assembler *as, place target)
{
	return asm_put(as, (struct sock_filter)BPF_STMT(
				   BPF_JMP | BPF_JA,
				   (uint32_t)asm_distance(as, target)));
}

static place
within_reach(struct assembler *as, place target)
{
	const struct sock_filter *insn = &as->code[target];

	if (asm_distance(as, target) < REACH)
		return target;
	if (is_return(insn))
		return asm_return(as, insn->k);
	return long_jump(as, target);
}

place
asm_branch(struct assembler *as, uint16_t jump, uint32_t value, place yes,
	   place no)
{
	yes = within_reach(as, yes);
	no = within_reach(as, no);
	return asm_put(as, (struct sock_filter)BPF_JUMP(
				   BPF_JMP | jump | BPF_K, value,
				   (uint8_t)asm_distance(as, yes),
				   (uint8_t)asm_distance(as, no)));
}

/* Execution continues with what was written before: jump unless that is `next`.
 */
static void
run_into(struct assembler *as, place next)
{
	if (next != as->count - 1)
		long_jump(as, next);
}

place
asm_load(struct assembler *as, uint32_t offset, place next)
{
	run_into(as, next);
	return asm_put(as, (struct sock_filter)BPF_STMT(
				   BPF_LD | BPF_W | BPF_ABS, offset));
}

static place
load_operand(struct assembler *as, struct operand o, place next)
{
	if (o.mask == UINT32_MAX)
		return asm_load(as, o.offset, next);
	run_into(as, next);
	next = asm_put(as, (struct sock_filter)BPF_STMT(
				   BPF_ALU | BPF_AND | BPF_K, o.mask));
	return asm_load(as, o.offset, next);
}

/*
 * Checks of arguments. A clause becomes a row of 32-bit tests, one or two for
 * each condition. If a test fails, the next clause is tried. If that clause
 * begins with the operand that is already in A, its load is skipped, so that a
 * list of values costs one load, and one jump for each value.
 */

struct test {
	struct operand operand;
	uint32_t value;
};

#define CLAUSE_TESTS (2 * CLAUSE_CONDITIONS)

/* The start of a clause: with the operand in A, and without. */
struct entry {
	struct operand operand;
	place loaded;
	place cold; /* NOWHERE until it is needed */
};

static bool
same_operand(struct operand a, struct operand b)
{
	return a.offset == b.offset && a.mask == b.mask;
}

static size_t
clause_add_test(struct test *tests, size_t n, uint32_t offset, uint32_t mask,
		uint32_t value)
{
	if (mask == 0)
		return n;
	tests[n].operand.offset = offset;
	tests[n].operand.mask = mask;
	tests[n].value = value;
	return n + 1;
}

/* Both architectures are little endian: the low half comes first. */
static size_t
clause_tests(const struct clause *clause, struct test *tests)
{
	size_t n = 0;

	for (size_t i = 0; i < CLAUSE_CONDITIONS; i++) {
		const struct condition *c = &clause->all[i];
		uint32_t low = offsetof(struct seccomp_data, args) +
			       8 * (uint32_t)c->arg;

		if ((c->value & ~c->mask) != 0) {
			fprintf(stderr, "a condition that is never true\n");
			exit(1);
		}
		n = clause_add_test(tests, n, low, (uint32_t)c->mask,
				    (uint32_t)c->value);
		n = clause_add_test(tests, n, low + 4,
				    (uint32_t)(c->mask >> 32),
				    (uint32_t)(c->value >> 32));
	}
	return n;
}

static place
enter_cold(struct assembler *as, struct entry *entry)
{
	if (entry->cold == NOWHERE)
		entry->cold = load_operand(as, entry->operand, entry->loaded);
	return entry->cold;
}

static struct entry
put_clause(struct assembler *as, const struct clause *clause,
	   struct entry *otherwise)
{
	struct test tests[CLAUSE_TESTS];
	size_t n = clause_tests(clause, tests);
	struct entry entry = { .cold = NOWHERE };
	place yes, no;

	if (n == 0) {
		fprintf(stderr, "a clause without conditions\n");
		exit(1);
	}
	/* Write the load now, next to the code that it belongs to. */
	for (size_t i = 0; i < n; i++)
		if (!same_operand(tests[i].operand, otherwise->operand))
			enter_cold(as, otherwise);
	yes = asm_return(as, clause->action);
	for (size_t i = n; i-- > 0;) {
		no = same_operand(tests[i].operand, otherwise->operand)
			     ? otherwise->loaded
			     : enter_cold(as, otherwise);
		entry.operand = tests[i].operand;
		entry.loaded = asm_branch(as, BPF_JEQ, tests[i].value, yes, no);
		if (i > 0)
			yes = load_operand(as, entry.operand, entry.loaded);
	}
	return entry;
}

place
asm_check(struct assembler *as, const struct check *check)
{
	struct entry entry = { .cold = asm_return(as, check->otherwise) };

	entry.loaded = entry.cold;
	for (size_t i = check->count; i-- > 0;)
		entry = put_clause(as, &check->clauses[i], &entry);
	return enter_cold(as, &entry);
}

const struct sock_filter *
asm_at(const struct assembler *as, int i)
{
	return &as->code[as->count - 1 - i];
}

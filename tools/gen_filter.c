/*
 * gen_filter: writes the seccomp programs as C, when Remit is built.
 *
 *	gen_filter programs    the array that filter_for() returns from, for
 *	                       src/jail/seccomp/filter.c
 *	gen_filter names       the names of system calls by number
 *
 * libseccomp only provides the numbers. It cannot express "this argument or
 *else that error" without surprises, so the programs are assembled here:
 *
 *	1. kill if the architecture is another one
 *	2. x86-64: kill if the number is one of x32
 *	3. a balanced tree over ranges of numbers with the same answer
 *	4. the checks of arguments
 *
 * If the table contradicts itself, prints a sentence and exits with 1.
 */
#define _GNU_SOURCE

#include "assembler.h"
#include "base/own.h"
#include "jail/seccomp/filter.h"
#include "jail/seccomp/syscall_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* System calls from this number on have no row and no name. */
#define NUMBERS 512

#define X32_FIRST 0x40000000

static const struct arch {
	const char *name;
	uint32_t libseccomp;
	uint32_t audit;
	bool has_x32;
} arches[FILTER_ARCHES] = {
	[FILTER_X86_64] = {
		.name = "x86_64",
		.libseccomp = SCMP_ARCH_X86_64,
		.audit = AUDIT_ARCH_X86_64,
		.has_x32 = true,
	},
	[FILTER_AARCH64] = {
		.name = "aarch64",
		.libseccomp = SCMP_ARCH_AARCH64,
		.audit = AUDIT_ARCH_AARCH64,
	},
};

struct answer {
	uint32_t action;
	const struct check *check;
};

struct range {
	uint32_t first;
	place target;
};

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *fmt, ...)
{
	va_list ap;

	fputs("gen_filter: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Names become numbers. */

static int
late_number(const char *name)
{
	for (size_t i = 0; i < syscall_late_count; i++)
		if (syscall_late_names[i] &&
		    strcmp(syscall_late_names[i], name) == 0)
			return (int)i;
	fail("%s: libseccomp does not know it, and it has no row in "
	     "syscall_late_names",
	     name);
}

/* Returns -1 if this architecture does not have the call. */
static int
number_of(const struct arch *arch, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(arch->libseccomp, name);

	if (nr == __NR_SCMP_ERROR)
		nr = late_number(name);
	if (nr >= NUMBERS)
		fail("%s has number %d: raise NUMBERS", name, nr);
	/* libseccomp has negative numbers for calls of other architectures. */
	return nr < 0 ? -1 : nr;
}

static const struct call *
find_call(const struct call *calls, const char *name)
{
	for (; calls->name; calls++)
		if (strcmp(calls->name, name) == 0)
			return calls;
	return NULL;
}

static void
require_sane_layer(const struct call *calls)
{
	for (const struct call *c = calls; c->name; c++) {
		if (!find_call(syscall_base, c->name))
			fail("%s has no row in the base layer", c->name);
		if (find_call(c + 1, c->name))
			fail("%s has two rows in a layer", c->name);
		if (!c->check == !c->action)
			fail("%s needs an action or a check", c->name);
		if (number_of(&arches[FILTER_X86_64], c->name) < 0 &&
		    number_of(&arches[FILTER_AARCH64], c->name) < 0)
			fail("%s exists on no architecture", c->name);
	}
}

/* Layers become one answer for each number. */

static bool
is_explained(uint32_t action)
{
	return (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
}

static void
deny_allowed(struct answer *answers)
{
	for (int nr = 0; nr < NUMBERS; nr++) {
		struct answer *a = &answers[nr];

		if (a->check || a->action == ALLOW)
			*a = (struct answer){ .action = REFUSE(EPERM) };
		else if (is_explained(a->action))
			a->action = REFUSE(a->action & SECCOMP_RET_DATA);
	}
}

static void
set_all_answers(uint32_t action, struct answer *answers)
{
	for (int nr = 0; nr < NUMBERS; nr++)
		answers[nr] = (struct answer){ .action = action };
}

static void
apply_layer(const struct arch *arch, const struct layer *layer,
	    struct answer *answers)
{
	if (layer->from_scratch)
		deny_allowed(answers);
	if (layer->kills_rest)
		set_all_answers(KILL, answers);
	if (layer->allows_rest)
		set_all_answers(ALLOW, answers);
	for (const struct call *c = layer->calls; c->name; c++) {
		int nr = number_of(arch, c->name);

		if (nr < 0)
			continue;
		answers[nr].action = c->action;
		answers[nr].check = c->check;
	}
}

static void
build_answers(const struct arch *arch, unsigned variant, struct answer *answers)
{
	unsigned has = syscall_variant_properties(variant);

	set_all_answers(REFUSE(ENOSYS), answers);
	for (size_t i = 0; i < syscall_layer_count; i++)
		if ((has & syscall_layers[i].needs) == syscall_layers[i].needs)
			apply_layer(arch, &syscall_layers[i], answers);
}

/* Answers become a program. */

static bool
same_answer(const struct answer *a, const struct answer *b)
{
	return a->check == b->check && (a->check || a->action == b->action);
}

static size_t
emit_targets(struct assembler *as, const struct answer *answers,
	     struct range *ranges)
{
	size_t n = 0;

	for (uint32_t nr = 0; nr < NUMBERS; nr++) {
		const struct answer *a = &answers[nr];

		if (nr > 0 && same_answer(a, a - 1))
			continue;
		ranges[n].first = nr;
		ranges[n].target = a->check ? asm_check(as, a->check)
					    : asm_return(as, a->action);
		n++;
	}
	return n;
}

static place
emit_tree(struct assembler *as, const struct range *ranges, size_t n)
{
	size_t half = n / 2;
	place upper, lower;

	if (n == 1)
		return ranges->target;
	upper = emit_tree(as, ranges + half, n - half);
	lower = emit_tree(as, ranges, half);
	return asm_branch(as, BPF_JGE, ranges[half].first, upper, lower);
}

static void
assemble_program(struct assembler *as, const struct arch *arch,
		 unsigned variant)
{
	struct answer answers[NUMBERS];
	struct range ranges[NUMBERS];
	place start;
	size_t n;

	as->count = 0;
	build_answers(arch, variant, answers);
	n = emit_targets(as, answers, ranges);
	start = emit_tree(as, ranges, n);
	if (arch->has_x32)
		start = asm_branch(as, BPF_JGE, X32_FIRST, asm_return(as, KILL),
				   start);
	start = asm_load(as, offsetof(struct seccomp_data, nr), start);
	start = asm_branch(as, BPF_JEQ, arch->audit, start,
			   asm_return(as, KILL));
	asm_load(as, offsetof(struct seccomp_data, arch), start);
}

/* Programs become C. */

static bool
same_program(const struct assembler *a, const struct assembler *b)
{
	return a->count == b->count &&
	       memcmp(a->code, b->code,
		      (size_t)a->count * sizeof(a->code[0])) == 0;
}

static void
print_program(const struct assembler *as, const char *arch, unsigned variant)
{
	printf("static const struct sock_filter %s_%u[%d] = {\n", arch, variant,
	       as->count);
	for (int i = 0; i < as->count; i++) {
		const struct sock_filter *insn = asm_at(as, i);

		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", insn->code, insn->jt,
		       insn->jf, insn->k);
	}
	printf("};\n\n");
}

/* Variants with equal programs share one array. */
static void
print_programs(void)
{
	static struct assembler as[FILTER_ARCHES][FILTER_VARIANTS];
	static unsigned same[FILTER_ARCHES][FILTER_VARIANTS];

	printf("/* Written by gen_filter; see syscall_table.h. */\n\n");
	/* The tables contain flags of the machine on which this runs. */
	printf("_Static_assert(O_DIRECT == %#x, \"generate this on a machine "
	       "like the target\");\n\n",
	       (unsigned)O_DIRECT);
	for (unsigned a = 0; a < FILTER_ARCHES; a++) {
		for (unsigned v = 0; v < FILTER_VARIANTS; v++) {
			unsigned *s = &same[a][v];

			assemble_program(&as[a][v], &arches[a], v);
			while (!same_program(&as[a][*s], &as[a][v]))
				++*s;
			if (*s == v)
				print_program(&as[a][v], arches[a].name, v);
		}
	}
	printf("static const struct filter "
	       "programs[FILTER_ARCHES][FILTER_VARIANTS] = {\n");
	for (unsigned a = 0; a < FILTER_ARCHES; a++)
		for (unsigned v = 0; v < FILTER_VARIANTS; v++)
			printf("\t[%u][%u] = { %s_%u, %d },\n", a, v,
			       arches[a].name, same[a][v], as[a][v].count);
	printf("};\n");
}

static void
print_names(void)
{
	printf("/* Written by gen_filter. */\n\n"
	       "static const char *const "
	       "syscall_names[FILTER_ARCHES][%d] = {\n",
	       NUMBERS);
	for (unsigned a = 0; a < FILTER_ARCHES; a++) {
		for (const struct call *c = syscall_base; c->name; c++) {
			int nr = number_of(&arches[a], c->name);

			if (nr >= 0)
				printf("\t[%u][%d] = \"%s\",\n", a, nr,
				       c->name);
		}
	}
	printf("};\n");
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < syscall_layer_count; i++)
		require_sane_layer(syscall_layers[i].calls);
	if (argc == 2 && strcmp(argv[1], "programs") == 0)
		print_programs();
	else if (argc == 2 && strcmp(argv[1], "names") == 0)
		print_names();
	else
		fail("usage: gen_filter programs|names");
	if (fflush(stdout) != 0 || ferror(stdout))
		fail("cannot write: %s", strerror(errno));
	return 0;
}

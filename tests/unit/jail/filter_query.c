#include "filter_query.h"

#include "base/own.h"
#include "syscall_names.h"

#include <inttypes.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- an interpreter ---- */

#define LOAD   (BPF_LD | BPF_W | BPF_ABS)
#define MASK   (BPF_ALU | BPF_AND | BPF_K)
#define JUMP   (BPF_JMP | BPF_JA)
#define EQUAL  (BPF_JMP | BPF_JEQ | BPF_K)
#define ABOVE  (BPF_JMP | BPF_JGT | BPF_K)
#define FROM   (BPF_JMP | BPF_JGE | BPF_K)
#define ANY    (BPF_JMP | BPF_JSET | BPF_K)
#define ANSWER (BPF_RET | BPF_K)

static const char *
load_complaint(uint32_t offset)
{
	if (offset >= sizeof(struct seccomp_data))
		return "loads from outside seccomp_data";
	if (offset % sizeof(uint32_t) != 0)
		return "loads from between two words";
	return NULL;
}

/* space: the number of instructions after this one. */
static const char *
insn_complaint(const struct sock_filter *insn, uint32_t space)
{
	switch (insn->code) {
	case LOAD:
		return load_complaint(insn->k);
	case MASK:
	case ANSWER:
		return NULL;
	case JUMP:
		return insn->k < space ? NULL : "jumps past the end";
	case EQUAL:
	case ABOVE:
	case FROM:
	case ANY:
		if (insn->jt >= space || insn->jf >= space)
			return "branches past the end";
		return NULL;
	default:
		return "has an instruction that Remit never writes";
	}
}

const char *
bpf_complaint(const struct filter *filter)
{
	const char *complaint;

	if (filter->len == 0 || filter->len > BPF_MAXINSNS)
		return "has a length the kernel refuses";
	for (uint32_t i = 0; i < filter->len; i++) {
		complaint =
			insn_complaint(&filter->insns[i], filter->len - i - 1);
		if (complaint)
			return complaint;
	}
	/* Jumps only go forward, so this makes every path end with an
	   answer. */
	if (filter->insns[filter->len - 1].code != ANSWER)
		return "does not end with an answer";
	return NULL;
}

static bool
branch_is_taken(const struct sock_filter *insn, uint32_t a)
{
	switch (insn->code) {
	case EQUAL:
		return a == insn->k;
	case ABOVE:
		return a > insn->k;
	case FROM:
		return a >= insn->k;
	default:
		return (a & insn->k) != 0;
	}
}

struct bpf_outcome
bpf_run(const struct filter *filter, const struct seccomp_data *data)
{
	struct bpf_outcome outcome = { 0 };
	const struct sock_filter *insn = filter->insns;
	uint32_t a = 0;

	for (;; insn++) {
		switch (insn->code) {
		case LOAD:
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			if (insn->k >= offsetof(struct seccomp_data, args))
				outcome.by_arguments = true;
			break;
		case MASK:
			a &= insn->k;
			break;
		case JUMP:
			insn += insn->k;
			break;
		case ANSWER:
			outcome.action = insn->k;
			return outcome;
		default:
			insn += branch_is_taken(insn, a) ? insn->jt : insn->jf;
			break;
		}
	}
}

/* ---- names ---- */

static const struct {
	const char *name;
	uint32_t audit;
} arches[FILTER_ARCHES] = {
	[FILTER_X86_64] = { "x86_64", AUDIT_ARCH_X86_64 },
	[FILTER_AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64 },
};

static const char *const variant_names[FILTER_VARIANTS] = {
	[0] = "run",
	[FILTER_NETWORK] = "network",
	[FILTER_SUBPROCESS] = "subprocess",
	[FILTER_FORKABLE] = "forkable",
	[FILTER_STRICT_MEMORY] = "strict_memory",
	[FILTER_INIT] = "init",
	[FILTER_KEEPER] = "keeper",
	[FILTER_KEEPER_NETWORK] = "keeper_network",
	[FILTER_ZYGOTE] = "zygote",
	[FILTER_IMPORT] = "import",
	[FILTER_BARE] = "bare",
	[FILTER_BARE_NETWORK] = "bare_network",
	[FILTER_LOCAL] = "local",
	[FILTER_LOCAL_NETWORK] = "local_network",
	[FILTER_PROXY] = "proxy",
	[FILTER_WATCHER] = "watcher",
	[FILTER_GUEST] = "guest",
	[FILTER_CLOSING] = "closing",
	[FILTER_CLOSING_STRICT] = "closing_strict",
	[FILTER_CLOSING_DIRECT] = "closing_direct",
	[FILTER_CLOSING_DIRECT_STRICT] = "closing_direct_strict",
	[FILTER_CLOSING + CLOSING_NO_MEMFD] = "closing_no_memfd",
	[FILTER_CLOSING + CLOSING_STREAMS] = "closing_streams",
};

static const struct {
	uint32_t action;
	const char *name;
} actions[] = {
	{ ALLOW, "allow" },
	{ KILL, "kill" },
	{ IGNORE, "ignore" },
	{ REFUSE(EPERM), "EPERM" },
	{ REFUSE(ENOSYS), "ENOSYS" },
	{ REFUSE(ENOTTY), "ENOTTY" },
	{ REFUSE(ENOMEM), "ENOMEM" },
	{ REFUSE(EINVAL), "EINVAL" },
	{ REFUSE(EOPNOTSUPP), "EOPNOTSUPP" },
	{ REFUSE(EAFNOSUPPORT), "EAFNOSUPPORT" },
	{ EXPLAIN(EPERM), "explained:EPERM" },
	{ EXPLAIN(ENOSYS), "explained:ENOSYS" },
	{ EXPLAIN(EAFNOSUPPORT), "explained:EAFNOSUPPORT" },
};

bool
is_one_of(uint64_t value, const uint64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

const char *
query_arch_name(enum filter_arch arch)
{
	return arches[arch].name;
}

const char *
query_variant_name(unsigned variant)
{
	return variant_names[variant] ? variant_names[variant] : "(several)";
}

const char *
query_action_name(uint32_t action)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (actions[i].action == action)
			return actions[i].name;
	return "(an action no table has)";
}

const char *
query_call_name(enum filter_arch arch, unsigned nr)
{
	if (nr >= ARRAY_LEN(syscall_names[arch]))
		return NULL;
	return syscall_names[arch][nr];
}

int
query_number(enum filter_arch arch, const char *name)
{
	for (unsigned nr = 0; nr < ARRAY_LEN(syscall_names[arch]); nr++)
		if (syscall_names[arch][nr] &&
		    strcmp(syscall_names[arch][nr], name) == 0)
			return (int)nr;
	return -1;
}

struct bpf_outcome
query_call(enum filter_arch arch, unsigned variant, unsigned nr,
	   const uint64_t args[QUERY_ARGS])
{
	struct seccomp_data data = {
		.nr = (int)nr,
		.arch = arches[arch].audit,
	};

	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(filter_for(arch, variant), &data);
}

uint32_t
query_refusal(uint32_t action)
{
	if ((action & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_USER_NOTIF)
		return action;
	return REFUSE(action & SECCOMP_RET_DATA);
}

void
expect_answer(unsigned variant, const char *name, uint32_t action,
	      const uint64_t args[QUERY_ARGS])
{
	bool found = false;

	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
		int nr = query_number(arch, name);
		uint32_t got;

		if (nr < 0)
			continue;
		found = true;
		got = query_refusal(
			query_call(arch, variant, (unsigned)nr, args).action);
		if (got == action)
			continue;
		fail_msg("%s, variant %u: %s(%#" PRIx64 ", %#" PRIx64
			 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
			 "): %s, expected %s",
			 query_arch_name(arch), variant, name, args[0], args[1],
			 args[2], args[3], args[4], query_action_name(got),
			 query_action_name(action));
	}
	if (!found)
		fail_msg("no architecture has %s", name);
}

#include "bpf.h"

#include <stddef.h>
#include <string.h>

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

/* room: the instructions after this one. */
static const char *
insn_complaint(const struct sock_filter *insn, uint32_t room)
{
	switch (insn->code) {
	case LOAD:
		return load_complaint(insn->k);
	case MASK:
	case ANSWER:
		return NULL;
	case JUMP:
		return insn->k < room ? NULL : "jumps past the end";
	case EQUAL:
	case ABOVE:
	case FROM:
	case ANY:
		if (insn->jt >= room || insn->jf >= room)
			return "branches past the end";
		return NULL;
	default:
		return "has an instruction we never write";
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
	/* Jumps go forward only, so this makes every path end in an answer. */
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

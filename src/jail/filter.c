#include "filter.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter_programs.h"

const struct filter *
filter_for(enum filter_arch arch, unsigned variant)
{
	if (arch >= FILTER_ARCHES || variant >= FILTER_VARIANTS)
		return NULL;
	return &programs[arch][variant];
}

const struct filter *
filter_native(unsigned variant)
{
	return filter_for(FILTER_NATIVE, variant);
}

static int
load(const struct filter *f, unsigned flags)
{
	struct sock_fprog prog;

	if (!f) {
		errno = EINVAL;
		return -1;
	}
	prog = (struct sock_fprog){
		.len = f->len,
		.filter = (struct sock_filter *)f->insns,
	};
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

int
filter_load(unsigned variant)
{
	return load(filter_native(variant), 0);
}

/* With the refusals that the explanations stand for. */
static int
load_plain(const struct filter *f)
{
	struct sock_filter insns[BPF_MAXINSNS];
	struct filter plain = { .insns = insns, .len = f->len };

	for (unsigned i = 0; i < f->len; i++) {
		struct sock_filter *insn = &insns[i];

		*insn = f->insns[i];
		if (insn->code == (BPF_RET | BPF_K) &&
		    (insn->k & SECCOMP_RET_ACTION_FULL) ==
			    SECCOMP_RET_USER_NOTIF)
			insn->k = SECCOMP_RET_ERRNO |
				  (insn->k & SECCOMP_RET_DATA);
	}
	return load(&plain, 0);
}

int
filter_load_heard(unsigned variant, int *listener)
{
	const struct filter *f = filter_native(variant);

	*listener = load(f, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (*listener >= 0)
		return 0;
	if (!f || (errno != EBUSY && errno != EINVAL))
		return -1;
	return load_plain(f);
}

int
filter_load_closing(unsigned variant)
{
	return filter_load(variant & FILTER_STRICT_MEMORY
				   ? FILTER_CLOSING_STRICT
				   : FILTER_CLOSING);
}

/* Only the instructions that tools/assembler.c writes; jumps lead forward. */
uint32_t
filter_verdict(const struct filter *f, const struct seccomp_data *data)
{
	const struct sock_filter *insn = f->insns;
	uint32_t a = 0;

	for (;; insn++) {
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= insn->k;
			break;
		case BPF_JMP | BPF_JA:
			insn += insn->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			insn += a == insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			insn += a >= insn->k ? insn->jt : insn->jf;
			break;
		default:
			return insn->k;
		}
	}
}

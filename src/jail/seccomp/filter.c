#include "jail/seccomp/filter.h"

#include <errno.h>
#include <fcntl.h>
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

unsigned
filter_of_code(unsigned properties, bool bare)
{
	const unsigned others = FILTER_FORKABLE | FILTER_STRICT_MEMORY;
	bool network = properties & FILTER_NETWORK;

	if (properties & FILTER_WASM)
		return FILTER_GUEST;
	if (bare)
		return network ? FILTER_BARE_NETWORK : FILTER_BARE;
	if (properties & FILTER_UNIX && properties & FILTER_SUBPROCESS &&
	    !(properties & others))
		return network ? FILTER_LOCAL_NETWORK : FILTER_LOCAL;
	return properties & ~(unsigned)FILTER_UNIX;
}

/*
 * Load a copy of the program. Replace FILTER_OWN_PID by this process's pid,
 * and, if `plain`, replace explained refusals by plain ones.
 */
static int
load_program(const struct filter *f, unsigned flags, bool plain)
{
	struct sock_filter own[FILTER_LONGEST];
	struct sock_fprog prog = { .filter = own };

	if (!f || f->len > FILTER_LONGEST) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned i = 0; i < f->len; i++) {
		struct sock_filter *insn = &own[i];

		*insn = f->insns[i];
		if (insn->k == FILTER_OWN_PID)
			insn->k = (unsigned)getpid();
		if (plain && insn->code == (BPF_RET | BPF_K) &&
		    (insn->k & SECCOMP_RET_ACTION_FULL) ==
			    SECCOMP_RET_USER_NOTIF)
			insn->k = SECCOMP_RET_ERRNO |
				  (insn->k & SECCOMP_RET_DATA);
	}
	prog.len = f->len;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

int
filter_load(unsigned variant)
{
	return load_program(filter_native(variant), 0, false);
}

int
filter_load_with_listener(unsigned variant, int *listener)
{
	const struct filter *f = filter_native(variant);

	*listener = load_program(f, SECCOMP_FILTER_FLAG_NEW_LISTENER, false);
	if (*listener >= 0)
		return 0;
	if (!f || (errno != EBUSY && errno != EINVAL))
		return -1;
	return load_program(f, 0, true);
}

int
filter_load_closing(unsigned flags)
{
	return filter_load(FILTER_CLOSING + (flags & CLOSING_FLAGS));
}

/* Interprets only the instructions that tools/assembler.c writes. All jumps
   lead forward. */
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

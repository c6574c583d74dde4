#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter_programs.h"

#if defined(__x86_64__)
#define NATIVE FILTER_X86_64
#elif defined(__aarch64__)
#define NATIVE FILTER_AARCH64
#else
#error "the tables know x86-64 and aarch64"
#endif

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
	return filter_for(NATIVE, variant);
}

int
filter_load(unsigned variant)
{
	const struct filter *f = filter_native(variant);
	struct sock_filter own[FILTER_LONGEST];
	struct sock_fprog prog;

	if (!f || f->len > FILTER_LONGEST) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned i = 0; i < f->len; i++) {
		own[i] = f->insns[i];
		if (own[i].k == FILTER_OWN_PID)
			own[i].k = (unsigned)getpid();
	}
	prog = (struct sock_fprog){ .len = f->len, .filter = own };
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

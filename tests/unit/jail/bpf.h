/*
 * bpf: runs seccomp programs without a kernel, so that tests can ask about
 * any call, any argument and both architectures.
 *
 * It knows only the instructions our programs are made of, which are also the
 * only ones the kernel follows when it works out which calls it can allow
 * without running the program (seccomp_is_const_allow). Everything else is
 * refused, as is everything that bpf_check_classic() and
 * seccomp_check_filter() of the kernel refuse.
 */
#ifndef REMIT_TEST_BPF_H
#define REMIT_TEST_BPF_H

#include "jail/seccomp/filter.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL if the kernel would load it, otherwise what is wrong with it. */
const char *bpf_complaint(const struct filter *filter);

struct bpf_outcome {
	uint32_t action;
	bool by_arguments; /* an argument was looked at on the way */
};

/* Only for programs without a complaint. */
struct bpf_outcome bpf_run(const struct filter *filter,
			   const struct seccomp_data *data);

#endif

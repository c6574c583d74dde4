#include "jail/attest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/proc.h"

static int
expect(const char *status, const char *key, const char *value,
       struct remit_error *err)
{
	const char *at = proc_status_line(status, key);
	size_t n = strlen(value);

	if (at && !strncmp(at, value, n) && (at[n] == '\n' || at[n] == '\t'))
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "the jail is not locked: %s is %.16s and not %s", key,
		    at ? at : "missing", value);
}

static int
expect_number(const char *status, const char *key, uint64_t value,
	      struct remit_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return expect(status, key, text, err);
}

unsigned
attest_own_filters(void)
{
	uint64_t n;

	return proc_status_number(getpid(), "Seccomp_filters", &n) < 0
		       ? 0
		       : (unsigned)n;
}

int
attest(pid_t pid, const struct attest_want *want, struct remit_error *err)
{
	static const char *const no_rights[] = { "CapInh", "CapPrm", "CapEff",
						 "CapAmb", "CapBnd" };
	size_t sets = ARRAY_LEN(no_rights) - !want->bounded;
	char status[PROC_STATUS_SIZE];

	if (proc_status(pid, status) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "look at process %d",
				(int)pid);
	for (size_t i = 0; i < sets; i++)
		if (expect(status, no_rights[i], "0000000000000000", err) < 0)
			return -1;
	if (expect_number(status, "Uid", want->uid, err) < 0 ||
	    (want->parent &&
	     expect_number(status, "PPid", (uint64_t)want->parent, err) < 0) ||
	    expect_number(status, "NoNewPrivs", 1, err) < 0 ||
	    expect_number(status, "Threads", 1, err) < 0)
		return -1;
	if (!want->filters)
		return 0;
	if (expect_number(status, "Seccomp", 2, err) < 0)
		return -1;
	return expect_number(status, "Seccomp_filters", want->filters, err);
}

#include "attest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The text behind "\nKey:\t", or NULL. */
static const char *
line_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? at + strlen(key) : NULL;
}

static int
expect(const char *status, const char *key, const char *value,
       struct remit_error *err)
{
	const char *at = line_of(status, key);
	size_t n = strlen(value);

	if (at && !strncmp(at, value, n) && (at[n] == '\n' || at[n] == '\t'))
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "the jail is not locked: %.*s is %.16s and not %s",
		    (int)strcspn(key + 1, ":"), key + 1, at ? at : "missing",
		    value);
}

static int
read_status(pid_t pid, char *out, size_t size, struct remit_error *err)
{
	own_fd int fd = -1;
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	n = read(fd, out, size - 1);
	if (n < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read %s", path);
	out[n] = '\0';
	return 0;
}

unsigned
attest_own_filters(void)
{
	struct remit_error err;
	char status[8192];
	const char *at;

	if (read_status(getpid(), status, sizeof(status), &err) < 0)
		return 0;
	at = line_of(status, "\nSeccomp_filters:\t");
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

int
attest(pid_t pid, const struct attest_want *want, struct remit_error *err)
{
	static const char *const no_rights[] = {
		"\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t",
		"\nCapBnd:\t", "\nCapAmb:\t",
	};
	char status[8192], number[16];

	if (read_status(pid, status, sizeof(status), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(no_rights); i++)
		if (expect(status, no_rights[i], "0000000000000000", err) < 0)
			return -1;
	snprintf(number, sizeof(number), "%" PRIu32, want->uid);
	if (expect(status, "\nUid:\t", number, err) < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", (int)want->parent);
	if (expect(status, "\nPPid:\t", number, err) < 0 ||
	    expect(status, "\nNoNewPrivs:\t", "1", err) < 0)
		return -1;
	if (want->filters) {
		snprintf(number, sizeof(number), "%u", want->filters);
		if (expect(status, "\nSeccomp:\t", "2", err) < 0 ||
		    expect(status, "\nSeccomp_filters:\t", number, err) < 0)
			return -1;
	}
	return expect(status, "\nThreads:\t", "1", err);
}

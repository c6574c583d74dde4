#include "measure/bench_pss.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file/path.h"
#include "base/number.h"
#include "base/proc.h"

static bool
is_in_tree(pid_t pid, pid_t root)
{
	uint64_t at = (uint64_t)pid;

	if (pid == getpid())
		return false;
	while ((pid_t)at != root)
		if (at <= 1 || proc_status_number((pid_t)at, "PPid", &at) < 0)
			return false;
	return true;
}

/* Zero for a process that has ended. -1 if it may not be looked at. */
static int
read_pss(pid_t pid, double *bytes)
{
	own(buf) struct buf text = BUF_INIT(16 * 1024);
	struct remit_error err;
	const char *line;
	char path[64];

	*bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (path_read_file(&text, path, &err) < 0)
		return err.sys_errno == EACCES || err.sys_errno == EPERM ? -1
									 : 0;
	line = strstr(buf_text(&text), "\nPss:");
	if (line)
		*bytes = strtod(line + strlen("\nPss:"), NULL) * 1024;
	return 0;
}

int
bench_pss_tree(pid_t root, double *bytes, struct remit_error *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	double sum = 0, one;
	int bad = 0;

	if (!proc)
		return fail_sys(err, REMIT_E_KERNEL, "/proc");
	while ((entry = readdir(proc))) {
		uint64_t pid;

		if (number_parse(&pid, entry->d_name) < 0 ||
		    !is_in_tree((pid_t)pid, root))
			continue;
		if (read_pss((pid_t)pid, &one) < 0)
			bad = fail(err, REMIT_E_INPUT,
				   "only root may look at its memory");
		sum += one;
	}
	closedir(proc);
	*bytes = sum;
	return bad;
}

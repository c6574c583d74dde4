#include "base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int
proc_wait(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

int
proc_status(pid_t pid, char out[PROC_STATUS_SIZE])
{
	own_fd int fd = -1;
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, PROC_STATUS_SIZE - 1);
	if (n < 0)
		return -1;
	out[n] = '\0';
	return 0;
}

const char *
proc_status_line(const char *status, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = status; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, n) && at[n] == ':')
			return at + n + 1 + strspn(at + n + 1, " \t");
	}
	return NULL;
}

int
proc_status_number(pid_t pid, const char *key, uint64_t *out)
{
	char status[PROC_STATUS_SIZE];
	const char *at;

	if (proc_status(pid, status) < 0)
		return -1;
	at = proc_status_line(status, key);
	if (!at)
		return -1;
	*out = strtoull(at, NULL, 10);
	return 0;
}

bool
proc_sleeps(pid_t pid, uint64_t *switches)
{
	const char *state, *own, *forced;
	char status[PROC_STATUS_SIZE];

	if (proc_status(pid, status) < 0)
		return false;
	state = proc_status_line(status, "State");
	own = proc_status_line(status, "voluntary_ctxt_switches");
	forced = proc_status_line(status, "nonvoluntary_ctxt_switches");
	if (!state || *state != 'S' || !own || !forced)
		return false;
	*switches = strtoull(own, NULL, 10) + strtoull(forced, NULL, 10);
	return true;
}

int
proc_file(pid_t pid, int fd, struct proc_file *out)
{
	own_fd int info = -1;
	const char *mount, *inode;
	char path[48], text[512];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	mount = proc_status_line(text, "mnt_id");
	inode = proc_status_line(text, "ino");
	if (!mount || !inode) {
		errno = ENOENT;
		return -1;
	}
	*out = (struct proc_file){ strtoull(mount, NULL, 10),
				   strtoull(inode, NULL, 10) };
	return 0;
}

/* Reads the line that begins with "\nName:" in the sum of the memory map. */
static uint64_t
proc_smaps_bytes(pid_t pid, const char *line)
{
	char path[48], text[2048];
	own_fd int fd = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) * 1024 : 0;
}

uint64_t
proc_pss_bytes(pid_t pid)
{
	return proc_smaps_bytes(pid, "\nPss:");
}

uint64_t
proc_huge_bytes(pid_t pid)
{
	return proc_smaps_bytes(pid, "\nAnonHugePages:");
}

static bool
is_thread_stopped(int tasks, const char *name)
{
	char path[32], text[512];
	own_fd int fd = -1;
	const char *state;
	ssize_t n;

	snprintf(path, sizeof(path), "%.15s/stat", name);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return true; /* the thread has ended */
	text[n] = '\0';
	/* The state follows the program's name, which may contain any
	   character. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && strchr("TtZX", state[2]);
}

bool
proc_is_stopped(pid_t pid)
{
	char path[32];
	bool stopped = true;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && stopped && (e = readdir(d)))
		if (e->d_name[0] != '.')
			stopped = is_thread_stopped(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return stopped;
}

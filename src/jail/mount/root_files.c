#include "jail/mount/root_files.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/file/beneath.h"
#include "base/file/io.h"
#include "jail/inside.h"
#include "policy/rules/path_rule.h"

int
root_files_parent(int root, const char *path, const char **name)
{
	return beneath_make_parent(root, path + 1, 0755, name);
}

static int
open_root_file(int root, const char *path)
{
	const char *name;
	own_fd int parent = root_files_parent(root, path, &name);

	if (parent < 0)
		return -1;
	return openat(parent, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		      0644);
}

static int
make_root_file(int root, const char *path, const char *text)
{
	own_fd int fd = open_root_file(root, path);

	return fd < 0 || io_write_all(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static const struct {
	const char *path, *text;
} etc_files[] = {
	{ "/.sentinel", "" },
	{ "/etc/group", "root:x:0:\n" JAIL_USER ":x:1000:\n"
			"nogroup:x:65534:\n" },
	{ "/etc/os-release", "NAME=Remit\nID=remit\nPRETTY_NAME=Remit\n" },
	{ "/etc/hosts", "127.0.0.1 localhost remit\n::1 localhost\n" },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\n"
				"hosts: files dns\n" },
	/* Programs look up the ports and protocols that they know by name. */
	{ "/etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n"
			    "ipv6 41 IPv6\nipv6-icmp 58 IPv6-ICMP\n" },
	{ "/etc/services",
	  "echo 7/tcp\necho 7/udp\ndaytime 13/tcp\ndaytime 13/udp\n"
	  "ftp 21/tcp\nssh 22/tcp\ntelnet 23/tcp\nsmtp 25/tcp\n"
	  "domain 53/tcp\ndomain 53/udp\nhttp 80/tcp www\npop3 110/tcp\n"
	  "ntp 123/udp\nimap2 143/tcp imap\nldap 389/tcp\nhttps 443/tcp\n"
	  "https 443/udp\nsubmission 587/tcp\nldaps 636/tcp\n"
	  "imaps 993/tcp\npop3s 995/tcp\nmysql 3306/tcp\n"
	  "postgresql 5432/tcp\n" },
};

/* Libraries look up the names of 0 and of 65534, which the kernel shows for
   each user of the host. */
static int
make_passwd(const struct blueprint *b)
{
	char text[PATH_RULE_PLACE_SIZE + 160];

	snprintf(text, sizeof(text),
		 "root:x:0:0:root:/root:/usr/sbin/nologin\n" JAIL_USER
		 ":x:1000:1000::%s:\n"
		 "nobody:x:65534:65534:nobody:/nonexistent:"
		 "/usr/sbin/nologin\n",
		 b->plan->policy->workspace);
	return make_root_file(b->root, "/etc/passwd", text);
}

int
root_files_link(int root, const char *path, const char *target)
{
	const char *name;
	own_fd int parent = root_files_parent(root, path, &name);

	if (parent < 0)
		return -1;
	if (symlinkat(target, parent, name) < 0 && errno != EEXIST)
		return -1;
	return 0;
}

/* ---- two files of /proc ---- */

/*
 * Libraries read these names to size their buffers and pools. No procfs is
 * mounted: the files state the policy's limits. They are links, since the
 * Landlock rule for /etc includes what they lead to.
 */
#define CPU_FIGURES    "/etc/figures/cpuinfo"
#define MEMORY_FIGURES "/etc/figures/meminfo"

static int
write_cpu_figures(const struct blueprint *b)
{
	own_fd int fd = open_root_file(b->root, CPU_FIGURES);
	uint64_t count = b->plan->limits.cpus;
	cpu_set_t all;

	if (fd < 0 || sched_getaffinity(0, sizeof(all), &all) < 0)
		return -1;
	if (!count || count > (uint64_t)CPU_COUNT(&all))
		count = (uint64_t)CPU_COUNT(&all);
	for (unsigned i = 0; i < count; i++) {
		char text[64];

		snprintf(text, sizeof(text),
			 "processor\t: %u\nmodel name\t: Remit\n\n", i);
		if (io_write_all(fd, text, strlen(text)) < 0)
			return -1;
	}
	return 0;
}

static int
write_memory_figures(const struct blueprint *b)
{
	uint64_t bytes = b->plan->policy->memory_bytes;
	unsigned long long kib;
	char text[512];
	struct sysinfo s;

	if (sysinfo(&s) < 0)
		return -1;
	if (bytes > (uint64_t)s.totalram * s.mem_unit)
		bytes = (uint64_t)s.totalram * s.mem_unit;
	kib = bytes / 1024;
	snprintf(text, sizeof(text),
		 "MemTotal:       %8llu kB\nMemFree:        %8llu kB\n"
		 "MemAvailable:   %8llu kB\nBuffers:               0 kB\n"
		 "Cached:                0 kB\nSwapCached:            0 kB\n"
		 "SwapTotal:             0 kB\nSwapFree:              0 kB\n"
		 "Shmem:                 0 kB\nSReclaimable:          0 kB\n",
		 kib, kib, kib);
	return make_root_file(b->root, MEMORY_FIGURES, text);
}

static int
make_figures(const struct blueprint *b)
{
	if (write_cpu_figures(b) < 0 || write_memory_figures(b) < 0 ||
	    root_files_link(b->root, "/proc/cpuinfo", ".." CPU_FIGURES) < 0)
		return -1;
	return root_files_link(b->root, "/proc/meminfo", ".." MEMORY_FIGURES);
}

/* A name that is taken is an error, unlike with the interpreter's links. */
static int
make_aliases(const struct blueprint *b)
{
	const struct list *aliases = &b->plan->policy->workspace_aliases;

	for (size_t i = 0; i < aliases->count; i++) {
		const char *name;
		own_fd int parent =
			root_files_parent(b->root, aliases->items[i], &name);

		if (parent < 0 ||
		    symlinkat(b->plan->policy->workspace, parent, name) < 0)
			return -1;
	}
	return 0;
}

/* Empty directories, on which the keeper mounts package layers while the code
   runs: see jail_attach(). */
static int
make_package_slots(const struct blueprint *b)
{
	for (int i = 0; b->plan->installs && i < PLAN_INSTALLS_MAX; i++) {
		char path[sizeof(JAIL_INSTALLED) + 16];
		const char *name;
		own_fd int parent = -1;

		snprintf(path, sizeof(path), JAIL_INSTALLED "/%d", i);
		parent = root_files_parent(b->root, path, &name);
		if (parent < 0 || mkdirat(parent, name, 0755) < 0)
			return -1;
	}
	return 0;
}

/* With this option the C library queries one address at a time, and does not
   need sendmmsg. */
static int
make_resolver(int root)
{
	if (unlinkat(root, "etc/resolv.conf", 0) < 0 && errno != ENOENT)
		return -1;
	return make_root_file(root, "/etc/resolv.conf",
			      "nameserver 127.0.0.1\noptions single-request\n");
}

int
root_files_make(const struct blueprint *b, uint32_t *detail)
{
	const struct list *links = &b->plan->interpreter->links;

	for (size_t i = 0; i < links->count; i++) {
		const char *tab = strchr(links->items[i], '\t');
		char path[PATH_MAX];
		size_t n = tab ? (size_t)(tab - links->items[i]) : 0;

		*detail = (uint32_t)i + 1;
		if (n < 2 || n >= sizeof(path))
			continue;
		memcpy(path, links->items[i], n);
		path[n] = '\0';
		if (root_files_link(b->root, path, tab + 1) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(etc_files); i++)
		if (make_root_file(b->root, etc_files[i].path,
				   etc_files[i].text) < 0)
			return -1;
	if (make_passwd(b) < 0 || make_figures(b) < 0 || make_aliases(b) < 0 ||
	    make_package_slots(b) < 0)
		return -1;
	/* A clone's root cannot be written, so create the mount point now. */
	if (b->plan->ends_tls && make_root_file(b->root, JAIL_TRUST, "") < 0)
		return -1;
	return b->plan->proxied ? make_resolver(b->root) : 0;
}

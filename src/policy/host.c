#include "policy/host.h"

#include <stdio.h>
#include <string.h>

#define USERNS_REMEDY                                                       \
	"Allow unprivileged user namespaces (sysctl "                       \
	"kernel.unprivileged_userns_clone=1 and user.max_user_namespaces, " \
	"or the container's seccomp profile), or run as root. "             \
	"--preset landlock accepts a weaker wall that does not need them."

const struct capability_info capabilities[CAN_COUNT] = {
	[CAN_USER_NAMESPACE] = {
		.name = "user_namespace",
		.needed = true,
		.sentence = "a user id without rights outside the jail",
		.remedy = USERNS_REMEDY,
	},
	[CAN_ID_MAPS] = {
		.name = "id_maps",
		.needed = true,
		.sentence = "the jail's one user and group are mapped",
		.remedy = "On Ubuntu 23.10 and later AppArmor takes the rights "
			  "of new user namespaces away: install the profile "
			  "from share/remit/apparmor/remit into "
			  "/etc/apparmor.d and reload it.",
	},
	[CAN_MOUNT] = {
		.name = "mount_namespace",
		.needed = true,
		.sentence = "a private root with tmpfs and read-only binds",
		.remedy = "The container runtime may forbid mounts: allow user namespaces in its profile, or accept a weaker wall with --preset landlock. On Ubuntu, install the AppArmor profile from share/remit/apparmor/remit.",
	},
	[CAN_PIVOT_ROOT] = {
		.name = "pivot_root",
		.needed = true,
		.sentence = "the host's root can be left for good",
		.remedy = "The root file system is an initramfs: start from a "
			  "real root file system.",
	},
	[CAN_IDMAPPED_MOUNTS] = {
		.name = "idmapped_mounts",
		.sentence = "host folders readable to a jail started by root",
		.remedy = "They need Linux 5.12 and a file system that supports them; overlayfs, the root of most containers, does not. Run as an ordinary user, who does not need them.",
	},
	[CAN_PID_NAMESPACE] = {
		.name = "pid_namespace",
		.needed = true,
		.sentence = "everything in the jail dies with its pid 1",
		.remedy = USERNS_REMEDY,
	},
	[CAN_NETWORK_NAMESPACE] = {
		.name = "network_namespace",
		.needed = true,
		.sentence = "a network stack without devices",
		.remedy = USERNS_REMEDY,
	},
	[CAN_NO_USER_NAMESPACES_INSIDE] = {
		.name = "no_user_namespaces_inside",
		.needed = true,
		.sentence = "no further user namespaces inside the jail",
		.remedy = "Mount /proc with a writable /proc/sys, which containers forbid, or accept a weaker wall with --preset landlock.",
	},
	[CAN_MEMFD_NOEXEC] = {
		.name = "memfd_noexec",
		.sentence = "memory files cannot be executed",
		.remedy = "Needs Linux 6.3 and root. Without it the filter refuses memory files if the policy allows subprocesses.",
	},
	[CAN_LANDLOCK] = {
		.name = "landlock",
		.needed = true,
		.sentence = "a second check of paths, ports and signals",
		.remedy = "Needs Linux 5.13 with Landlock in the kernel's lsm= "
			  "list.",
	},
	[CAN_SECCOMP] = {
		.name = "seccomp",
		.needed = true,
		.sentence = "only the listed system calls",
		.remedy = "Needs a kernel with CONFIG_SECCOMP_FILTER.",
	},
	[CAN_RLIMITS] = {
		.name = "rlimits",
		.needed = true,
		.sentence = "limits of a process, and ids and rights dropped",
		.remedy = "Raise the caller's hard limits (ulimit -H) above "
			  "the policy's.",
	},
	[CAN_SELF_TEST] = {
		.name = "self_test",
		.needed = true,
		.sentence = "the finished jail withstands attempts from inside",
		.remedy = "A mechanism of this kernel does not work as documented: please report it with the output of remit doctor.",
	},
	[CAN_OVERLAY] = {
		.name = "overlay",
		.sentence = "folders whose changes are kept apart until the end (modes rw and overlay)",
		.remedy = "Needs Linux 6.6 with overlayfs. Mount the folder ro, and export files with --export.",
	},
	[CAN_LANDLOCK_TIER] = {
		.name = "landlock_tier",
		.sentence = "a weaker jail without namespaces, if the policy names it",
		.remedy = "Needs Linux 6.2 with Landlock and seccomp. If started by root, also the rights to change user and to kill.",
	},
	[CAN_CGROUP_MEMORY] = {
		.name = "cgroup_memory",
		.sentence = "one memory limit for all processes of a run",
		.remedy = "Run in a login session with a user systemd, in a leaf of a cgroup that you own, or as root.",
	},
	[CAN_CGROUP_PIDS] = {
		.name = "cgroup_pids",
		.sentence = "a second count of processes and threads",
		.remedy = "As for cgroup_memory. Without it rlimit_nproc enforces the field.",
	},
	[CAN_CGROUP_CPU] = {
		.name = "cgroup_cpu",
		.sentence = "processor time of all processes of a run",
		.remedy = "As for cgroup_memory. Without it rlimit_cpu enforces the field for one process.",
	},
	[CAN_CGROUP_KILL] = {
		.name = "cgroup_kill",
		.sentence = "all processes of a run are killed in one step",
		.remedy = "Needs Linux 5.14 and a writable cgroup v2 directory. Without it pid 1 is killed, which is slower.",
	},
	[CAN_CGROUP_SHARE] = {
		.name = "cgroup_share",
		.sentence = "processor time is divided fairly between the keys of a server",
		.remedy = "As for cgroup_memory. Without it programs of one key slow down those of others.",
	},
};

/* The capabilities of a bare jail are probed as one. */
static bool
is_needed(enum capability c, enum tier tier)
{
	return tiers[tier].bare ? c == CAN_LANDLOCK_TIER
				: capabilities[c].needed;
}

enum capability
host_lacks(const struct host *h, enum tier tier)
{
	enum capability lacks = CAN_COUNT;

	for (int c = CAN_COUNT - 1; c >= 0; c--) {
		bool tried = strcmp(h->can[c].why, HOST_NOT_REACHED) != 0;

		if (!h->can[c].yes && is_needed((enum capability)c, tier) &&
		    (tried || lacks == CAN_COUNT))
			lacks = (enum capability)c;
	}
	return lacks;
}

/* A kernel whose version cannot be parsed counts as new. */
static bool
is_older(const struct host *h, unsigned major, unsigned minor)
{
	unsigned a, b;

	return sscanf(h->kernel, "%u.%u", &a, &b) == 2 &&
	       (a < major || (a == major && b < minor));
}

const char *
host_remedy(const struct host *h, enum capability c)
{
	if (capabilities[c].needed && is_older(h, 5, 14))
		return "Remit needs Linux 5.14 or newer, and this kernel is "
		       "older. Boot a newer kernel.";
	return capabilities[c].remedy;
}

json_t *
host_to_json(const struct host *h)
{
	json_t *doc, *caps = json_array();

	for (int i = 0; i < CAN_COUNT; i++) {
		json_t *row = json_pack(
			"{s:s, s:b, s:b, s:s, s:s}", "name",
			capabilities[i].name, "yes", h->can[i].yes, "needed",
			capabilities[i].needed, "for", capabilities[i].sentence,
			"why", h->can[i].why);

		if (!h->can[i].yes)
			json_object_set_new(row, "remedy",
					    json_string(host_remedy(
						    h, (enum capability)i)));
		json_array_append_new(caps, row);
	}
	doc = json_pack(
		"{s:b, s:I, s:s, s:i, s:i, s:I, s:I, s:I, s:o}", "by_root",
		h->by_root, "uid", (json_int_t)h->uid, "kernel", h->kernel,
		"landlock_abi", h->landlock_abi, "cgroups_v2",
		(int)h->cgroups_v2, "cpus", (json_int_t)h->cpus, "page_bytes",
		(json_int_t)h->page_bytes, "socket_buffer_bytes",
		(json_int_t)h->socket_buffer_bytes, "capabilities", caps);
	return doc;
}

int
host_from_json(struct host *h, const json_t *doc, struct remit_error *err)
{
	json_int_t uid, cpus, page, sock;
	const char *kernel;
	json_t *caps;
	int by_root, v2;

	memset(h, 0, sizeof(*h));
	if (json_unpack((json_t *)doc,
			"{s:b, s:I, s:s, s:i, s:i, s:I, s:I, s:I, s:o}",
			"by_root", &by_root, "uid", &uid, "kernel", &kernel,
			"landlock_abi", &h->landlock_abi, "cgroups_v2", &v2,
			"cpus", &cpus, "page_bytes", &page,
			"socket_buffer_bytes", &sock, "capabilities",
			&caps) < 0 ||
	    json_array_size(caps) != CAN_COUNT)
		return fail(err, REMIT_E_INPUT, "not a host document");
	if (page < 1024 || page & (page - 1) || cpus < 1 || cpus > UINT32_MAX ||
	    sock < 1 || uid < 0 || uid > UINT32_MAX || v2 < 0)
		return fail(err, REMIT_E_INPUT, "not a host document");
	h->by_root = by_root;
	h->cgroups_v2 = (uint32_t)v2;
	h->uid = (uint32_t)uid;
	h->cpus = (uint32_t)cpus;
	h->page_bytes = (uint64_t)page;
	h->socket_buffer_bytes = (uint64_t)sock;
	snprintf(h->kernel, sizeof(h->kernel), "%s", kernel);
	for (int i = 0; i < CAN_COUNT; i++) {
		const char *name, *why;
		int yes;

		if (json_unpack(json_array_get(caps, (size_t)i),
				"{s:s, s:b, s:s}", "name", &name, "yes", &yes,
				"why", &why) < 0 ||
		    strcmp(name, capabilities[i].name))
			return fail(err, REMIT_E_INPUT, "not a host document");
		h->can[i].yes = yes;
		snprintf(h->can[i].why, sizeof(h->can[i].why), "%s", why);
	}
	return 0;
}

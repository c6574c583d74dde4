#include "policy/mechanism.h"

#include <string.h>

const struct mechanism_info mechanisms[MECH_COUNT] = {
	[MECH_MOUNT_NAMESPACE] = {
		.name = "mount_namespace",
		.sentence = "a read-only root that contains only what the policy lists",
	},
	[MECH_NETWORK_NAMESPACE] = {
		.name = "network_namespace",
		.sentence = "a separate network stack, in which no device but loopback can be up",
	},
	[MECH_LANDLOCK] = {
		.name = "landlock",
		.sentence = "a check of every path, TCP port, abstract socket and signal; in tiers with namespaces, a second check",
	},
	[MECH_SECCOMP] = {
		.name = "seccomp",
		.sentence = "only the listed system calls, with checked "
			    "arguments",
	},
	[MECH_TMPFS_SIZE] = {
		.name = "tmpfs_size",
		.sentence = "the writable file system has this many bytes",
	},
	[MECH_TMPFS_INODES] = {
		.name = "tmpfs_inodes",
		.sentence = "the writable file system has this many files",
	},
	[MECH_CGROUP_MEMORY] = {
		.name = "cgroup_memory",
		.sentence = "all memory of the jail together, files included",
	},
	[MECH_CGROUP_PIDS] = {
		.name = "cgroup_pids",
		.sentence = "all processes and threads of the jail together",
	},
	[MECH_CGROUP_CPU] = {
		.name = "cgroup_cpu",
		.sentence = "processor time of the jail together, read by the "
			    "keeper",
	},
	[MECH_RLIMIT_AS] = {
		.name = "rlimit_as",
		.sentence = "address space of the one process",
	},
	[MECH_RLIMIT_CPU] = {
		.name = "rlimit_cpu",
		.sentence = "processor time of the one process",
	},
	[MECH_RLIMIT_NPROC] = {
		.name = "rlimit_nproc",
		.sentence = "processes and threads of the jail's user",
	},
	[MECH_RLIMIT_NOFILE] = {
		.name = "rlimit_nofile",
		.sentence = "open descriptors of a process",
	},
	[MECH_RLIMIT_FSIZE] = {
		.name = "rlimit_fsize",
		.sentence = "size of any file a process writes",
	},
	[MECH_AFFINITY] = {
		.name = "affinity",
		.sentence = "a fixed set of processors that the code may run on",
	},
	[MECH_EMPTY_ENVIRONMENT] = {
		.name = "empty_environment",
		.sentence = "the interpreter starts with an empty environment, and only listed variables are set",
	},
	[MECH_TIMER] = {
		.name = "timer",
		.sentence = "the keeper's monotonic timer, then SIGKILL for "
			    "the whole jail",
	},
	[MECH_CAPTURE] = {
		.name = "capture",
		.sentence = "the keeper stores no more than this, discards the rest, and kills the jail at the ceiling",
	},
	[MECH_FRAME_CAP] = {
		.name = "frame_cap",
		.sentence = "the keeper accepts no more bytes than this",
	},
	[MECH_VALIDATOR] = {
		.name = "validator",
		.sentence = "a check of the syntax tree before the start: advice, not a wall",
	},
	[MECH_OVERLAY] = {
		.name = "overlay",
		.sentence = "changes go to a private overlay of the jail; the host's files are only read",
	},
	[MECH_COMMIT] = {
		.name = "commit",
		.sentence = "when all processes of the jail are dead, regular files and folders are written to the host, only below the folder, unless another process has changed them",
	},
	[MECH_OPENAT2] = {
		.name = "openat2",
		.sentence = "files are read when all processes of the jail are dead, only below its workspace and through no link",
	},
	[MECH_EXPORT_CAP] = {
		.name = "export_cap",
		.sentence = "the keeper exports no more than this",
	},
	[MECH_PROXY] = {
		.name = "proxy",
		.sentence = "a separate process has the jail's only connections to the network, and connects only to listed hosts",
	},
	[MECH_CPU_CLOCK] = {
		.name = "cpu_clock",
		.sentence = "processor time of the one process, read by the "
			    "keeper",
	},
	[MECH_BRIDGE] = {
		.name = "bridge",
		.sentence = "the keeper passes on no more than this between "
			    "the code and its tools",
	},
	[MECH_NOEXEC_MOUNT] = {
		.name = "noexec_mount",
		.sentence = "the kernel neither executes a file of the writable file system nor maps one as code",
	},
	[MECH_LINEAR_MEMORY] = {
		.name = "linear_memory",
		.sentence = "the memory of the WebAssembly interpreter cannot grow further, and its process gets hardly more",
	},
};

int
mechanism_find(const char *name)
{
	for (int i = 0; i < MECH_COUNT; i++)
		if (!strcmp(mechanisms[i].name, name))
			return i;
	return -1;
}

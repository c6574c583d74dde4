/*
 * field_table: the one table of policy fields.
 */
#include "policy/fields/field.h"

#include "policy/rules/credential.h"
#include "policy/rules/host_entry.h"

#define KIB  (UINT64_C(1) << 10)
#define MIB  (UINT64_C(1) << 20)
#define GIB  (UINT64_C(1) << 30)
#define TIB  (UINT64_C(1) << 40)
#define HOUR (UINT64_C(60) * 60 * 1000)

/* The static tier runs nothing, but it parses in the same jail. */
#define SPACED(bits, bare)        \
	{ [TIER_STATIC] = (bits), \
	  [TIER_LOCAL] = (bits),  \
	  [TIER_LANDLOCK] = (bare) }
/* What needs no namespace. */
#define JAILED(bits) SPACED(bits, bits)
/* What the keeper does without any help from the kernel's walls. */
#define EVERYWHERE(bits)          \
	{ [TIER_STATIC] = (bits), \
	  [TIER_UNSAFE] = (bits), \
	  [TIER_LOCAL] = (bits),  \
	  [TIER_LANDLOCK] = (bits) }

/* The order is that of the tiers table; a test compares them. */
static const char *const tier_choices[] = {
	[TIER_STATIC] = "static",
	[TIER_UNSAFE] = "unsafe",
	[TIER_LANDLOCK] = "landlock",
	[TIER_LOCAL] = "local",
	[TIER_CONTAINER] = "container",
	[TIER_WASM] = "wasm",
	[TIER_VM] = "vm",
	[TIER_COUNT] = NULL,
};

/* The order is that of enum network_access. */
static const char *const network_choices[] = { "false", "true", "host", NULL };

static const char *const fallback_choices[] = { "none", "per_process", NULL };

/* The order is that of enum commit_when. */
static const char *const commit_choices[] = { "ok", "always", "never", NULL };

/* The order is that of enum validator_mode. */
static const char *const validator_choices[] = { "off", "relaxed", "strict",
						 NULL };

/* What a directory of the host can be kept by; some need no namespace. */
#define DIRECTORIES                                                     \
	SPACED(MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) | MECH(OVERLAY) | \
		       MECH(COMMIT),                                    \
	       MECH(LANDLOCK))

/* Of package_installation only false can be kept: the plan refuses true. */
const struct field fields[FIELD_TOTAL] = {
	[F_TIER] = {
		.name = "tier",
		.short_name = "tier",
		.type = FIELD_CHOICE,
		.offset = offsetof(struct policy, tier),
		.choices = tier_choices,
		.setting = true,
		.fallback = "local",
		.value_name = "TIER",
		.sentence = "how strong the wall is",
	},
	[F_PYTHON] = {
		.name = "python",
		.short_name = "python",
		.type = FIELD_TEXT,
		.offset = offsetof(struct policy, python),
		.setting = true,
		.fallback = "python3",
		.value_name = "COMMAND",
		.sentence = "the interpreter: a name on PATH or an "
			    "absolute path",
	},
	[F_FILESYSTEM_READ_ROOTS] = {
		.name = "filesystem_read_roots",
		.short_name = "read",
		.type = FIELD_PATHS,
		.offset = offsetof(struct policy, filesystem_read_roots),
		.fallback = "",
		.value_name = "DIR",
		.sentence = "a host path the code may read, at the same "
			    "path in the jail",
		.kept = SPACED(MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK),
			       MECH(LANDLOCK)),
	},
	[F_FILESYSTEM_WRITE_ROOTS] = {
		.name = "filesystem_write_roots",
		.short_name = "write",
		.type = FIELD_PATHS,
		.offset = offsetof(struct policy, filesystem_write_roots),
		.fallback = "",
		.value_name = "DIR",
		.sentence = "a host folder the code may read and write, at "
			    "the same path in the jail; changes are written "
			    "after the run (mode rw)",
		.kept = DIRECTORIES,
	},
	[F_MOUNTS] = {
		.name = "mounts",
		.short_name = "mount",
		.type = FIELD_MOUNTS,
		.offset = offsetof(struct policy, mounts),
		.fallback = "",
		.value_name = "HOST:JAIL[:MODE]",
		.sentence = "a host path that appears at a path in the "
			    "jail; MODE is ro (read only), rw (changes are "
			    "written after the run), overlay (changes are "
			    "thrown away) or direct (the host's own folder, "
			    "without limits)",
		.kept = DIRECTORIES,
	},
	[F_COMMIT] = {
		.name = "commit",
		.short_name = "commit",
		.type = FIELD_CHOICE,
		.offset = offsetof(struct policy, commit),
		.choices = commit_choices,
		.setting = true,
		.fallback = "ok",
		.value_name = "WHEN",
		.sentence = "when changes in folders of mode rw are written: "
			    "ok (the program ended well), always or never",
	},
	[F_COMMIT_NAMES] = {
		.name = "commit_names",
		.short_name = "commit-name",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, commit_names),
		.fallback = "",
		.value_name = "PATTERN",
		.sentence = "a protected name in a folder of mode rw that may "
			    "be written all the same: .gitignore, .github/**",
		.kept = SPACED(MECH(COMMIT), 0),
	},
	[F_NETWORK_ACCESS] = {
		.name = "network_access",
		.short_name = "net",
		.alias = "allow-net",
		.type = FIELD_SWITCH,
		.offset = offsetof(struct policy, network_access),
		.choices = network_choices,
		.fallback = "false",
		.sentence = "the code may connect to any public host, at the "
			    "usual ports; =host: it has the host's own "
			    "network",
		.kept = SPACED(MECH(SECCOMP) | MECH(NETWORK_NAMESPACE) |
				       MECH(LANDLOCK) | MECH(PROXY),
			       MECH(SECCOMP) | MECH(LANDLOCK)),
	},
	[F_NETWORK_ALLOW] = {
		.name = "network_allow",
		.short_name = "allow-host",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, network_allow),
		.fallback = "",
		.object_text = host_entry_text,
		.value_name = "HOST:PORT[:WORDS]",
		.sentence = "a host and port the code may connect to; "
			    "HOST is a name, a name behind a star "
			    "and a dot (all below it), an IPv4 address or an "
			    "IPv6 address in brackets, WORDS are tls, plain, "
			    "tcp, private, public, methods=GET+HEAD, bytes=SIZE "
			    "and "
			    "connections=COUNT, with commas between them",
		.kept = SPACED(MECH(NETWORK_NAMESPACE) | MECH(PROXY), 0),
	},
	[F_NETWORK_ASK] = {
		.name = "network_ask",
		.short_name = "ask-hosts",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, network_ask),
		.setting = true,
		.fallback = "false",
		.sentence = "a public host that network_allow does not name is "
			    "a question to whoever runs the code, and refused "
			    "only without an answer",
	},
	[F_NETWORK_PROXY] = {
		.name = "network_proxy",
		.short_name = "proxy",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, network_proxy),
		.setting = true,
		.fallback = "false",
		.sentence = "the code finds an HTTP proxy for the hosts of "
			    "network_allow, and variables that name it "
			    "(HTTP_PROXY, HTTPS_PROXY)",
	},
	[F_CREDENTIALS] = {
		.name = "credentials",
		.short_name = "credential",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, credentials),
		.fallback = "",
		.object_text = credential_text,
		.value_name = "HOST[:PORT]:HEADER=FROM",
		.sentence = "a header that is put into HTTP requests to a host "
			    "of network_allow, at one port, with TLS or to private "
			    "addresses, and that the code never sees; FROM is "
			    "env:NAME or file:/PATH",
		.kept = SPACED(MECH(PROXY), 0),
	},
	[F_PACKAGE_INSTALLATION] = {
		.name = "package_installation",
		.short_name = "package-installation",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, package_installation),
		.fallback = "false",
		.sentence = "the code may install packages while it runs "
			    "(on is not built yet)",
		.kept = SPACED(MECH(MOUNT_NAMESPACE) | MECH(NETWORK_NAMESPACE) |
				       MECH(SECCOMP),
			       MECH(LANDLOCK) | MECH(SECCOMP)),
	},
	[F_PACKAGES] = {
		.name = "packages",
		.short_name = "package",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, packages),
		.fallback = "",
		.value_name = "NAME[==VERSION]",
		.sentence = "a package that is installed before the run, in a "
			    "jail of its own, and then only read",
		.kept = SPACED(MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK),
			       MECH(LANDLOCK)),
	},
	[F_PACKAGE_DIRECT] = {
		.name = "package_direct",
		.short_name = "package-direct",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, package_direct),
		.setting = true,
		.fallback = "",
		.value_name = "URL|FILE",
		.sentence = "a package by its address or as a file of the "
			    "host, which --package does not take",
	},
	[F_PACKAGE_INDEX] = {
		.name = "package_index",
		.short_name = "index-url",
		.type = FIELD_TEXT,
		.offset = offsetof(struct policy, package_index),
		.setting = true,
		.fallback = "default",
		.value_name = "URL",
		.sentence = "the index that packages come from (default: the "
			    "one that the interpreter's pip has)",
	},
	[F_PACKAGE_HOSTS] = {
		.name = "package_hosts",
		.short_name = "package-host",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, package_hosts),
		.setting = true,
		.fallback = "",
		.value_name = "HOST:PORT[:WORD]",
		.sentence = "a host besides the index that files of packages "
			    "come from; without any the index is asked",
	},
	[F_PACKAGE_LINKS] = {
		.name = "package_links",
		.short_name = "find-links",
		.type = FIELD_PATHS,
		.offset = offsetof(struct policy, package_links),
		.setting = true,
		.fallback = "",
		.value_name = "DIR",
		.sentence = "a folder of the host with packages as files",
	},
	[F_PACKAGE_OFFLINE] = {
		.name = "package_offline",
		.short_name = "offline",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, package_offline),
		.setting = true,
		.fallback = "false",
		.sentence = "packages are installed without any network, from "
			    "--find-links only",
	},
	[F_PACKAGE_BUILD] = {
		.name = "package_build",
		.short_name = "package-build",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, package_build),
		.setting = true,
		.fallback = "false",
		.sentence = "packages without a wheel are built from their "
			    "sources, whose programs then run in the jail "
			    "that installs",
	},
	[F_PACKAGE_BYTES] = {
		.name = "package_bytes",
		.short_name = "package-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, package_bytes),
		.min = MIB,
		.max = 64 * GIB,
		.setting = true,
		.fallback = "1G",
		.value_name = "SIZE",
		.sentence = "size of all packages of a run, installed",
	},
	[F_PACKAGE_TIME] = {
		.name = "package_time",
		.short_name = "package-time",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, package_time_ms),
		.min = 1000,
		.max = 24 * HOUR,
		.setting = true,
		.fallback = "5m",
		.value_name = "TIME",
		.sentence = "time for installing the packages, before the run",
	},
	[F_SUBPROCESS_EXECUTION] = {
		.name = "subprocess_execution",
		.short_name = "subprocess",
		.alias = "allow-subprocess",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, subprocess_execution),
		.fallback = "false",
		.sentence = "the code may start processes; threads are "
			    "always allowed",
		.kept = JAILED(MECH(SECCOMP) | MECH(LANDLOCK)),
	},
	[F_ENV_VAR_ACCESS] = {
		.name = "env_var_access",
		.short_name = "env-access",
		.type = FIELD_BOOL,
		.offset = offsetof(struct policy, env_var_access),
		.fallback = "false",
		.sentence = "the code sees the environment of the caller",
		.kept = JAILED(MECH(EMPTY_ENVIRONMENT)),
	},
	[F_ENV] = {
		.name = "env",
		.short_name = "env",
		.type = FIELD_ENV,
		.offset = offsetof(struct policy, env),
		.fallback = "",
		.value_name = "NAME[=VALUE]",
		.sentence = "a variable the code sees; without a value, "
			    "that of the caller",
		.kept = JAILED(MECH(EMPTY_ENVIRONMENT)),
	},
	[F_TIMEOUT] = {
		.name = "timeout",
		.short_name = "timeout",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, timeout_ms),
		.min = 1,
		.max = 24 * HOUR,
		.may_be_unlimited = true,
		.fallback = "30s",
		.value_name = "TIME",
		.sentence = "wall time of the run, or of a cell",
		.kept = EVERYWHERE(MECH(TIMER)),
	},
	[F_CPU_SECONDS] = {
		.name = "cpu_seconds",
		.short_name = "cpu",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, cpu_ms),
		.min = 1,
		.max = 240 * HOUR,
		.may_be_unlimited = true,
		.fallback = "30s",
		.value_name = "TIME",
		.sentence = "processor time of the run, or of a cell, all "
			    "threads and processes together",
		.kept = JAILED(MECH(RLIMIT_CPU) | MECH(CGROUP_CPU) |
			       MECH(CPU_CLOCK)),
	},
	[F_CPU_FALLBACK] = {
		.name = "cpu_fallback",
		.short_name = "cpu-fallback",
		.type = FIELD_CHOICE,
		.offset = offsetof(struct policy, cpu_fallback),
		.choices = fallback_choices,
		.setting = true,
		.fallback = "none",
		.value_name = "HOW",
		.sentence = "accept a limit for each process where none "
			    "for all together can be kept",
	},
	[F_CPUS] = {
		.name = "cpus",
		.short_name = "cpus",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, cpus),
		.min = 1,
		.max = 1024,
		.fallback = "2",
		.value_name = "N",
		.sentence = "processors the code may use at once",
		.kept = JAILED(MECH(AFFINITY)),
	},
	[F_MEMORY_BYTES] = {
		.name = "memory_bytes",
		.short_name = "memory",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, memory_bytes),
		.min = 16 * MIB,
		.max = TIB,
		.may_be_unlimited = true,
		.fallback = "512M",
		.value_name = "SIZE",
		.sentence = "all memory of the run together",
		.kept = SPACED(MECH(CGROUP_MEMORY) | MECH(RLIMIT_AS) |
				       MECH(SECCOMP),
			       MECH(CGROUP_MEMORY) | MECH(RLIMIT_AS)),
	},
	[F_MEMORY_FALLBACK] = {
		.name = "memory_fallback",
		.short_name = "memory-fallback",
		.type = FIELD_CHOICE,
		.offset = offsetof(struct policy, memory_fallback),
		.choices = fallback_choices,
		.setting = true,
		.fallback = "none",
		.value_name = "HOW",
		.sentence = "accept a limit for each process where none "
			    "for all together can be kept",
	},
	[F_PROCESSES] = {
		.name = "processes",
		.short_name = "processes",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, processes),
		.min = 1,
		.max = 32768,
		.may_be_unlimited = true,
		.fallback = "64",
		.value_name = "N",
		.sentence = "processes and threads at once",
		.kept = JAILED(MECH(RLIMIT_NPROC) | MECH(CGROUP_PIDS)),
	},
	[F_DISK_BYTES] = {
		.name = "disk_bytes",
		.short_name = "disk",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, disk_bytes),
		.min = 64 * KIB,
		.max = TIB,
		.may_be_unlimited = true,
		.fallback = "256M",
		.value_name = "SIZE",
		.sentence = "bytes in the writable directories of the "
			    "jail",
		.kept = SPACED(MECH(TMPFS_SIZE), 0),
	},
	[F_FILES] = {
		.name = "files",
		.short_name = "files",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, files),
		.min = 16,
		.max = 10 * 1000 * 1000,
		.may_be_unlimited = true,
		.fallback = "10000",
		.value_name = "N",
		.sentence = "files and directories in the writable "
			    "directories of the jail",
		.kept = SPACED(MECH(TMPFS_INODES), 0),
	},
	[F_FILE_BYTES] = {
		.name = "file_bytes",
		.short_name = "file-size",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, file_bytes),
		.min = KIB,
		.max = TIB,
		.may_be_unlimited = true,
		.fallback = "256M",
		.value_name = "SIZE",
		.sentence = "size of any one file the code writes",
		.kept = JAILED(MECH(RLIMIT_FSIZE)),
	},
	[F_OPEN_FILES] = {
		.name = "open_files",
		.short_name = "open-files",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, open_files),
		.min = 16,
		.max = 65536,
		.fallback = "256",
		.value_name = "N",
		.sentence = "descriptors a process may have open at once",
		.kept = JAILED(MECH(RLIMIT_NOFILE)),
	},
	[F_STDOUT_MAX_BYTES] = {
		.name = "stdout_max_bytes",
		.short_name = "stdout-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, stdout_max_bytes),
		.min = KIB,
		.max = GIB,
		.fallback = "1M",
		.value_name = "SIZE",
		.sentence = "bytes of stdout that are kept; the rest is "
			    "counted and dropped",
		.kept = EVERYWHERE(MECH(CAPTURE)),
	},
	[F_STDERR_MAX_BYTES] = {
		.name = "stderr_max_bytes",
		.short_name = "stderr-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, stderr_max_bytes),
		.min = KIB,
		.max = GIB,
		.fallback = "1M",
		.value_name = "SIZE",
		.sentence = "bytes of stderr that are kept; the rest is "
			    "counted and dropped",
		.kept = EVERYWHERE(MECH(CAPTURE)),
	},
	[F_OUTPUT_CEILING] = {
		.name = "output_ceiling",
		.short_name = "output-ceiling",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, output_ceiling),
		.min = 1,
		.max = 100 * 1000,
		.fallback = "64",
		.value_name = "TIMES",
		.sentence = "a stream beyond this many times its cap ends "
			    "the run",
		.kept = EVERYWHERE(MECH(CAPTURE)),
	},
	[F_CODE_BYTES] = {
		.name = "code_bytes",
		.short_name = "code-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, code_bytes),
		.min = 1,
		.max = 64 * MIB,
		.fallback = "1M",
		.value_name = "SIZE",
		.sentence = "size of the code",
		.kept = EVERYWHERE(MECH(FRAME_CAP)),
	},
	[F_STDIN_BYTES] = {
		.name = "stdin_bytes",
		.short_name = "stdin-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, stdin_bytes),
		.min = 1,
		.max = GIB,
		.fallback = "16M",
		.value_name = "SIZE",
		.sentence = "size of standard input",
		.kept = EVERYWHERE(MECH(FRAME_CAP)),
	},
	[F_INPUT_BYTES] = {
		.name = "input_bytes",
		.short_name = "input-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, input_bytes),
		.min = 1,
		.max = GIB,
		.fallback = "64M",
		.value_name = "SIZE",
		.sentence = "size of all input files together",
		.kept = EVERYWHERE(MECH(FRAME_CAP)),
	},
	[F_VALUE_BYTES] = {
		.name = "value_bytes",
		.short_name = "value-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, value_bytes),
		.min = 1,
		.max = 64 * MIB,
		.fallback = "1M",
		.value_name = "SIZE",
		.sentence = "size of the value that the code gives back",
		.kept = EVERYWHERE(MECH(FRAME_CAP)),
	},
	[F_DISPLAY_BYTES] = {
		.name = "display_bytes",
		.short_name = "display-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, display_bytes),
		.min = 1,
		.max = 256 * MIB,
		.fallback = "16M",
		.value_name = "SIZE",
		.sentence = "size of all that the code displays (images, "
			    "tables)",
		.kept = EVERYWHERE(MECH(FRAME_CAP)),
	},
	[F_ARTIFACT_EXPORT_PATHS] = {
		.name = "artifact_export_paths",
		.short_name = "export",
		.type = FIELD_LIST,
		.offset = offsetof(struct policy, artifact_export_paths),
		.fallback = "",
		.value_name = "PATTERN",
		.sentence = "files of the workspace that are given back after "
			    "the run: *.csv, out, out/**/*.png",
		.kept = JAILED(MECH(OPENAT2)),
	},
	[F_ARTIFACT_FILE_BYTES] = {
		.name = "artifact_file_bytes",
		.short_name = "export-file-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, artifact_file_bytes),
		.min = 1,
		.max = TIB,
		.fallback = "64M",
		.value_name = "SIZE",
		.sentence = "size of any one file that is given back",
		.kept = JAILED(MECH(EXPORT_CAP)),
	},
	[F_ARTIFACT_BYTES] = {
		.name = "artifact_bytes",
		.short_name = "export-max",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, artifact_bytes),
		.min = 1,
		.max = TIB,
		.fallback = "256M",
		.value_name = "SIZE",
		.sentence = "size of all files that are given back",
		.kept = JAILED(MECH(EXPORT_CAP)),
	},
	[F_ARTIFACT_FILES] = {
		.name = "artifact_files",
		.short_name = "export-files",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, artifact_files),
		.min = 1,
		.max = 100 * 1000,
		.fallback = "1000",
		.value_name = "N",
		.sentence = "files that are given back",
		.kept = JAILED(MECH(EXPORT_CAP)),
	},
	[F_ARTIFACT_DEPTH] = {
		.name = "artifact_depth",
		.short_name = "export-depth",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, artifact_depth),
		.min = 1,
		.max = 64,
		.fallback = "16",
		.value_name = "N",
		.sentence = "names in the path of a file that is given back",
		.kept = JAILED(MECH(EXPORT_CAP)),
	},
	[F_ARTIFACT_TIME] = {
		.name = "artifact_time",
		.short_name = "export-time",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, artifact_time_ms),
		.min = 1,
		.max = HOUR,
		.fallback = "30s",
		.value_name = "TIME",
		.sentence = "time for giving files back, after the run",
		.kept = JAILED(MECH(EXPORT_CAP)),
	},
	[F_VALIDATOR] = {
		.name = "validator",
		.short_name = "validator",
		.type = FIELD_CHOICE,
		.offset = offsetof(struct policy, validator),
		.choices = validator_choices,
		.fallback = "off",
		.value_name = "MODE",
		.sentence = "look at the code before it runs: relaxed (what "
			    "will not work here), strict (short lists of what "
			    "may be used) or off; advice, not a wall",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_ALLOWED_IMPORTS] = {
		.name = "allowed_imports",
		.short_name = "allow-import",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, allowed_imports),
		.fallback = "",
		.value_name = "MODULE,...",
		.sentence = "a module the code may import, and no others",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_BLOCKED_IMPORTS] = {
		.name = "blocked_imports",
		.short_name = "block-import",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, blocked_imports),
		.fallback = "",
		.value_name = "MODULE,...",
		.sentence = "a module the code may not import",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_ALLOWED_BUILTINS] = {
		.name = "allowed_builtins",
		.short_name = "allow-builtin",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, allowed_builtins),
		.fallback = "",
		.value_name = "NAME,...",
		.sentence = "a builtin the code may call, and no others",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_BLOCKED_BUILTINS] = {
		.name = "blocked_builtins",
		.short_name = "block-builtin",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, blocked_builtins),
		.fallback = "",
		.value_name = "NAME,...",
		.sentence = "a builtin the code may not name",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_ALLOWED_OS_ATTRS] = {
		.name = "allowed_os_attrs",
		.short_name = "allow-os-attr",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, allowed_os_attrs),
		.fallback = "",
		.value_name = "NAME,...",
		.sentence = "an attribute of os the code may name, and no "
			    "others",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_ALLOWED_NODES] = {
		.name = "allowed_nodes",
		.short_name = "allow-node",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, allowed_nodes),
		.fallback = "",
		.value_name = "KIND,...",
		.sentence = "a kind of syntax (a class of Python's module "
			    "ast) the code may have, and no others",
		.kept = EVERYWHERE(MECH(VALIDATOR)),
	},
	[F_TOOL_CALLS] = {
		.name = "tool_calls",
		.short_name = "tool-calls",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, tool_calls),
		.min = 1,
		.max = 1000 * 1000,
		.fallback = "10000",
		.value_name = "N",
		.sentence = "tool calls of the run together",
		.kept = EVERYWHERE(MECH(BRIDGE)),
	},
	[F_TOOL_BYTES] = {
		.name = "tool_bytes",
		.short_name = "tool-bytes",
		.type = FIELD_BYTES,
		.offset = offsetof(struct policy, tool_bytes),
		.min = 1,
		.max = 64 * MIB,
		.fallback = "1M",
		.value_name = "SIZE",
		.sentence = "size of the arguments of a tool call, and of its "
			    "result",
		.kept = EVERYWHERE(MECH(BRIDGE)),
	},
	[F_TOOL_CONCURRENCY] = {
		.name = "tool_concurrency",
		.short_name = "tool-concurrency",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, tool_concurrency),
		.min = 1,
		.max = 256,
		.fallback = "16",
		.value_name = "N",
		.sentence = "tool calls at the same time; more wait their turn",
		.kept = EVERYWHERE(MECH(BRIDGE)),
	},
	[F_TOOL_WAIT] = {
		.name = "tool_wait",
		.short_name = "tool-wait",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, tool_wait_ms),
		.min = 1,
		.max = 24 * HOUR,
		.fallback = "300s",
		.value_name = "TIME",
		.sentence = "waiting for tools and answers that does not count "
			    "as wall time",
		.kept = EVERYWHERE(MECH(BRIDGE)),
	},
	[F_SESSION_IDLE] = {
		.name = "session_idle",
		.short_name = "session-idle",
		.type = FIELD_TIME,
		.offset = offsetof(struct policy, session_idle_ms),
		.min = 1000,
		.max = 24 * HOUR,
		.fallback = "10m",
		.value_name = "TIME",
		.sentence = "a session without a cell for this long is "
			    "ended",
		.kept = EVERYWHERE(MECH(TIMER)),
	},
	[F_BRANCHES] = {
		.name = "branches",
		.short_name = "branches",
		.type = FIELD_COUNT,
		.offset = offsetof(struct policy, branches),
		.min = 1,
		.max = 64,
		.fallback = "8",
		.value_name = "N",
		.sentence = "branches of a session and of its branches, in "
			    "all",
		.kept = SPACED(MECH(SECCOMP), 0),
	},
	[F_PRELOAD] = {
		.name = "preload",
		.short_name = "preload",
		.type = FIELD_LIST,
		.commas = true,
		.offset = offsetof(struct policy, preload),
		.setting = true,
		.fallback = "",
		.value_name = "MODULE,...",
		.sentence = "a module that is imported before the code is "
			    "known",
	},
};

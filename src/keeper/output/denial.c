#include "keeper/output/denial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/file/path.h"
#include "base/text.h"
#include "jail/inside.h"
#include "policy/rules/path_rule.h"

/* ---- the list ---- */

static bool
is_alike(const struct denial *a, const struct denial *b)
{
	return a->call == b->call && a->error == b->error &&
	       a->kind == b->kind && !strcmp(a->what, b->what) &&
	       !strcmp(a->text, b->text);
}

void
denials_add(struct denials *d, const struct denial *one)
{
	denials_add_many(d, one, 1);
}

void
denials_add_many(struct denials *d, const struct denial *one, uint64_t times)
{
	struct denial *rows;

	for (size_t i = 0; i < d->count; i++)
		if (is_alike(&d->rows[i], one)) {
			d->rows[i].count += times;
			return;
		}
	rows = d->count < DENIALS_MAX
		       ? realloc(d->rows, (d->count + 1) * sizeof(*rows))
		       : NULL;
	if (!rows) {
		d->left_out += times;
		return;
	}
	d->rows = rows;
	rows[d->count] = *one;
	rows[d->count++].count = times;
}

void
denials_free(struct denials *d)
{
	free(d->rows);
	*d = (struct denials){ 0 };
}

static json_t *
text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *
reported_to_json(const struct denial *d)
{
	static const char *const keys[] = {
		[DENIAL_PATH] = "path",
		[DENIAL_ADDRESS] = "address",
	};
	json_t *all = json_object();

	if (d->kind != DENIAL_NO_TEXT)
		json_object_set_new(all, keys[d->kind],
				    text_to_json(d->text, strlen(d->text)));
	if (d->error)
		json_object_set_new(all, "errno", json_string(d->error));
	return all;
}

static const char *
denial_source(const struct denial *d)
{
	return d->by_proxy    ? "proxy"
	       : d->by_keeper ? "keeper"
	       : d->call      ? "kernel"
			      : "reported";
}

static json_t *
denial_to_json(const struct denial *d)
{
	const struct field *f =
		d->field == FIELD_TOTAL ? NULL : &fields[d->field];
	char flag[DENIAL_FLAG] = "";

	if (f)
		snprintf(flag, sizeof(flag), "%s%s", d->flag[0] ? "" : "--",
			 d->flag[0] ? d->flag : f->short_name);
	return json_pack("{s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "source",
			 denial_source(d), "syscall", text_or_null(d->call),
			 "what", text_or_null(d->what), "count",
			 (json_int_t)d->count, "field",
			 text_or_null(f ? f->name : NULL), "flag",
			 text_or_null(flag), "reported", reported_to_json(d));
}

int
denials_write(struct buf *out, const struct denials *d)
{
	if (buf_add(out, "[", 1) < 0)
		return -1;
	for (size_t i = 0; i < d->count; i++) {
		json_t *doc = denial_to_json(&d->rows[i]);
		own_mem char *text = json_dumps(doc, JSON_COMPACT);

		json_decref(doc);
		if (!text || buf_addf(out, "%s%s", i ? "," : "", text) < 0)
			return -1;
	}
	return buf_addf(out, "]");
}

/* ---- what a refusal means ---- */

#define NAMESPACES                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

struct name {
	uint64_t value;
	const char *text;
};

static const struct name families[] = {
	{ AF_INET, "AF_INET" },	    { AF_INET6, "AF_INET6" },
	{ AF_PACKET, "AF_PACKET" }, { AF_ALG, "AF_ALG" },
	{ AF_VSOCK, "AF_VSOCK" },   { AF_BLUETOOTH, "AF_BLUETOOTH" },
};

static const struct name types[] = {
	{ SOCK_STREAM, "SOCK_STREAM" },
	{ SOCK_DGRAM, "SOCK_DGRAM" },
	{ SOCK_RAW, "SOCK_RAW" },
};

static const struct name namespaces[] = {
	{ CLONE_NEWNS, "CLONE_NEWNS" },
	{ CLONE_NEWUSER, "CLONE_NEWUSER" },
	{ CLONE_NEWPID, "CLONE_NEWPID" },
	{ CLONE_NEWNET, "CLONE_NEWNET" },
	{ CLONE_NEWIPC, "CLONE_NEWIPC" },
	{ CLONE_NEWUTS, "CLONE_NEWUTS" },
	{ CLONE_NEWTIME, "CLONE_NEWTIME" },
	{ CLONE_NEWCGROUP, "CLONE_NEWCGROUP" },
};

/* ---- arguments by value ---- */

static void printf_like(2, 3)
	append(char out[DENIAL_WHAT], const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + at, DENIAL_WHAT - at, fmt, ap);
	va_end(ap);
}

static void
add_name(char out[DENIAL_WHAT], const struct name *names, size_t count,
	 uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].value == value) {
			append(out, "%s", names[i].text);
			return;
		}
	append(out, "%u", value);
}

static void
show_socket(char out[DENIAL_WHAT], const struct seccomp_data *c)
{
	const uint32_t flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

	append(out, "(");
	add_name(out, families, ARRAY_LEN(families), (uint32_t)c->args[0]);
	append(out, ", ");
	add_name(out, types, ARRAY_LEN(types), (uint32_t)c->args[1] & ~flags);
	append(out, ")");
}

static void
show_namespaces(char out[DENIAL_WHAT], uint64_t flags)
{
	char between = '(';

	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		if (!(flags & namespaces[i].value))
			continue;
		append(out, "%c%s", between, namespaces[i].text);
		between = '|';
	}
	if (between == '|')
		append(out, ")");
}

static void
show_flags(char out[DENIAL_WHAT], const struct seccomp_data *c)
{
	show_namespaces(out, c->args[0]);
}

static void
show_second_flags(char out[DENIAL_WHAT], const struct seccomp_data *c)
{
	show_namespaces(out, c->args[1]);
}

/* ---- arguments in memory ---- */

static void
read_path(struct denial *d, const struct notice *n, unsigned arg)
{
	size_t got =
		notice_read(n, n->call.args[arg], d->text, sizeof(d->text) - 1);

	d->text[got] = '\0';
	if (got == sizeof(d->text) - 1 && !memchr(d->text, '\0', got))
		memcpy(d->text + got - 3, "...", 3);
	if (got)
		d->kind = DENIAL_PATH;
}

static void
show_address(struct denial *d, const struct sockaddr_storage *a)
{
	const struct sockaddr_in *in = (const void *)a;
	const struct sockaddr_in6 *in6 = (const void *)a;
	const struct sockaddr_un *un = (const void *)a;
	char host[INET6_ADDRSTRLEN] = "";

	switch (a->ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(d->text, sizeof(d->text), "%s:%u", host,
			 ntohs(in->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(d->text, sizeof(d->text), "[%s]:%u", host,
			 ntohs(in6->sin6_port));
		break;
	case AF_UNIX:
		/* The name of an abstract socket starts with NUL. */
		snprintf(d->text, sizeof(d->text), "unix:%s%.*s",
			 un->sun_path[0] ? "" : "@",
			 (int)sizeof(un->sun_path) - 1,
			 un->sun_path + !un->sun_path[0]);
		break;
	default:
		snprintf(d->text, sizeof(d->text), "family %u", a->ss_family);
	}
}

static void
read_address(struct denial *d, const struct notice *n, unsigned arg)
{
	uint32_t len = (uint32_t)n->call.args[arg + 1];
	struct sockaddr_storage a = { 0 };

	if (len < sizeof(a.ss_family) || len > sizeof(a))
		return;
	if (notice_read(n, n->call.args[arg], &a, len) != len)
		return;
	d->kind = DENIAL_ADDRESS;
	show_address(d, &a);
}

/* ---- the table ---- */

#define BY_NONE FIELD_TOTAL

/* For calls that are not listed, no field would allow them, and no arguments
   are shown. */
static const struct denial_rule {
	const char *call;
	enum field_id field;
	uint64_t never; /* no field allows the call if its first argument has
			   these bits */
	void (*show)(char out[DENIAL_WHAT], const struct seccomp_data *c);
	void (*read)(struct denial *d, const struct notice *n, unsigned arg);
	unsigned arg; /* which argument is the pointer */
} denial_rules[] = {
	{ "socket", F_NETWORK_ACCESS, 0, show_socket, NULL, 0 },
	{ "connect", F_NETWORK_ACCESS, 0, NULL, read_address, 1 },
	{ "bind", F_NETWORK_ACCESS, 0, NULL, read_address, 1 },
	{ "sendto", F_NETWORK_ACCESS, 0, NULL, read_address, 4 },
	{ "fork", F_SUBPROCESS_EXECUTION, 0, NULL, NULL, 0 },
	{ "vfork", F_SUBPROCESS_EXECUTION, 0, NULL, NULL, 0 },
	{ "clone", F_SUBPROCESS_EXECUTION, NAMESPACES, show_flags, NULL, 0 },
	{ "execve", F_SUBPROCESS_EXECUTION, 0, NULL, read_path, 0 },
	{ "execveat", F_SUBPROCESS_EXECUTION, 0, NULL, read_path, 1 },
	{ "unshare", BY_NONE, 0, show_flags, NULL, 0 },
	{ "setns", BY_NONE, 0, show_second_flags, NULL, 0 },
	{ "mount", BY_NONE, 0, NULL, read_path, 1 },
	{ "umount2", BY_NONE, 0, NULL, read_path, 0 },
	{ "pivot_root", BY_NONE, 0, NULL, read_path, 0 },
	{ "chroot", BY_NONE, 0, NULL, read_path, 0 },
	{ "chown", BY_NONE, 0, NULL, read_path, 0 },
	{ "lchown", BY_NONE, 0, NULL, read_path, 0 },
	{ "fchownat", BY_NONE, 0, NULL, read_path, 1 },
	{ "mknod", BY_NONE, 0, NULL, read_path, 0 },
	{ "mknodat", BY_NONE, 0, NULL, read_path, 1 },
};

static const struct denial_rule *
find_rule(const char *call)
{
	for (size_t i = 0; i < ARRAY_LEN(denial_rules); i++)
		if (!strcmp(denial_rules[i].call, call))
			return &denial_rules[i];
	return NULL;
}

/* Returns no field if the policy grants it already. */
static enum field_id
field_for(const struct denial_rule *r, const struct seccomp_data *c,
	  const struct policy *policy)
{
	if (r->field == BY_NONE || c->args[0] & r->never ||
	    !field_is_default(policy, &fields[r->field]))
		return BY_NONE;
	return r->field;
}

void
denial_of_notice(struct denial *out, const struct notice *n,
		 const struct policy *policy)
{
	const char *call = notice_call_name(n->call.nr);
	const struct denial_rule *r = call ? find_rule(call) : NULL;

	*out = (struct denial){
		.call = call ? call : "unknown",
		.field = BY_NONE,
	};
	snprintf(out->what, sizeof(out->what), "%s", out->call);
	if (!r)
		return;
	out->field = field_for(r, &n->call, policy);
	if (r->show)
		r->show(out->what, &n->call);
	if (r->read)
		r->read(out, n, r->arg);
}

/* ---- paths ---- */

static const char *
error_name(int error)
{
	switch (error) {
	case ENOENT:
		return "ENOENT";
	case EACCES:
		return "EACCES";
	case EPERM:
		return "EPERM";
	case EROFS:
		return "EROFS";
	default:
		return NULL;
	}
}

static const struct plan_mount *
mount_at(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->mount_count; i++)
		if (path_lies_in(path, plan->mounts[i].jail))
			return &plan->mounts[i];
	return NULL;
}

/* Code may name a mount in the workspace by way of an alias. */
static const struct plan_mount *
mount_of(const struct plan *plan, const char *path)
{
	const char *rest = path_rule_inside(plan->policy, path);
	own_mem char *own = NULL;

	if (!rest)
		return mount_at(plan, path);
	if (asprintf(&own, "%s%s", plan->policy->workspace, rest) < 0)
		own = NULL;
	return own ? mount_at(plan, own) : NULL;
}

static bool
is_writable(const struct plan *plan, const char *path)
{
	return jail_is_writable(plan, path) ||
	       path_rule_inside(plan->policy, path);
}

/* Paths that no policy can add to a jail with its own root. */
static const struct {
	const char *path;
	bool only; /* nothing below it */
	const char *reason;
} absent[] = {
	{ "/dev/stdin", true,
	  "/dev/stdin leads to /proc, which a jail does not have. Read "
	  "sys.stdin or open(0) instead." },
	{ "/dev/stdout", true,
	  "/dev/stdout leads to /proc, which a jail does not have. Write to "
	  "sys.stdout or open(1, \"w\") instead." },
	{ "/dev/stderr", true,
	  "/dev/stderr leads to /proc, which a jail does not have. Write to "
	  "sys.stderr or open(2, \"w\") instead." },
	{ "/dev/fd", false,
	  "/dev/fd leads to /proc, which a jail does not have. Open the "
	  "number of the descriptor, or use pipes." },
	{ "/proc", false,
	  "A jail has no /proc except cpuinfo and meminfo: it would show "
	  "paths and users of the host. os and resource report about this "
	  "process." },
	{ "/sys", false, "A jail has no /sys: it would show the host." },
	{ "/", true,
	  "/ cannot be listed in a jail, only the folders that code may read, "
	  "such as HOME." },
};

const char *
denial_path_reason(const char *path, const struct plan *plan)
{
	if (tiers[plan->tier].bare || !tiers[plan->tier].jailed)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		if (absent[i].only ? !strcmp(path, absent[i].path)
				   : path_lies_in(path, absent[i].path))
			return absent[i].reason;
	return NULL;
}

/* Whether files of this writable directory can be executed if the policy has
   workspace_execution. */
static bool
may_have_programs(const struct plan *plan, const char *path)
{
	for (int i = 0; i < JAIL_WRITABLE; i++)
		if (jail_writable[i].has_programs &&
		    path_lies_in(path, jail_writable_path(plan, i)))
			return true;
	return path_rule_inside(plan->policy, path);
}

bool
denial_of_execution(struct denial *out, const char *path, int error,
		    const struct plan *plan)
{
	*out = (struct denial){
		.kind = DENIAL_PATH,
		.error = error_name(error),
		.field = F_WORKSPACE_EXECUTION,
	};
	/* Without subprocess_execution the filter refuses the call before the
	   kernel looks at the file, and reports that itself. */
	if (plan->tier != TIER_LOCAL || plan->runs_workspace ||
	    !plan->policy->subprocess_execution || error != EACCES ||
	    mount_of(plan, path) || !may_have_programs(plan, path))
		return false;
	snprintf(out->text, sizeof(out->text), "%s", path);
	return true;
}

bool
denial_of_path(struct denial *out, const char *path, int error,
	       const struct plan *plan)
{
	const struct plan_mount *m = mount_of(plan, path);

	*out = (struct denial){
		.kind = DENIAL_PATH,
		.error = error_name(error),
		.field = F_FILESYSTEM_READ_ROOTS,
	};
	if (!tiers[plan->tier].jailed || path[0] != '/' || !out->error ||
	    (m && error == ENOENT) || (!m && is_writable(plan, path)))
		return false;
	/* In a writable directory the owner or the mode must be the reason. */
	if (m ? m->runtime || m->mode != MOUNT_RO
	      : denial_path_reason(path, plan) != NULL)
		out->field = BY_NONE;
	else if (m || error == EROFS)
		out->field = F_FILESYSTEM_WRITE_ROOTS;
	snprintf(out->text, sizeof(out->text), "%s", path);
	return true;
}

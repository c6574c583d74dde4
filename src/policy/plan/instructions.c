#include "policy/plan/instructions.h"

#include <string.h>

#include "policy/quantity.h"

static const struct policy *
policy_of(const struct instructions *in)
{
	return in->plan->policy;
}

/* Whether a field is enforced, possibly by a fallback. */
static bool
is_kept(const struct instructions *in, enum field_id field)
{
	const struct plan_row *row = &in->plan->rows[field];

	return row->present && (row->strength == STRENGTH_ENFORCED ||
				row->strength == STRENGTH_FALLBACK);
}

static int
add_list(struct buf *out, const struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (buf_addf(out, "%s`%s`", i ? ", " : "", l->items[i]) < 0)
			return -1;
	return 0;
}

/* ---- how code runs ---- */

static const char for_programs[] =
	"Each program runs alone: its variables, imports and files are not "
	"available to the next one.\n";
static const char for_cells[] =
	"Your programs are cells of one session: variables, imports and files "
	"persist from one to the next.\n";

static int
add_running(struct buf *out, const struct instructions *in)
{
	const struct interpreter *python = in->plan->interpreter;
	bool shows = policy_of(in)->display_mode != DISPLAYS_NONE;

	if (in->plan->tier == TIER_STATIC)
		return buf_addf(out,
				"# Python\n"
				"\n"
				"Your Python %d.%d code is checked and not "
				"run: the result says whether it parses, and "
				"which imports are not allowed.\n",
				python->major, python->minor);
	return buf_addf(
		out,
		"# Python\n\nYou can run Python %d.%d. %s"
		"What you get back: what the code prints, the value of its "
		"last expression, %sand the error with its line if there was "
		"one. `await` works at the top level.\n",
		python->major, python->minor,
		in->session ? for_cells : for_programs,
		shows ? "what it displays (`display(x)`, figures, tables), "
		      : "");
}

static int
add_checks(struct buf *out, const struct instructions *in)
{
	const struct policy *p = policy_of(in);

	if (is_kept(in, F_ALLOWED_IMPORTS) && p->allowed_imports.count &&
	    (buf_addf(out, "- These modules can be imported, and no others: ") <
		     0 ||
	     add_list(out, &p->allowed_imports) < 0 ||
	     buf_addf(out, ".\n") < 0))
		return -1;
	if (is_kept(in, F_BLOCKED_IMPORTS) && p->blocked_imports.count &&
	    (buf_addf(out, "- These modules cannot be imported: ") < 0 ||
	     add_list(out, &p->blocked_imports) < 0 ||
	     buf_addf(out, ".\n") < 0))
		return -1;
	return 0;
}

static int
add_packages(struct buf *out, const struct instructions *in)
{
	if (buf_addf(out, "- You can use the standard library") < 0)
		return -1;
	if (in->packages->count &&
	    (buf_addf(out, ", and the requested packages: ") < 0 ||
	     add_list(out, in->packages) < 0))
		return -1;
	if (in->installed && in->installed->count &&
	    (buf_addf(out, ", and these packages: ") < 0 ||
	     add_list(out, in->installed) < 0))
		return -1;
	return buf_addf(
		out, ".%s\n",
		in->plan->installs
			? " For another package, call "
			  "`install_packages(\"NAME\")` once, before the code "
			  "that imports it: names and versions only."
		: is_kept(in, F_PACKAGE_INSTALLATION)
			? " Nothing else can be installed: `pip` does not work."
			: "");
}

/* ---- what it can reach ---- */

static int
add_mount(struct buf *out, const struct plan_mount *m)
{
	static const char *const words[] = {
		[MOUNT_RO] = "can be read",
		[MOUNT_RW] = "can be read and changed; changes are kept",
		[MOUNT_OVERLAY] =
			"can be read and changed; changes are discarded",
		[MOUNT_DIRECT] =
			"can be read and changed; changes take effect at once",
	};

	return buf_addf(out, "- `%s` %s.\n", m->jail, words[m->mode]);
}

static int
add_workspace(struct buf *out, const struct instructions *in)
{
	const struct policy *p = policy_of(in);

	if (buf_addf(out, "- Write files to the current folder, `%s`",
		     p->workspace) < 0 ||
	    (p->workspace_aliases.count &&
	     (buf_addf(out, " (the same folder as ") < 0 ||
	      add_list(out, &p->workspace_aliases) < 0 ||
	      buf_addf(out, ")") < 0)))
		return -1;
	return buf_addf(out, ". It is deleted %s.\n",
			in->session ? "with the session" : "after the program");
}

static int
add_files(struct buf *out, const struct instructions *in)
{
	const struct plan *plan = in->plan;
	const struct list *exports = &policy_of(in)->artifact_export_paths;

	if (!tiers[plan->tier].jailed)
		return 0;
	if (add_workspace(out, in) < 0)
		return -1;
	for (size_t i = 0; i < plan->mount_count; i++)
		if (!plan->mounts[i].runtime &&
		    (plan->mounts[i].field == F_MOUNTS ||
		     plan->mounts[i].field == F_FILESYSTEM_READ_ROOTS ||
		     plan->mounts[i].field == F_FILESYSTEM_WRITE_ROOTS) &&
		    add_mount(out, &plan->mounts[i]) < 0)
			return -1;
	if (!exports->count)
		return buf_addf(out, "- No other file of the host can be read "
				     "or changed.\n");
	if (buf_addf(out, "- Files there that match these patterns are given "
			  "to the user: ") < 0 ||
	    add_list(out, exports) < 0)
		return -1;
	return buf_addf(out, ".\n- No other file of the host can be read or "
			     "changed.\n");
}

static int
add_network(struct buf *out, const struct instructions *in)
{
	const struct policy *p = policy_of(in);

	if (is_kept(in, F_NETWORK_ALLOW) && p->network_allow.count) {
		if (buf_addf(out, "- These hosts can be reached, and no "
				  "others: ") < 0 ||
		    add_list(out, &p->network_allow) < 0)
			return -1;
		return buf_addf(out, ".\n");
	}
	if (p->network_access == NETWORK_LOOPBACK)
		return buf_addf(out, "- There is no network but loopback: "
				     "programs here can reach each other at "
				     "127.0.0.1.\n");
	if (p->network_access != NETWORK_NONE)
		return buf_addf(out, "- The network can be reached.\n");
	return is_kept(in, F_NETWORK_ACCESS)
		       ? buf_addf(out, "- There is no network.\n")
		       : 0;
}

static int
add_processes(struct buf *out, const struct instructions *in)
{
	if (in->plan->runs_workspace)
		return buf_addf(out, "- Other programs can be started, also "
				     "those written or compiled here.\n");
	if (policy_of(in)->subprocess_execution)
		return buf_addf(out, "- Other programs can be started.\n%s",
				is_kept(in, F_WORKSPACE_EXECUTION)
					? "- Files written here cannot be "
					  "executed directly. Start scripts "
					  "with their interpreter, as in `sh "
					  "script.sh`.\n"
					: "");
	return is_kept(in, F_SUBPROCESS_EXECUTION)
		       ? buf_addf(out, "- No other program can be started; "
				       "threads can.\n")
		       : 0;
}

static int
add_environment(struct buf *out, const struct instructions *in)
{
	const struct list *env = &policy_of(in)->env;

	if (!env->count)
		return 0;
	if (buf_addf(out, "- These environment variables are set: ") < 0)
		return -1;
	/* Names only: the values may be secret. */
	for (size_t i = 0; i < env->count; i++)
		if (buf_addf(out, "%s`%.*s`", i ? ", " : "",
			     (int)strcspn(env->items[i], "="),
			     env->items[i]) < 0)
			return -1;
	return buf_addf(out, ".\n");
}

/* ---- limits ---- */

static const struct {
	enum field_id field;
	const char *words;
} limits[] = {
	{ F_TIMEOUT, "of time" },
	{ F_CPU_SECONDS, "of processor time" },
	{ F_MEMORY_BYTES, "of memory" },
	{ F_DISK_BYTES, "of files" },
	{ F_PROCESSES, "threads and processes" },
	{ F_STDOUT_MAX_BYTES, "of printed text; more is dropped" },
	{ F_VALUE_BYTES, "of a value" },
	{ F_DISPLAY_BYTES, "of displays" },
	{ F_CODE_BYTES, "of code" },
};

/* Writes the limit that is enforced here, which may be lower than the
   policy's. */
static void
show_limit(const struct instructions *in, enum field_id field, char *out,
	   size_t size)
{
	uint64_t files = in->plan->limits.tmpfs_bytes;

	if (field == F_DISK_BYTES && files)
		quantity_show_bytes(files, out, size);
	else
		field_show(policy_of(in), &fields[field], out, size);
}

static bool
is_unused(const struct instructions *in, enum field_id field)
{
	return field == F_DISPLAY_BYTES &&
	       policy_of(in)->display_mode == DISPLAYS_NONE;
}

static int
add_limits(struct buf *out, const struct instructions *in)
{
	const char *before = "\n## Limits\n\nAt most:\n\n";
	char value[64];

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		enum field_id field = limits[i].field;

		if (!is_kept(in, field) || is_unused(in, field))
			continue;
		show_limit(in, field, value, sizeof(value));
		if (buf_addf(out, "%s- %s %s\n", before, value,
			     limits[i].words) < 0)
			return -1;
		before = "";
	}
	return 0;
}

int
instructions_write_tools(struct buf *out, const struct instructions *in)
{
	static const struct {
		enum field_id field;
		const char *before, *after;
	} parts[] = {
		{ F_TOOL_CALLS, "At most ", " calls" },
		{ F_TOOL_CONCURRENCY, ", ", " at the same time" },
		{ F_TOOL_BYTES, ", ", " of arguments or of a result each" },
	};
	char value[64];

	if (in->plan->tier == TIER_STATIC)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		show_limit(in, parts[i].field, value, sizeof(value));
		if (buf_addf(out, "%s%s%s", parts[i].before, value,
			     parts[i].after) < 0)
			return -1;
	}
	return buf_addf(out, ".\n");
}

int
instructions_write(struct buf *out, const struct instructions *in)
{
	if (add_running(out, in) < 0 || buf_addf(out, "\n") < 0 ||
	    add_checks(out, in) < 0)
		return -1;
	if (in->plan->tier == TIER_STATIC)
		return 0;
	if (add_packages(out, in) < 0 || add_files(out, in) < 0 ||
	    add_network(out, in) < 0 || add_processes(out, in) < 0 ||
	    add_environment(out, in) < 0)
		return -1;
	return add_limits(out, in);
}

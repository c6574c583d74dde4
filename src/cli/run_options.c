#include "run_options.h"

#include <string.h>

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int
no_memory(struct remit_error *err)
{
	return fail_sys(err, REMIT_E_MEMORY, "--file");
}

/* LOCAL or LOCAL:JAILPATH; a colon in LOCAL needs the second form. */
static int
add_file(struct run_options *o, char *text, struct remit_error *err)
{
	struct remit_file *all =
		reallocarray(o->files, o->file_count + 1, sizeof(*all));
	char *host_path, *colon;

	if (!all)
		return no_memory(err);
	o->files = all;
	host_path = strdup(text);
	if (!host_path)
		return no_memory(err);
	colon = strrchr(host_path, ':');
	if (colon)
		*colon = '\0';
	all[o->file_count++] = (struct remit_file){
		.host_path = host_path,
		.path = colon ? colon + 1 : base_name(host_path),
	};
	if (*host_path && *all[o->file_count - 1].path)
		return 0;
	return fail(err, REMIT_E_INPUT,
		    "--file: write LOCAL or LOCAL:JAILPATH");
}

static int
set_artifacts(struct run_options *o, char *text, struct remit_error *err)
{
	(void)err;
	o->artifacts = text;
	return 0;
}

static int
set_displays(struct run_options *o, char *text, struct remit_error *err)
{
	(void)err;
	o->displays = text;
	return 0;
}

static int
set_audit(struct run_options *o, char *text, struct remit_error *err)
{
	(void)err;
	o->audit = text;
	return 0;
}

static const struct option {
	const char *name;
	int (*set)(struct run_options *o, char *text, struct remit_error *err);
	size_t offset; /* of a bool, if there is no `set` */
} options[] = {
	{ .name = "--json", .offset = offsetof(struct run_options, json) },
	{ .name = "--raw", .offset = offsetof(struct run_options, raw) },
	{ .name = "--ask", .offset = offsetof(struct run_options, ask) },
	{ .name = "--dry-run",
	  .offset = offsetof(struct run_options, dry_run) },
	{ .name = "--value", .offset = offsetof(struct run_options, value) },
	{ .name = "--file", .set = add_file },
	{ .name = "--artifacts", .set = set_artifacts },
	{ .name = "--displays", .set = set_displays },
	{ .name = "--audit", .set = set_audit },
};

/* NULL if it is none of ours; *joined is the value behind "=", or NULL. */
static const struct option *
find(char *arg, char **joined)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		size_t n = strlen(options[i].name);

		if (strncmp(arg, options[i].name, n) != 0 ||
		    (arg[n] && (arg[n] != '=' || !options[i].set)))
			continue;
		*joined = arg[n] ? arg + n + 1 : NULL;
		return &options[i];
	}
	return NULL;
}

static int
take_option(struct run_options *o, int argc, char **argv, int *i,
	    struct remit_error *err)
{
	char *joined;
	const struct option *own = find(argv[*i], &joined);
	enum flags_answer a;

	if (tool_options_has(argv[*i])) {
		if (*i + 1 == argc)
			return fail(err, REMIT_E_INPUT, "%s: needs a value",
				    argv[*i]);
		*i += 1;
		return tool_options_set(&o->tools, argv[*i - 1], argv[*i], err);
	}
	if (own && !own->set) {
		*(bool *)((char *)o + own->offset) = true;
		return 0;
	}
	if (own) {
		if (!joined && ++*i == argc)
			return fail(err, REMIT_E_INPUT, "%s: needs a value",
				    own->name);
		return own->set(o, joined ? joined : argv[*i], err);
	}
	a = flags_take(&o->flags, argc, argv, i, err);
	if (a == FLAGS_OTHER)
		return flags_unknown(argv[*i], err);
	return a == FLAGS_TAKEN ? 0 : -1;
}

int
run_options_parse(struct run_options *o, int argc, char **argv,
		  struct remit_error *err)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (argv[i][0] != '-' || !strcmp(argv[i], "-"))
			break;
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "-c")) {
			if (++i == argc)
				return fail(err, REMIT_E_INPUT,
					    "-c needs the code behind it");
			o->code = argv[i];
			i++;
			break;
		}
		if (take_option(o, argc, argv, &i, err) < 0)
			return -1;
	}
	if (!o->code) {
		if (i >= argc)
			return fail(err, REMIT_E_INPUT,
				    "name a program: remit run FILE, remit "
				    "run - or remit run -c CODE");
		o->script = argv[i++];
	}
	o->args = argv + i;
	return 0;
}

static bool
has_write_root(const struct policy *p)
{
	for (size_t i = 0; i < p->mounts.count; i++)
		if (p->mounts.items[i].mode == MOUNT_RW)
			return true;
	return p->filesystem_write_roots.count > 0;
}

int
run_options_apply(const struct run_options *o, struct policy *p,
		  struct remit_error *err)
{
	if (!o->dry_run)
		return 0;
	if (!has_write_root(p))
		return fail(err, REMIT_E_INPUT,
			    "--dry-run: name a folder that may be changed: "
			    "--write DIR");
	p->commit = COMMIT_NEVER;
	return 0;
}

int
run_options_check(const struct run_options *o, const struct policy *p,
		  struct remit_error *err)
{
	bool exports = p->artifact_export_paths.count > 0;

	if (o->ask && o->json)
		return fail(err, REMIT_E_INPUT,
			    "--ask is for people and --json for programs: "
			    "choose one");
	if (o->value && o->json)
		return fail(err, REMIT_E_INPUT,
			    "--json has the value already: choose it or "
			    "--value");
	if (o->ask && o->raw)
		return fail(err, REMIT_E_INPUT,
			    "--raw lets the program draw over questions: "
			    "choose it or --ask");
	if (exports && !o->artifacts)
		return fail(err, REMIT_E_INPUT,
			    "--export needs a folder for the files: "
			    "--artifacts DIR");
	if (o->artifacts && !exports)
		return fail(err, REMIT_E_INPUT,
			    "--artifacts: name the files that may leave the "
			    "jail: --export PATTERN");
	return 0;
}

void
run_options_free(struct run_options *o)
{
	for (size_t i = 0; i < o->file_count; i++)
		free((char *)o->files[i].host_path);
	free(o->files);
	tool_options_free(&o->tools);
	flags_free(&o->flags);
}

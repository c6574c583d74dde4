/*
 * probe_wasm: finds the interpreter of the tier wasm, a part of Remit that is
 * built only on request.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file/path.h"
#include "jail/probe/discover.h"

#define PROGRAM	      "remit-wasm"
#define VERSION_BYTES (64 * 1024)

static int
find_directory(char **out, struct remit_error *err)
{
	static const char *const places[] = { "wasm", "../lib/remit/wasm" };
	own_mem char *own = NULL;
	char file[PATH_MAX];

	if (path_own_dir(&own, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(file, sizeof(file), "%s/%s/" PROGRAM, own, places[i]);
		if (access(file, X_OK) < 0)
			continue;
		*strrchr(file, '/') = '\0';
		*out = realpath(file, NULL);
		if (*out)
			return 0;
	}
	return fail_refused(
		err, "tier",
		"Build it: \"make wasm\" in the source tree of Remit. Or use "
		"the tier local.",
		"the tier \"wasm\" needs " PROGRAM
		", which is not built: it is neither in %s/wasm nor in "
		"%s/../lib/remit/wasm",
		own, own);
}

static char *
file_in(const char *directory, const char *name)
{
	char *out;

	return asprintf(&out, "%s/%s", directory, name) < 0 ? NULL : out;
}

/* The file has a line for each part that the guest was built from, such as
   "python3.11 3.11.2-6+deb12u6". */
static int
read_version(struct interpreter *in, const char *directory,
	     struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(VERSION_BYTES);
	own_mem char *file = file_in(directory, "version");
	const char *line;

	if (!file)
		return fail_memory(err, "interpreter");
	if (path_read_file(&text, file, err) < 0)
		return -1;
	for (line = buf_text(&text); line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "python3.%*d %d.%d.%d", &in->major, &in->minor,
			   &in->micro) == 3)
			return 0;
	}
	return fail_refused(err, "tier", "Build it again: \"make wasm\".",
			    "%s does not name the version of Python", file);
}

static int
fill(struct interpreter *in, const char *directory, struct remit_error *err)
{
	own_mem char *library = file_in(directory, "lib");

	in->executable = file_in(directory, PROGRAM);
	in->real = file_in(directory, PROGRAM);
	in->prefix = strdup(directory);
	in->exec_prefix = strdup(directory);
	in->program_path = strdup("");
	in->compiled = file_in(directory, "compiled");
	if (!library || !in->executable || !in->real || !in->prefix ||
	    !in->exec_prefix || !in->program_path || !in->compiled ||
	    list_add(&in->mounts, directory) < 0 ||
	    list_add(&in->sys_path, library) < 0)
		return fail_memory(err, "interpreter");
	return read_version(in, directory, err);
}

int
discover_wasm(struct interpreter *out, struct remit_error *err)
{
	own_mem char *directory = NULL;
	struct interpreter in = { 0 };

	if (find_directory(&directory, err) < 0)
		return -1;
	if (fill(&in, directory, err) < 0) {
		interpreter_free(&in);
		return -1;
	}
	*out = in;
	return 0;
}

int
discover_for(struct interpreter *out, const struct policy *p,
	     const char *runtime_dir, struct remit_error *err)
{
	if (p->tier == TIER_WASM)
		return discover_wasm(out, err);
	return discover_interpreter(out, p->python, runtime_dir, err);
}

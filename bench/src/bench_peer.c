#include "bench_peer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "bench_template.h"

#define PYTHON "{python}", "-I", "-c", "{code}"

const struct bench_peer bench_peers[] = {
	{
		.name = "remit run, shared keeper",
		.argv = { "{remit}", "run", "--python", "{python}", "--preset",
			  "{preset}", "{preload}", "-c", "{code}" },
		.env = ENV_SHARED,
		.quick = true,
	},
	{
		.name = BENCH_COLD,
		.argv = { "{remit}", "run", "--python", "{python}", "--preset",
			  "{preset}", "-c", "{code}" },
		.env = ENV_OWN,
		.quick = true,
	},
	{
		/* For comparison with "remit, warm, gapped", which uses the C
		   library. */
		.name = "remit in Python, warm, gapped",
		.argv = { "{python}", "-I", "{drivers}/remit_python.py",
			  "{preset}", "{code}" },
		.env = ENV_OWN,
		.serves = true,
		.plain_only = true,
		.quick = true,
	},
	{
		.name = "remit --version",
		.argv = { "{remit}", "--version" },
		.env = ENV_OWN,
		.first_only = true,
		.quick = true,
	},
	{
		.name = BENCH_BARE,
		.argv = { PYTHON },
		.quick = true,
	},
	{
		.name = BENCH_BARE_NO_SITE,
		.argv = { "{python}", "-I", "-S", "-c", "{code}" },
		.plain_only = true,
		.quick = true,
	},
	{
		/* The same as "remit, warm, hot", but without a jail. */
		.name = "a waiting fork, no jail, hot",
		.argv = { "{python}", "-I", "{drivers}/waiting.py", "{code}" },
		.serves = true,
		.quick = true,
	},
	{
		.name = BENCH_BUBBLEWRAP,
		.argv = { "bwrap", "--tmpfs", "/tmp", "{binds}", "--proc",
			  "/proc", "--dev", "/dev", "--unshare-all",
			  "--die-with-parent", PYTHON },
		.bind = { "--ro-bind", "{path}", "{path}" },
		.link = { "--symlink", "{target}", "{path}" },
		.quick = true,
	},
	{
		.name = "nsjail",
		.argv = { "nsjail", "-Mo", "-Q", "-T", "/tmp", "{binds}", "--",
			  PYTHON },
		.bind = { "-R", "{path}" },
		.link = { "-s", "{target}:{path}" },
	},
	{
		.name = "runc",
		.argv = { "runc", "--root", "{folder}/runc", "run", "--bundle",
			  "{bundle}", "{id}" },
		.has_bundle = true,
	},
	{
		.name = "runsc",
		.argv = { "runsc", "--root", "{folder}/runsc", "--network=none",
			  "--ignore-cgroups", "run", "--bundle", "{bundle}",
			  "{id}" },
		.has_bundle = true,
	},
	{
		/* Without these options podman raises limits, for which only
		   real root has the right. */
		.name = "podman",
		.argv = { "podman",
			  "--root",
			  "{folder}/podman",
			  "--runroot",
			  "{folder}/podman-run",
			  "--tmpdir",
			  "{folder}/podman-tmp",
			  "--network-config-dir",
			  "{folder}/podman-net",
			  "--storage-driver",
			  "vfs",
			  "run",
			  "--rm",
			  "--ipc",
			  "none",
			  "--network",
			  "none",
			  "--ulimit",
			  "nofile=1024:1024",
			  "--ulimit",
			  "nproc=1024:1024",
			  "{binds}",
			  "--rootfs",
			  "{root}",
			  PYTHON },
		.bind = { "-v", "{path}:{path}:ro" },
	},
	{
		.name = "docker",
		.argv = { "docker", "run", "--rm", "--network", "none",
			  "{binds}", "{id}", PYTHON },
		.bind = { "-v", "{path}:{path}:ro" },
		.before = { "docker", "import", "{tar}", "{id}" },
		.after = { "docker", "rmi", "--force", "{id}" },
	},
	{
		.name = "Pyodide in Deno",
		.argv = { "deno", "run", "--quiet", "--cached-only",
			  "--allow-read", "{drivers}/pyodide.mjs", "{code}" },
		.plain_only = true,
	},
	{
		.name = "Pyodide in Deno, one interpreter",
		.argv = { "deno", "run", "--quiet", "--cached-only",
			  "--allow-read", "{drivers}/pyodide.mjs", "--serve",
			  "{code}" },
		.plain_only = true,
		.serves = true,
	},
	{
		.name = "Jupyter",
		.argv = { "{python}", "-I", "{drivers}/jupyter.py", "{code}" },
	},
	{
		.name = "Jupyter, one kernel",
		.argv = { "{python}", "-I", "{drivers}/jupyter.py", "--serve",
			  "{code}" },
		.serves = true,
	},
	{ 0 },
};

const struct bench_peer *
bench_peer_find(const char *name)
{
	for (const struct bench_peer *p = bench_peers; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* Make the arguments that bind the directories and links. */
static int
make_binds(struct list *out, const struct bench_peer *p,
	   const struct bench_root *root, struct remit_error *err)
{
	const struct list *lists[] = { &root->binds, &root->links };

	for (size_t k = 0; p->bind[0] && k < ARRAY_LEN(lists); k++) {
		bool linked = lists[k] == &root->links && p->link[0];

		for (size_t i = 0; i < lists[k]->count; i++) {
			const char *path = lists[k]->items[i];
			char target[PATH_MAX] = "";
			struct bench_hole holes[] = {
				{ .name = "path", .text = path },
				{ .name = "target", .text = target },
				{ 0 },
			};

			if (linked &&
			    readlink(path, target, sizeof(target) - 1) < 0)
				return fail_sys(err, REMIT_E_KERNEL, "%s",
						path);
			if (bench_template_fill(out, linked ? p->link : p->bind,
						holes, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* Replace the first word by the path of the program. */
static int
find_program(struct list *argv, struct remit_error *err)
{
	char *found = bench_spawn_find(argv->items[0]);

	if (!found)
		return fail(err, REMIT_E_INPUT, "not installed");
	free(argv->items[0]);
	argv->items[0] = found;
	return 0;
}

static int
fill_command(struct list *out, const char *const *words,
	     const struct bench_peer *p, const struct bench *b,
	     const struct bench_program *program, const char *bundle,
	     struct remit_error *err)
{
	own(list) struct list binds = { 0 };
	own(list) struct list preload = { 0 };
	char id[64];
	struct bench_hole holes[] = {
		{ .name = "python", .text = b->python->executable },
		{ .name = "code", .text = program ? program->code : "" },
		{ .name = "preset", .text = program ? program->preset : "" },
		{ .name = "preload", .list = &preload },
		{ .name = "remit", .text = b->remit },
		{ .name = "folder", .text = b->directory },
		{ .name = "drivers", .text = b->drivers },
		{ .name = "root", .text = b->root.path },
		{ .name = "tar", .text = b->root.empty_tar },
		{ .name = "bundle", .text = bundle },
		{ .name = "id", .text = id },
		{ .name = "binds", .list = &binds },
		{ 0 },
	};

	snprintf(id, sizeof(id), "remit-bench-%d", (int)getpid());
	if (make_binds(&binds, p, &b->root, err) < 0 ||
	    (program && bench_program_preload(program, &preload, err) < 0) ||
	    bench_template_fill(out, words, holes, err) < 0)
		return -1;
	return find_program(out, err);
}

static const struct list *
env_of(const struct bench_peer *p, const struct bench *b)
{
	switch (p->env) {
	case ENV_OWN:
		return &b->env_own;
	case ENV_SHARED:
		return &b->env_shared;
	default:
		return &b->env_given;
	}
}

int
bench_peer_command(const struct bench_peer *p, const struct bench *b,
		   const struct bench_program *program,
		   struct bench_command *out, struct remit_error *err)
{
	struct bench_command c = { .env = env_of(p, b) };
	own_mem char *bundle = NULL;

	if (p->has_bundle &&
	    bench_root_bundle(&b->root, b->directory, b->python->executable,
			      program->code, &bundle, err) < 0)
		return -1;
	if (fill_command(&c.argv, p->argv, p, b, program, bundle ? bundle : "",
			 err) < 0) {
		bench_command_free(&c);
		return -1;
	}
	*out = c;
	return 0;
}

int
bench_peer_hook(const struct bench_peer *p, const char *const *hook,
		const struct bench *b, struct remit_error *err)
{
	own(bench_command) struct bench_command c = { .env = env_of(p, b) };
	double us;

	if (!hook[0])
		return 0;
	if (fill_command(&c.argv, hook, p, b, NULL, "", err) < 0)
		return -1;
	return bench_spawn_try(b, &c, NULL, &us, err);
}

/* ---- drivers: peers that run the program many times ---- */

#define ANSWER_MS   30000
#define ANSWER_SIZE 64

/* Read one line without its newline. The driver writes only one line per
   request. */
static int
read_line(const struct bench_driver *d, const struct bench *b,
	  char line[ANSWER_SIZE], struct remit_error *err)
{
	struct pollfd fds[] = { { .fd = d->out, .events = POLLIN },
				{ .fd = b->signals, .events = POLLIN } };
	size_t len = 0;

	while (len + 1 < ANSWER_SIZE) {
		if (poll(fds, ARRAY_LEN(fds), ANSWER_MS) <= 0)
			return fail(err, REMIT_E_BUSY, "no answer");
		if (bench_check(b, err) < 0)
			return -1;
		if (read(d->out, line + len, 1) != 1)
			return fail(err, REMIT_E_GONE, "it ended early");
		if (line[len] == '\n') {
			line[len] = '\0';
			return 0;
		}
		len++;
	}
	return fail(err, REMIT_E_PROTOCOL, "its answer is too long");
}

int
bench_driver_open(struct bench_driver *d, const struct bench *b,
		  const struct bench_command *c, struct remit_error *err)
{
	own_fd int to = -1, from = -1;
	own_fd int stderr_fd = memfd_create("err", MFD_CLOEXEC);
	char line[ANSWER_SIZE];
	int in[2], out[2];
	int bad;

	*d = (struct bench_driver){ .in = -1, .out = -1 };
	if (pipe2(in, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	to = in[0];
	d->in = in[1];
	if (pipe2(out, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	from = out[1];
	d->out = out[0];
	bad = bench_spawn_start(b, c, (const int[3]){ to, from, stderr_fd },
				&d->pid, err);
	if (bad) {
		d->pid = 0;
		return -1;
	}
	/* Close this end, so that the end of the driver is an end of file. */
	close(take_fd(&from));
	if (read_line(d, b, line, err) < 0)
		return bench_spawn_read_error(stderr_fd, err);
	if (strcmp(line, "ready"))
		return fail(err, REMIT_E_PROTOCOL, "unexpected answer \"%s\"",
			    line);
	return 0;
}

int
bench_driver_time(const struct bench_driver *d, const struct bench *b,
		  double *us, struct remit_error *err)
{
	char line[ANSWER_SIZE], *end;
	double ms;

	if (write(d->in, "\n", 1) != 1)
		return fail_sys(err, REMIT_E_GONE, "write to the driver");
	if (read_line(d, b, line, err) < 0)
		return -1;
	ms = strtod(line, &end);
	if (end == line || *end)
		return fail(err, REMIT_E_PROTOCOL, "unexpected answer \"%s\"",
			    line);
	*us = ms * 1e3;
	return 0;
}

void
bench_driver_close(struct bench_driver *d)
{
	own_fd_close(&d->in);
	own_fd_close(&d->out);
	d->in = d->out = -1;
	if (d->pid > 0)
		bench_spawn_end(d->pid);
	d->pid = 0;
}

/*
 * bench_main: the program remit-bench, which `remit bench` executes. It
 * measures starts, throughput and memory of Remit, bare Python and other
 * sandboxes in one run.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/file/path.h"
#include "cli/bench_request.h"
#include "jail/probe/discover.h"
#include "measure/measure.h"
#include "policy/policy.h"

#define ROUNDS	     60
#define ROUNDS_QUICK 6
#define WINDOW_MS    3000
#define WINDOW_QUICK 250
#define INTERRUPTED  130

/* In the order of the report. */
static int (*const measurements[])(struct bench *b, struct remit_error *err) = {
	bench_start_measure,	 bench_cells_measure, bench_load_measure,
	bench_memory_measure,	 bench_size_pools,    bench_size_zygotes,
	bench_size_forks,	 bench_extra_measure, bench_network_measure,
	bench_beside_measure,	 bench_tools_measure, bench_branches_measure,
	bench_frontends_measure,
};

static const struct options request = {
	.name = "bench",
	.tables = { { .rows = bench_request_rows } },
};

static struct bench_options
options_from_request(const struct bench_request *r)
{
	unsigned usual = r->quick ? ROUNDS_QUICK : ROUNDS;

	return (struct bench_options){
		.rounds = r->rounds ? (unsigned)r->rounds : usual,
		.window_ms = r->quick ? WINDOW_QUICK : WINDOW_MS,
		.quick = r->quick,
		.only = r->only,
	};
}

/* The machine and the time of the measurement. */
struct facts {
	struct utsname kernel;
	char date[32], python[32];
	int cpus;
};

static void
find_facts(struct facts *f, const struct interpreter *python)
{
	time_t now = time(NULL);
	struct tm utc = { 0 };

	*f = (struct facts){ .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN) };
	uname(&f->kernel);
	gmtime_r(&now, &utc);
	strftime(f->date, sizeof(f->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(f->python, sizeof(f->python), "%d.%d.%d", python->major,
		 python->minor, python->micro);
}

static int
write_json(const struct bench *b, const struct facts *f, const char *path,
	   struct remit_error *err)
{
	own_mem char *text = NULL;
	json_t *doc = json_pack(
		"{s:s, s:s, s:s, s:i, s:b, s:s, s:s, s:i, s:b, s:o}",
		"remit_version", remit_version(), "date", f->date, "kernel",
		f->kernel.release, "cpus", f->cpus, "by_root", geteuid() == 0,
		"python", b->python->executable, "python_version", f->python,
		"rounds", (int)b->opt.rounds, "quick", b->opt.quick, "sections",
		bench_report_json(&b->report));

	text = doc ? json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
		   : NULL;
	json_decref(doc);
	if (!text)
		return fail_memory(err, path);
	return path_write_file(path, text, strlen(text), err);
}

static int
print_report(const struct bench *b, const char *json_path,
	     struct remit_error *err)
{
	struct facts f;

	find_facts(&f, b->python);
	bench_progress(b, "%s", "");
	printf("remit %s, Linux %s, %d processors, by %s\n"
	       "Python %s (%s), %s\n",
	       remit_version(), f.kernel.release, f.cpus,
	       geteuid() == 0 ? "root" : "an ordinary user", f.python,
	       b->python->executable, f.date);
	bench_report_print(&b->report, stdout);
	return json_path ? write_json(b, &f, json_path, err) : 0;
}

static int
run_bench(const struct bench_request *r, const struct interpreter *python,
	  struct remit_error *err)
{
	struct bench_options opt = options_from_request(r);
	struct bench b;
	int bad = bench_open(&b, &opt, python, err);
	bool ended;

	for (size_t i = 0; i < ARRAY_LEN(measurements) && !bad; i++)
		bad = measurements[i](&b, err);
	if (!bad)
		bad = print_report(&b, r->json, err);
	ended = bad && b.signals >= 0 &&
		bench_check(&b, &(struct remit_error){ 0 }) < 0;
	bench_close(&b);
	if (ended)
		return INTERRUPTED;
	return bad ? -1 : 0;
}

int
main(int argc, char **argv)
{
	own(policy) struct policy policy = { 0 };
	own(site) struct site site = { 0 };
	struct bench_request r = { 0 };
	struct remit_error err;
	int code;

	if (options_parse(&request, &r, argc, argv, NULL, NULL, &err) < 0)
		return error_print(&err);
	if (policy_init(&policy) < 0) {
		fail_memory(&err, "policy");
		return error_print(&err);
	}
	if (site_find_host(&site, &err) < 0 ||
	    discover_interpreter(&site.interpreter,
				 r.python ? r.python : policy.python,
				 site.runtime_dir, &err) < 0)
		return error_print(&err);
	code = run_bench(&r, &site.interpreter, &err);
	return code < 0 ? error_print(&err) : code;
}

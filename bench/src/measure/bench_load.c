/*
 * bench_load: measures runs per second with one and with many clients, and the
 * processor time per run.
 */
#include "measure/measure.h"

#include <pthread.h>
#include <string.h>

#include "bench_peer.h"
#include "bench_warm.h"
#include "measure/bench_floor.h"

#define SECTION	    "throughput, print(1)"
#define CLIENTS_MAX 64
#define WARM_UP_MS  500
#define IDLE_MS	    400
#define AT_ONCE	    2 /* commands at once; small machines have 2 CPUs */

/* What each client repeats: a warm run, a command or a call of a driver. */
struct work {
	const struct bench *bench;
	const struct bench_warm *warm;
	const struct bench_command *command;
	const struct bench_driver *drivers; /* one for each client */
	double end_us;
};

struct client {
	pthread_t thread;
	const struct work *work;
	size_t number;
	struct bench_stats time;
	int bad;
	struct remit_error err;
};

static int
work_once(const struct work *w, size_t client, double *us,
	  struct remit_error *err)
{
	if (w->drivers)
		return bench_driver_time(&w->drivers[client], w->bench, us,
					 err);
	if (w->warm)
		return bench_warm_run(w->warm, us, err);
	if (bench_check(w->bench, err) < 0)
		return -1;
	return bench_spawn_thread(w->bench, w->command, us, err);
}

static void *
client_thread(void *arg)
{
	struct client *c = arg;
	double us;

	while (!c->bad && bench_stats_now_us() < c->work->end_us) {
		c->bad = work_once(c->work, c->number, &us, &c->err);
		if (!c->bad && bench_stats_add(&c->time, us) < 0)
			c->bad = fail_memory(&c->err, "times");
	}
	return NULL;
}

/* Run clients for some time, and add the times of their runs to *to. */
static int
run_clients(struct work *w, size_t count, double ms, struct bench_stats *to,
	    struct remit_error *err)
{
	struct client *all = calloc(count, sizeof(*all));
	size_t started;
	int bad = 0;

	if (!all)
		return fail_memory(err, "clients");
	w->end_us = bench_stats_now_us() + ms * 1e3;
	for (started = 0; started < count; started++) {
		all[started].work = w;
		all[started].number = started;
		if (pthread_create(&all[started].thread, NULL, client_thread,
				   &all[started])) {
			bad = fail(err, REMIT_E_KERNEL,
				   "cannot start thread %zu", started);
			break;
		}
	}
	for (size_t i = 0; i < started; i++) {
		pthread_join(all[i].thread, NULL);
		if (all[i].bad) {
			*err = all[i].err;
			bad = -1;
		} else if (bench_stats_join(to, &all[i].time) < 0) {
			bad = fail_memory(err, "times");
		}
		bench_stats_free(&all[i].time);
	}
	free(all);
	return bad;
}

/* Returns the busy time of all processors together. */
static double
busy_ms(void)
{
	/* proc(5): user, nice, system, idle, iowait, irq, softirq */
	static const bool is_busy[] = { true,  true, true, false,
					false, true, true };
	FILE *f = fopen("/proc/stat", "re");
	char line[512] = "", *at = line + strlen("cpu");
	double ticks = 0;

	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < ARRAY_LEN(is_busy); i++) {
			double n = strtod(at, &at);

			ticks += is_busy[i] ? n : 0;
		}
	fclose(f);
	return ticks * 1000 / (double)sysconf(_SC_CLK_TCK);
}

/* Processor time of other processes would count as cost of the runs, so first
   measure how busy the machine is without the bench. */
static int
measure_others(const struct bench *b, struct bench_row *row,
	       struct remit_error *err)
{
	unsigned ms = b->opt.quick ? IDLE_MS / 4 : IDLE_MS;
	double busy, begun;

	if (bench_pause(b, ms, err) < 0)
		return -1;
	busy = busy_ms();
	begun = bench_stats_now_us();
	if (bench_pause(b, ms, err) < 0)
		return -1;
	row->value[VALUE_OTHERS] = (busy_ms() - busy) * 1e3 /
				   (bench_stats_now_us() - begun) /
				   (double)sysconf(_SC_NPROCESSORS_ONLN);
	return 0;
}

static int
new_row(struct bench *b, struct bench_row **row, const char *name,
	size_t clients, struct remit_error *err)
{
	char title[64];

	snprintf(title, sizeof(title), "%s, %zu client%s", name, clients,
		 clients == 1 ? "" : "s");
	bench_progress(b, "%s: %s", SECTION, title);
	return bench_report_add(&b->report, row, SECTION, title, err);
}

static int
measure_load(const struct bench *b, struct work *w, struct bench_row *row,
	     size_t clients, struct remit_error *err)
{
	own(bench_stats) struct bench_stats ignored = { 0 };
	double busy, begun, runs;

	if (measure_others(b, row, err) < 0 ||
	    run_clients(w, clients, b->opt.quick ? WARM_UP_MS / 5 : WARM_UP_MS,
			&ignored, err) < 0)
		return -1;
	busy = busy_ms();
	begun = bench_stats_now_us();
	if (run_clients(w, clients, b->opt.window_ms, &row->time, err) < 0)
		return -1;
	runs = (double)row->time.count;
	row->value[VALUE_RUNS_PER_S] =
		runs * 1e6 / (bench_stats_now_us() - begun);
	if (runs > 0)
		row->value[VALUE_CPU_MS] = (busy_ms() - busy) / runs;
	return 0;
}

static int
measure_remit(struct bench *b, struct remit_error *err)
{
	static const size_t clients[] = { 1, 2, 8, CLIENTS_MAX };
	own(bench_warm) struct bench_warm warm = { 0 };
	struct work w = { .bench = b, .warm = &warm };
	struct bench_row *row;
	struct remit *remit;
	int bad;

	if (bench_remit(b, &remit, err) < 0)
		return -1;
	bad = bench_warm_open(&warm, b, &bench_programs[0], remit, err);
	for (size_t i = 0; !bad && i < ARRAY_LEN(clients); i++)
		bad = new_row(b, &row, "remit, warm", clients[i], err) < 0 ||
		      measure_load(b, &w, row, clients[i], err) < 0;
	remit_close(remit);
	return bad ? -1 : 0;
}

static int
measure_peer(struct bench *b, const char *name, struct remit_error *err)
{
	own(bench_command) struct bench_command command = { 0 };
	struct work w = { .bench = b, .command = &command };
	const struct bench_peer *p = bench_peer_find(name);
	struct remit_error why;
	struct bench_row *row;
	double us;

	if (new_row(b, &row, name, AT_ONCE, err) < 0)
		return -1;
	if (bench_peer_command(p, b, &bench_programs[0], &command, &why) == 0 &&
	    bench_spawn_try(b, &command, NULL, &us, &why) == 0)
		return measure_load(b, &w, row, AT_ONCE, err);
	bench_row_absent(row, "%s", why.message);
	return bench_check(b, err);
}

static int
run_floor(const struct bench_floor *all, size_t count, double ms, double *runs,
	  struct remit_error *err)
{
	struct bench_floor_count some;

	*runs = 0;
	for (size_t i = 0; i < count; i++)
		if (bench_floor_go(&all[i], ms, err) < 0)
			return -1;
	for (size_t i = 0; i < count; i++) {
		if (bench_floor_count(&all[i], &some, err) < 0)
			return -1;
		*runs += some.runs;
	}
	return 0;
}

static int
measure_floor(struct bench *b, struct remit_error *err)
{
	struct bench_floor all[AT_ONCE] = { { .control = -1 },
					    { .control = -1 } };
	struct bench_row *row;
	double busy, begun, runs;
	int bad = bench_report_add(&b->report, &row, SECTION,
				   "the jails alone, 2 at once", err);

	bench_progress(b, "%s: the jails alone", SECTION);
	for (size_t i = 0; !bad && i < AT_ONCE; i++)
		bad = bench_floor_open(&all[i], b, NULL, err);
	bad = bad || measure_others(b, row, err) < 0 ||
	      run_floor(all, AT_ONCE, WARM_UP_MS, &runs, err) < 0;
	busy = busy_ms();
	begun = bench_stats_now_us();
	bad = bad || run_floor(all, AT_ONCE, b->opt.window_ms, &runs, err) < 0;
	if (!bad) {
		row->value[VALUE_RUNS_PER_S] =
			runs * 1e6 / (bench_stats_now_us() - begun);
		row->value[VALUE_CPU_MS] = (busy_ms() - busy) / runs;
	}
	bench_floor_free(all, AT_ONCE);
	return bad ? -1 : 0;
}

/* Fork Python without a jail: the upper bound for any sandbox that forks Python
   for each run. */
static int
measure_forks(struct bench *b, struct remit_error *err)
{
	own(bench_command) struct bench_command c = { .env = &b->env_given };
	char path[sizeof(b->drivers) + 16];
	const char *words[] = { b->python->executable, "-I", path, "0",
				bench_programs[0].code };
	struct bench_driver drivers[AT_ONCE] = { { .in = -1, .out = -1 },
						 { .in = -1, .out = -1 } };
	struct work w = { .bench = b, .drivers = drivers };
	struct bench_row *row;
	int bad = 0;

	if (new_row(b, &row, "a fork of Python, no jail", AT_ONCE, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/forks.py", b->drivers);
	for (size_t i = 0; !bad && i < ARRAY_LEN(words); i++)
		if (list_add(&c.argv, words[i]) < 0)
			bad = fail_memory(err, "command");
	for (size_t i = 0; !bad && i < AT_ONCE; i++)
		bad = bench_driver_open(&drivers[i], b, &c, err);
	bad = bad || measure_load(b, &w, row, AT_ONCE, err) < 0;
	for (size_t i = 0; i < AT_ONCE; i++)
		bench_driver_close(&drivers[i]);
	return bad ? bench_absent(b, row, err) : 0;
}

int
bench_load_measure(struct bench *b, struct remit_error *err)
{
	static const char *const peers[] = { BENCH_COLD, BENCH_BARE,
					     BENCH_BUBBLEWRAP };

	if (!bench_wants(b, SECTION))
		return 0;
	if (measure_remit(b, err) < 0 || measure_floor(b, err) < 0 ||
	    measure_forks(b, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(peers); i++)
		if (measure_peer(b, peers[i], err) < 0)
			return -1;
	return 0;
}

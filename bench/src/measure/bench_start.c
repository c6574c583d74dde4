/*
 * bench_start: measures how long one run takes, from request to result: each
 * program in each way, warm, cold and with peers. The rounds are interleaved,
 * so that noise of the machine affects all alike.
 */
#include "measure/measure.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/file/fd.h"
#include "bench_peer.h"
#include "bench_stats.h"
#include "bench_warm.h"

/* ---- the lower bound: four context switches ---- */

/* Sends a byte from this process to a second one, from there to a third, and
   back: the four context switches of a warm run, and nothing else. */
struct bench_relay {
	int peer; /* to the second process; closing it ends both */
	pid_t pid;
};

#define BENCH_RELAY_INIT { .peer = -1 }

static int
pair_of(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static void __attribute__((noreturn))
relay_answer(int peer)
{
	char byte;

	fds_close_others(&peer, 1);
	while (read(peer, &byte, 1) == 1 && write(peer, &byte, 1) == 1)
		;
	_exit(0);
}

static void __attribute__((noreturn))
relay_pass_on(int peer)
{
	int ends[2];
	char byte;

	fds_close_others(&peer, 1);
	if (pair_of(ends) < 0)
		_exit(1);
	if (fork() == 0)
		relay_answer(ends[1]);
	close(ends[1]);
	while (read(peer, &byte, 1) == 1 && write(ends[0], &byte, 1) == 1 &&
	       read(ends[0], &byte, 1) == 1 && write(peer, &byte, 1) == 1)
		;
	_exit(0);
}

static int
bench_relay_open(struct bench_relay *r, struct remit_error *err)
{
	int ends[2];

	if (pair_of(ends) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	r->pid = fork();
	if (r->pid == 0)
		relay_pass_on(ends[1]);
	close(ends[1]);
	r->peer = ends[0];
	if (r->pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	return 0;
}

static int
bench_relay_time(const struct bench_relay *r, double *us,
		 struct remit_error *err)
{
	double begun = bench_stats_now_us();
	char byte = 'x';

	if (send(r->peer, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    read(r->peer, &byte, 1) != 1)
		return fail_sys(err, REMIT_E_GONE, "the relay has ended");
	*us = bench_stats_now_us() - begun;
	return 0;
}

static void
bench_relay_close(struct bench_relay *r)
{
	own_fd_close(&r->peer);
	r->peer = -1;
	if (r->pid > 0)
		waitpid(r->pid, NULL, 0);
	r->pid = 0;
}

/* ---- the section ---- */

#define CASES_MAX 128
/* How long one row may take in each round. Slower rows skip rounds. */
#define ROUND_US	  60e3
#define SAMPLES_MIN	  5
#define SAMPLES_MIN_QUICK 2
#define POOL_SIZE	  16
#define GAPS_IN_ROUND	  3
#define SETTLE_MS	  10
#define SETTLE_MAX_MS	  1000
#define COLD_COST	  BENCH_COLD ", minus " BENCH_BARE_NO_SITE

/* One row, and how to measure it. */
struct one_case {
	struct bench_row *row;
	int (*measure)(struct one_case *c, const struct bench *b,
		       struct remit_error *err);
	unsigned stride; /* takes part in every stride-th round */
	bool foreign;	 /* may fail, and is then absent */
	bool unsettles;	 /* a keeper refills a pool afterwards */
	struct bench_command command;
	struct bench_driver driver;
	const struct bench_warm *warm;
	const struct bench_relay *relay;
};

struct start {
	struct bench *bench;
	struct remit *remit, *shared;
	struct one_case cases[CASES_MAX];
	size_t case_count;
	struct bench_warm warm[8]; /* by index of the program */
	struct bench_relay relay;
	bool hooked[32]; /* by index of the peer */
};

static int
measure_command(struct one_case *c, const struct bench *b,
		struct remit_error *err)
{
	double us;

	if (bench_spawn_time(b, &c->command, &us, err) < 0)
		return fail_within(err, "%s", c->row->name);
	return bench_row_add(c->row, us, err);
}

static int
measure_driver(struct one_case *c, const struct bench *b,
	       struct remit_error *err)
{
	/* Remit's driver is compared with the library, so it runs as often. */
	int repeats = c->foreign ? 1 : GAPS_IN_ROUND;
	double us;

	for (int i = 0; i < repeats; i++) {
		if (bench_driver_time(&c->driver, b, &us, err) < 0)
			return fail_within(err, "%s", c->row->name);
		if (bench_row_add(c->row, us, err) < 0)
			return -1;
	}
	return 0;
}

/* The pool shrinks while other rows are measured. */
static int
measure_hot(struct one_case *c, const struct bench *b, struct remit_error *err)
{
	(void)b;
	if (bench_warm_grow(c->warm, POOL_SIZE, err) < 0)
		return -1;
	return bench_warm_hot(c->warm, c->row, err);
}

static int
measure_gapped(struct one_case *c, const struct bench *b,
	       struct remit_error *err)
{
	(void)b;
	for (int i = 0; i < GAPS_IN_ROUND; i++)
		if (bench_warm_gapped(c->warm, c->row, err) < 0)
			return -1;
	return 0;
}

static int
relay_once(struct one_case *c, struct remit_error *err)
{
	double us = 0;

	if (bench_relay_time(c->relay, &us, err) < 0)
		return -1;
	return bench_row_add(c->row, us, err);
}

static int
measure_relay_hot(struct one_case *c, const struct bench *b,
		  struct remit_error *err)
{
	(void)b;
	for (int i = 0; i < POOL_SIZE; i++)
		if (relay_once(c, err) < 0)
			return -1;
	return 0;
}

static int
measure_relay_gapped(struct one_case *c, const struct bench *b,
		     struct remit_error *err)
{
	for (int i = 0; i < GAPS_IN_ROUND; i++)
		if (bench_pause(b, BENCH_GAP_MS, err) < 0 ||
		    relay_once(c, err) < 0)
			return -1;
	return 0;
}

static struct one_case *
new_case(struct start *s, struct bench_row *row)
{
	struct one_case *c = &s->cases[s->case_count];

	*c = (struct one_case){ .row = row, .stride = 1 };
	c->driver.in = c->driver.out = -1;
	if (s->case_count + 1 < CASES_MAX)
		s->case_count++;
	return c;
}

/* Mark the row as absent because of *err. Returns -1 only if the user has
   interrupted the bench. */
static int
mark_absent(const struct start *s, struct bench_row *row,
	    struct remit_error *err)
{
	struct remit_error why = *err;

	if (bench_check(s->bench, err) < 0)
		return -1;
	bench_row_absent(row, "%s", why.message);
	return 0;
}

static unsigned
stride_for(const struct bench *b, double us)
{
	unsigned least = b->opt.quick ? SAMPLES_MIN_QUICK : SAMPLES_MIN;
	unsigned most = b->opt.rounds / least;
	double wanted = us / ROUND_US;

	if (wanted < 1 || most < 2)
		return 1;
	return wanted < most ? (unsigned)wanted : most;
}

/* Run the peer once, to check that it works. */
static int
try_peer(struct start *s, struct one_case *c, const struct bench_peer *p,
	 const struct bench_program *program, struct remit_error *err)
{
	const char *output = p->first_only ? NULL : program->output;
	const struct bench *b = s->bench;
	double us;

	if (!s->hooked[p - bench_peers] &&
	    bench_peer_hook(p, p->before, b, err) < 0)
		return -1;
	s->hooked[p - bench_peers] = true;
	if (bench_peer_command(p, b, program, &c->command, err) < 0)
		return -1;
	if (p->serves)
		return bench_driver_open(&c->driver, b, &c->command, err);
	if (bench_spawn_try(b, &c->command, output, &us, err) < 0)
		return -1;
	c->stride = stride_for(b, us);
	return 0;
}

static int
add_peer(struct start *s, const struct bench_peer *p,
	 const struct bench_program *program, struct remit_error *err)
{
	struct bench *b = s->bench;
	struct bench_row *row;
	struct one_case *c;
	bool is_bare =
		program == bench_programs && !strcmp(p->name, BENCH_BARE);

	if ((p->plain_only && program->preload[0]) ||
	    (p->first_only && program != bench_programs) ||
	    (b->opt.quick && !p->quick) ||
	    (!is_bare && !bench_wants(b, program->name)))
		return 0;
	bench_progress(b, "%s: %s", program->name, p->name);
	if (bench_report_add(&b->report, &row, program->name, p->name, err) < 0)
		return -1;
	if (is_bare)
		b->report.bare = row;
	c = new_case(s, row);
	c->measure = p->serves ? measure_driver : measure_command;
	c->foreign = p->env == ENV_GIVEN && !is_bare;
	c->unsettles = p->env == ENV_SHARED;
	if (try_peer(s, c, p, program, err) == 0)
		return 0;
	c->measure = NULL;
	/* Without bare Python, nothing can be compared. */
	return is_bare ? -1 : mark_absent(s, row, err);
}

static int
add_warm(struct start *s, const struct bench_program *program,
	 struct remit_error *err)
{
	static const struct {
		const char *name;
		int (*measure)(struct one_case *c, const struct bench *b,
			       struct remit_error *err);
	} ways[] = { { "remit, warm, hot", measure_hot },
		     { "remit, warm, gapped", measure_gapped } };
	struct bench_warm *w = &s->warm[program - bench_programs];
	struct bench *b = s->bench;
	struct bench_row *row;
	struct one_case *c;
	int works = -1;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		bench_progress(b, "%s: %s", program->name, ways[i].name);
		if (bench_report_add(&b->report, &row, program->name,
				     ways[i].name, err) < 0)
			return -1;
		if (!w->policy)
			works = bench_warm_open(w, b, program, s->remit, err);
		if (works == 0)
			works = bench_warm_grow(w, POOL_SIZE, err);
		if (works < 0) {
			if (mark_absent(s, row, err) < 0)
				return -1;
			continue;
		}
		c = new_case(s, row);
		c->warm = w;
		c->measure = ways[i].measure;
		c->unsettles = true;
	}
	return 0;
}

/* Add the lower bound for any sandbox with a keeper between caller and code. */
static int
add_relay(struct start *s, struct remit_error *err)
{
	static const struct {
		const char *name;
		int (*measure)(struct one_case *c, const struct bench *b,
			       struct remit_error *err);
	} ways[] = { { "a byte by three processes, hot", measure_relay_hot },
		     { "a byte by three processes, gapped",
		       measure_relay_gapped } };

	if (bench_relay_open(&s->relay, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct bench_row *row;
		struct one_case *c;

		if (bench_report_add(&s->bench->report, &row,
				     bench_programs[0].name, ways[i].name,
				     err) < 0)
			return -1;
		c = new_case(s, row);
		c->relay = &s->relay;
		c->measure = ways[i].measure;
	}
	return 0;
}

/* Check that the interpreter has the modules of the program. */
static int
try_bare(struct start *s, const struct bench_program *program,
	 struct remit_error *err)
{
	const struct bench_peer *bare = bench_peer_find(BENCH_BARE);
	own(bench_command) struct bench_command c = { 0 };
	double us;

	if (bench_peer_command(bare, s->bench, program, &c, err) < 0)
		return -1;
	return bench_spawn_try(s->bench, &c, program->output, &us, err);
}

static int
add_program(struct start *s, const struct bench_program *program,
	    struct remit_error *err)
{
	struct bench *b = s->bench;
	struct bench_row *row;

	if (program->preload[0] && bench_wants(b, program->name) &&
	    try_bare(s, program, err) < 0) {
		struct remit_error why = *err;

		if (bench_report_add(&b->report, &row, program->name,
				     BENCH_BARE, err) < 0)
			return -1;
		return mark_absent(s, row, &why);
	}
	if (bench_wants(b, program->name) && add_warm(s, program, err) < 0)
		return -1;
	if (program == bench_programs && bench_wants(b, program->name) &&
	    add_relay(s, err) < 0)
		return -1;
	for (const struct bench_peer *p = bench_peers; p->name; p++)
		if (add_peer(s, p, program, err) < 0)
			return -1;
	return 0;
}

static int
add_cases(struct start *s, struct remit_error *err)
{
	const struct bench_program *p;

	for (p = bench_programs; p->name; p++)
		if ((p->quick || !s->bench->opt.quick) &&
		    add_program(s, p, err) < 0)
			return -1;
	return 0;
}

/* Wait until the keepers have refilled their pools, so that this work does not
   slow the next row. */
static int
await_settled(const struct start *s, struct remit_error *err)
{
	int left_ms = SETTLE_MAX_MS;

	do {
		if (bench_pause(s->bench, SETTLE_MS, err) < 0)
			return -1;
		left_ms -= SETTLE_MS;
	} while (left_ms > 0 && (!bench_status_is_settled(s->remit) ||
				 !bench_status_is_settled(s->shared)));
	return bench_pause(s->bench, SETTLE_MS, err);
}

static int
measure_case(const struct start *s, struct one_case *c, struct remit_error *err)
{
	if (c->measure(c, s->bench, err) == 0)
		return c->unsettles ? await_settled(s, err) : 0;
	if (!c->foreign || mark_absent(s, c->row, err) < 0)
		return -1;
	c->measure = NULL;
	return 0;
}

static int
run_rounds(struct start *s, struct remit_error *err)
{
	unsigned rounds = s->bench->opt.rounds;

	for (unsigned round = 0; round < rounds; round++) {
		bench_progress(s->bench, "start: round %u of %u", round + 1,
			       rounds);
		for (size_t i = 0; i < s->case_count; i++) {
			struct one_case *c = &s->cases[i];

			if (c->measure && round % c->stride == 0 &&
			    measure_case(s, c, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* Add the cost of jail, keeper and command together: the difference to bare
   Python, started with the same options, in the same round. */
static int
compare_cold(struct bench *b, struct remit_error *err)
{
	const char *section = bench_programs[0].name;
	const struct bench_row *bare, *cold;
	struct bench_row *row;

	bare = bench_report_find(&b->report, section, BENCH_BARE_NO_SITE);
	cold = bench_report_find(&b->report, section, BENCH_COLD);
	if (!bare || !cold || !cold->time.count ||
	    cold->time.count != bare->time.count)
		return 0;
	if (bench_report_add(&b->report, &row, section, COLD_COST, err) < 0)
		return -1;
	for (size_t i = 0; i < cold->time.count; i++)
		if (bench_row_add(row, cold->time.us[i] - bare->time.us[i],
				  err) < 0)
			return -1;
	return 0;
}

static void
start_free(struct start *s)
{
	struct remit_error ignored;

	s->bench->closing = true;
	for (size_t i = 0; i < s->case_count; i++) {
		bench_driver_close(&s->cases[i].driver);
		bench_command_free(&s->cases[i].command);
	}
	for (const struct bench_peer *p = bench_peers; p->name; p++)
		if (s->hooked[p - bench_peers])
			(void)!bench_peer_hook(p, p->after, s->bench, &ignored);
	for (size_t i = 0; i < ARRAY_LEN(s->warm); i++)
		bench_warm_free(&s->warm[i]);
	bench_relay_close(&s->relay);
	remit_close(s->remit);
	remit_close(s->shared);
	s->bench->closing = false;
	free(s);
}

int
bench_start_measure(struct bench *b, struct remit_error *err)
{
	struct start *s = calloc(1, sizeof(*s));
	int bad;

	if (!s)
		return fail_memory(err, "the rounds");
	s->bench = b;
	s->relay = (struct bench_relay)BENCH_RELAY_INIT;
	bad = bench_remit(b, &s->remit, err) < 0 ||
	      bench_shared(b, &s->shared, err) < 0 || add_cases(s, err) < 0 ||
	      run_rounds(s, err) < 0 || compare_cold(b, err) < 0;
	start_free(s);
	return bad ? -1 : 0;
}

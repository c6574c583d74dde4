#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char *python_mounts[] = { "/usr/lib/python3.11", "/opt/venv", NULL };
static char *program_mounts[] = { "/usr/bin", NULL };
static char *network_mounts[] = { "/etc/resolv.conf", "/etc/ssl", NULL };
static char *links[] = { "/lib\tusr/lib", NULL };

const struct interpreter python = {
	.executable = "/usr/bin/python3",
	.mounts = { python_mounts, 2 },
	.program_mounts = { program_mounts, 1 },
	.network_mounts = { network_mounts, 2 },
	.links = { links, 1 },
};

void
trial_free(struct trial *t)
{
	plan_free(&t->plan);
	policy_free(&t->policy);
}

void
set(struct trial *t, const char *name, const char *text)
{
	struct remit_error err;
	const struct field *f = field_find(name);

	assert_non_null(f);
	if (field_set_text(&t->policy, f, text, &err) < 0)
		fail_msg("%s", err.message);
}

struct trial
ordinary(void)
{
	struct trial t = {
		.host = {
			.uid = 1000,
			.landlock_abi = 6,
			.cpus = 8,
			.page_bytes = 4096,
			.socket_buffer_bytes = 212992,
			.kernel = "6.12",
		},
	};

	assert_int_equal(policy_init(&t.policy), 0);
	for (int i = 0; i < CAN_COUNT; i++) {
		t.host.can[i].yes = true;
		snprintf(t.host.can[i].why, sizeof(t.host.can[i].why),
			 "tried it");
	}
	return t;
}

void
take_away(struct trial *t, enum capability c)
{
	t->host.can[c].yes = false;
	snprintf(t->host.can[c].why, sizeof(t->host.can[c].why),
		 "attempt %d failed", (int)c);
}

int
build(struct trial *t)
{
	plan_free(&t->plan);
	memset(&t->err, 0, sizeof(t->err));
	return plan_build(&t->plan, &t->policy, &t->job, &t->host, &python,
			  &t->err);
}

void
accepted(struct trial *t)
{
	if (build(t) < 0)
		fail_msg("%s: %s", t->err.where, t->err.message);
}

void
refused(struct trial *t, const char *where, const char *words)
{
	if (build(t) == 0)
		fail_msg("%s was not refused: %s", where, words);
	if (t->err.code != REMIT_E_REFUSED || strcmp(t->err.where, where) ||
	    !strstr(t->err.message, words) || !t->err.remedy[0])
		fail_msg("wanted %s: %s\ngot %s: %s\nremedy: %s", where, words,
			 t->err.where, t->err.message, t->err.remedy);
	assert_null(t->plan.mounts);
}

const struct plan_row *
row(const struct trial *t, enum field_id f)
{
	return &t->plan.rows[f];
}

void
kept_by(const struct trial *t, enum field_id f, uint64_t wanted)
{
	const struct plan_row *r = row(t, f);

	if (!r->present || r->strength != STRENGTH_ENFORCED ||
	    r->mechanisms != wanted)
		fail_msg("%s: present %d, %s, mechanisms %llx, wanted %llx",
			 fields[f].name, r->present,
			 strength_names[r->strength],
			 (unsigned long long)r->mechanisms,
			 (unsigned long long)wanted);
}

void
granted(const struct trial *t, enum field_id f)
{
	const struct plan_row *r = row(t, f);

	if (!r->present || r->strength != STRENGTH_GRANTED || r->mechanisms)
		fail_msg("%s: present %d, %s, mechanisms %llx", fields[f].name,
			 r->present, strength_names[r->strength],
			 (unsigned long long)r->mechanisms);
	assert_true(r->note[0]);
}

bool
is_one_second_above(uint64_t seconds, uint64_t ms)
{
	return seconds * 1000 >= ms + 1000 && seconds * 1000 < ms + 2000;
}

/* ledger: what a proxy records, and how much of it the keeper trusts. */
#include "proxy/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
ledger_groups_equal_rows_and_has_a_row_limit(void **state)
{
	struct remit_error err;
	own_fd int fd = -1;
	struct ledger *l = ledger_new(&fd, &err);
	char name[32];

	(void)state;
	assert_non_null(l);
	ledger_note(l, "a.example", 443, LEDGER_LET_THROUGH);
	ledger_sent(l, ledger_note(l, "a.example", 443, LEDGER_LET_THROUGH), 5);
	ledger_received(l, NULL, 7);
	ledger_note(l, "a.example", 443, LEDGER_NOT_PUBLIC);
	assert_int_equal(l->row_count, 2);
	assert_int_equal(l->rows[0].count, 2);
	assert_int_equal(l->rows[0].sent_bytes, 5);
	assert_int_equal(l->sent_bytes, 5);
	assert_int_equal(l->received_bytes, 7);
	assert_int_equal(l->connections, 2);
	assert_int_equal(l->refusals, 1);
	for (int i = 0; i < LEDGER_ROWS; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		ledger_note(l, name, 0, LEDGER_NOT_NAMED);
		ledger_note(l, name, 0, LEDGER_UNREACHABLE);
	}
	assert_int_equal(l->row_count, 1 + LEDGER_REFUSED_ROWS);
	assert_int_equal(l->left_out, 1 + LEDGER_ROWS - LEDGER_REFUSED_ROWS);
	assert_int_equal(l->refusals, 1 + LEDGER_ROWS);
	assert_int_equal(l->unreachable, LEDGER_ROWS);
	/* Refusals do not displace what was let through. */
	for (int i = 0; i < LEDGER_ROWS; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		ledger_note(l, name, 443, LEDGER_LET_THROUGH);
	}
	assert_int_equal(l->row_count, LEDGER_ROWS);
	assert_int_equal(l->hosts_left_out, 1 + LEDGER_REFUSED_ROWS);
	assert_int_equal(l->connections, 2 + LEDGER_ROWS);
	ledger_free(l);
}

static void
ledger_is_shared_and_cannot_be_truncated(void **state)
{
	struct remit_error err;
	own_fd int fd = -1;
	struct ledger *ours = ledger_new(&fd, &err), *theirs;

	(void)state;
	assert_non_null(ours);
	theirs = ledger_map(fd);
	assert_non_null(theirs);
	ledger_note(theirs, "a.example", 443, LEDGER_LET_THROUGH);
	assert_int_equal(ours->connections, 1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	ledger_free(ours);
	ledger_free(theirs);
}

/* A compromised proxy may have written anything. */
static void
ledger_copy_drops_malformed_rows(void **state)
{
	static struct ledger forged, copy;

	(void)state;
	forged.row_count = UINT64_MAX;
	for (size_t i = 0; i < LEDGER_ROWS; i++) {
		memset(forged.rows[i].host, 'a', HOST_NAME_SIZE);
		forged.rows[i].count = 1;
	}
	ledger_copy(&copy, &forged);
	assert_int_equal(copy.row_count, 0);
	strncpy(forged.rows[0].host, "a\"},{\"b", HOST_NAME_SIZE);
	strncpy(forged.rows[1].host, "\033[2J", HOST_NAME_SIZE);
	strncpy(forged.rows[2].host, "fine.example", HOST_NAME_SIZE);
	strncpy(forged.rows[3].host, "10.0.0.1", HOST_NAME_SIZE);
	strncpy(forged.rows[4].host, "", HOST_NAME_SIZE);
	strncpy(forged.rows[5].host, "why.example", HOST_NAME_SIZE);
	forged.rows[5].why = LEDGER_WHYS;
	strncpy(forged.rows[6].host, "none.example", HOST_NAME_SIZE);
	forged.rows[6].count = 0;
	ledger_copy(&copy, &forged);
	assert_int_equal(copy.row_count, 2);
	assert_string_equal(copy.rows[0].host, "fine.example");
	assert_string_equal(copy.rows[1].host, "10.0.0.1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ledger_groups_equal_rows_and_has_a_row_limit),
		cmocka_unit_test(ledger_is_shared_and_cannot_be_truncated),
		cmocka_unit_test(ledger_copy_drops_malformed_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* network: the network hosts of a run, in its result. */
#include "keeper/output/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

static struct ledger example;

static void
note(const char *host, uint16_t port, enum ledger_why why)
{
	ledger_note(&example, host, port, why);
}

static json_t *
written(const struct ledger *l)
{
	own(buf) struct buf out = BUF_INIT(1 << 20);
	json_t *doc;

	assert_int_equal(network_write(&out, l), 0);
	doc = json_loads(buf_text(&out), JSON_DECODE_ANY, NULL);
	assert_non_null(doc);
	return doc;
}

static void
allowed_connections_are_listed_by_host(void **state)
{
	json_t *doc, *hosts;

	(void)state;
	example = (struct ledger){ 0 };
	note("a.example", 443, LEDGER_LET_THROUGH);
	note("b.example", 443, LEDGER_NOT_PUBLIC);
	ledger_sent(&example, &example.rows[0], 12);
	doc = written(&example);
	hosts = json_object_get(doc, "hosts");
	assert_int_equal(json_array_size(hosts), 1);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(hosts, 0), "sent_bytes")),
			 12);
	assert_int_equal(json_integer_value(json_object_get(doc, "refusals")),
			 1);
	json_decref(doc);
	doc = written(NULL);
	assert_true(json_is_null(doc));
	json_decref(doc);
}

static void
refusal_names_host_port_and_flag(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		enum ledger_why why;
		const char *what, *flag;
	} rows[] = {
		{ "a.example", 0, LEDGER_NOT_NAMED, "look up a.example",
		  "--allow-host a.example:PORT" },
		{ "a.example", 80, LEDGER_NOT_NAMED, "connect to a.example:80",
		  "--allow-host a.example:80" },
		{ "a.example", 443, LEDGER_NOT_PUBLIC,
		  "connect to a.example:443, a private address",
		  "--allow-host a.example:443:private" },
		{ "a.example", 443, LEDGER_NEVER,
		  "connect to a.example:443, an address of this machine or a "
		  "reserved one",
		  "" },
		{ "a.example", 443, LEDGER_OTHER_NAME,
		  "connect to a.example:443, with data that does not name this "
		  "host",
		  "" },
		/* Special addresses have another meaning outside the jail. */
		{ "127.0.0.1", 80, LEDGER_NOT_NAMED, "connect to 127.0.0.1:80",
		  "" },
		{ "198.18.77.7", 80, LEDGER_NOT_NAMED,
		  "connect to 198.18.77.7:80", "" },
		{ "1.2.3.4", 80, LEDGER_NOT_NAMED, "connect to 1.2.3.4:80",
		  "--allow-host 1.2.3.4:80" },
	};
	struct denials d = { 0 };

	(void)state;
	example = (struct ledger){ .left_out = 3 };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		note(rows[i].host, rows[i].port, rows[i].why);
		note(rows[i].host, rows[i].port, rows[i].why);
	}
	note("a.example", 443, LEDGER_LET_THROUGH);
	note("a.example", 443, LEDGER_UNREACHABLE);
	network_denials(&example, &d);
	assert_int_equal(d.count, ARRAY_LEN(rows));
	assert_int_equal(d.left_out, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(d.rows[i].what, rows[i].what);
		assert_string_equal(d.rows[i].flag, rows[i].flag);
		assert_int_equal(d.rows[i].count, 2);
		assert_true(d.rows[i].by_proxy);
		assert_int_equal(d.rows[i].field, rows[i].flag[0]
							  ? F_NETWORK_ALLOW
							  : FIELD_TOTAL);
	}
	denials_free(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_connections_are_listed_by_host),
		cmocka_unit_test(refusal_names_host_port_and_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* plan: policies that list hosts. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
listed_hosts_are_enforced_by_a_network_namespace_and_a_proxy(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:443");
	accepted(&t);
	kept_by(&t, F_NETWORK_ALLOW, MECH(NETWORK_NAMESPACE) | MECH(PROXY));
	kept_by(&t, F_NETWORK_ACCESS, MECH(NETWORK_NAMESPACE));
	assert_true(t.plan.proxied && t.plan.own_network);
	assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK,
			 PLAN_FILTER_NETWORK);
	assert_int_not_equal(t.plan.limits.tcp_cgroup_bytes, 0);
	assert_true(plan_can_be_warm(&t.plan));
}

/* Sets up a policy that differs from the trial's in these two fields. */
static void
changed(struct policy *now, const struct trial *t, uint64_t access,
	const char *host)
{
	struct remit_error err;

	assert_int_equal(policy_copy(now, &t->policy), 0);
	list_free(&now->network_allow);
	now->network_allow = (struct list){ 0 };
	now->network_access = access;
	if (host)
		assert_int_equal(field_set_text(now, &fields[F_NETWORK_ALLOW],
						host, &err),
				 0);
}

static void
changed_network_has_rows_of_what_the_proxy_enforces(void **state)
{
	static const char *const hosts[] = { "b.example.com:443", NULL };

	(void)state;
	for (int public = 0; public < 2; public ++)
		for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
			own(trial) struct trial t = ordinary();
			own(policy) struct policy now = { 0 };
			struct plan plan;

			if (public)
				set(&t, "net", "true");
			else
				set(&t, "allow-host", "a.example.com:443");
			accepted(&t);
			changed(&now, &t, NETWORK_NONE, hosts[i]);
			plan = t.plan;
			assert_int_equal(
				plan_change_network(&plan, &now, &t.err), 0);
			assert_ptr_equal(plan.policy, &now);
			for (int k = 0; k < 2; k++) {
				const struct plan_row *r =
					&plan.rows[k ? F_NETWORK_ACCESS
						     : F_NETWORK_ALLOW];

				assert_true(r->present);
				assert_int_equal(r->mechanisms,
						 MECH(NETWORK_NAMESPACE) |
							 MECH(PROXY));
				assert_int_equal(r->strength,
						 STRENGTH_ENFORCED);
			}
		}
}

static void
network_that_no_proxy_controls_cannot_change(void **state)
{
	static const struct {
		const char *flag, *value;
		uint64_t access;
		const char *host, *where;
	} rows[] = {
		{ NULL, NULL, NETWORK_NONE, "b.example:1", "network_allow" },
		{ "net", "host", NETWORK_NONE, "b.example:1", "network_allow" },
		{ "net", "loopback", NETWORK_LOOPBACK, "b.example:1",
		  "network_allow" },
		{ "allow-host", "a.example:1", NETWORK_PUBLIC, NULL,
		  "network_access" },
		{ "allow-host", "a.example:1", NETWORK_LOOPBACK, NULL,
		  "network_access" },
		{ "net", "true", NETWORK_HOST, NULL, "network_access" },
		{ "ask-hosts", "true", NETWORK_NONE, NULL, "network_ask" },
		{ "allow-host", "a.example:1:bytes=1M", NETWORK_NONE, NULL,
		  "network_allow" },
		{ "allow-host", "a.example:1", NETWORK_NONE,
		  "a.example:1:connections=2", "network_allow" },
		{ "allow-host", "a.example:443", NETWORK_NONE,
		  "a.example:443:methods=GET", "network_allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();
		own(policy) struct policy now = { 0 };
		struct plan plan;

		if (rows[i].flag)
			set(&t, rows[i].flag, rows[i].value);
		accepted(&t);
		changed(&now, &t, rows[i].access, rows[i].host);
		plan = t.plan;
		assert_int_equal(plan_change_network(&plan, &now, &t.err), -1);
		assert_int_equal(t.err.code, REMIT_E_REFUSED);
		assert_string_equal(t.err.where, rows[i].where);
		assert_true(t.err.remedy[0]);
		assert_ptr_equal(plan.policy, t.plan.policy);
	}
}

static void
proxy_is_absent_without_hosts(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_false(t.plan.proxied);
	assert_false(row(&t, F_NETWORK_ALLOW)->present);
	assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK, 0);
}

static void
hosts_with_the_host_network_are_refused(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:443");
	set(&t, "net", "host");
	refused(&t, "network_allow", "would have no effect");
}

/* The list adds private hosts and other ports. */
static void
public_and_listed_hosts_use_the_same_mechanisms(void **state)
{
	(void)state;
	for (int named = 0; named < 2; named++) {
		own(trial) struct trial t = ordinary();

		set(&t, "net", "true");
		if (named)
			set(&t, "allow-host", "10.1.2.3:5432");
		accepted(&t);
		assert_true(t.plan.proxied && t.plan.own_network);
		kept_by(&t, F_NETWORK_ACCESS,
			MECH(NETWORK_NAMESPACE) | MECH(PROXY));
		assert_int_equal(row(&t, F_NETWORK_ACCESS)->strength,
				 STRENGTH_ENFORCED);
		assert_int_equal(row(&t, F_NETWORK_ALLOW)->present, named);
		assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK,
				 PLAN_FILTER_NETWORK);
		assert_true(plan_can_be_warm(&t.plan));
	}
}

/* The namespace is the wall, so no other mechanism is named. */
static void
loopback_is_enforced_by_a_private_network_namespace(void **state)
{
	(void)state;
	for (int named = 0; named < 2; named++) {
		own(trial) struct trial t = ordinary();

		set(&t, "net", "loopback");
		if (named)
			set(&t, "allow-host", "api.example.com:443");
		accepted(&t);
		kept_by(&t, F_NETWORK_ACCESS, MECH(NETWORK_NAMESPACE));
		assert_true(t.plan.own_network && t.plan.has_loopback &&
			    t.plan.private_network);
		assert_int_equal(t.plan.proxied, named);
		assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK,
				 PLAN_FILTER_NETWORK);
		assert_int_not_equal(t.plan.limits.tcp_cgroup_bytes, 0);
		assert_true(plan_can_be_warm(&t.plan));
	}
}

static void
unix_sockets_come_with_programs_and_a_private_network(void **state)
{
	(void)state;
	for (int network = NETWORK_NONE; network <= NETWORK_PUBLIC; network++)
		for (int programs = 0; programs < 2; programs++) {
			own(trial) struct trial t = ordinary();

			t.policy.network_access = (uint64_t)network;
			t.policy.subprocess_execution = programs;
			accepted(&t);
			assert_int_equal(t.plan.filter & PLAN_FILTER_UNIX,
					 programs ? PLAN_FILTER_UNIX : 0);
			assert_int_equal(t.plan.private_network,
					 programs || network != NETWORK_NONE);
		}
}

static void
refuses_unix_sockets(struct trial *t, const char *why)
{
	set(t, "subprocess", "true");
	accepted(t);
	assert_int_equal(t->plan.filter & PLAN_FILTER_UNIX, 0);
	assert_non_null(strstr(row(t, F_SUBPROCESS_EXECUTION)->note, why));
}

/* A read-only mount does not prevent connecting to a socket in it. An overlay
   does. */
static void
unix_sockets_need_overlays_over_directories_of_the_host(void **state)
{
	static const struct {
		const char *field, *value;
		bool shares;
	} rows[] = {
		{ "read", "/data", true },
		{ "mount", "/data:/data", true },
		{ "mount", "/data:/data:direct", true },
		{ "mount", "/data:/data:overlay", false },
		{ "mount", "/data:/data:rw", false },
		{ "write", "/data", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();

		set(&t, rows[i].field, rows[i].value);
		if (rows[i].shares) {
			refuses_unix_sockets(&t, "mode ro or direct");
		} else {
			set(&t, "subprocess", "true");
			accepted(&t);
			assert_int_equal(t.plan.filter & PLAN_FILTER_UNIX,
					 PLAN_FILTER_UNIX);
		}
		assert_int_equal(t.plan.shares_paths, rows[i].shares);
	}
}

static void
unix_sockets_are_refused_with_the_hosts_network(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "net", "host");
	refuses_unix_sockets(&t, "abstract names");
	assert_false(t.plan.private_network);
}

static void
host_network_is_granted_and_never_warm(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "net", "host");
	accepted(&t);
	assert_false(t.plan.proxied || t.plan.own_network);
	assert_int_equal(row(&t, F_NETWORK_ACCESS)->strength, STRENGTH_GRANTED);
	assert_false(plan_can_be_warm(&t.plan));
}

static void
a_tier_without_namespaces_refuses_hosts(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.tier = TIER_LANDLOCK;
	set(&t, "memory-fallback", "per_process");
	set(&t, "processes", "unlimited");
	set(&t, "disk", "unlimited");
	set(&t, "files", "unlimited");
	accepted(&t);
	set(&t, "allow-host", "api.example.com:443");
	refused(&t, "network_allow", "no network namespace");
	list_free(&t.policy.network_allow);
	set(&t, "net", "true");
	refused(&t, "network_access", "no network namespace");
	set(&t, "net", "loopback");
	refused(&t, "network_access", "no network namespace");
	set(&t, "net", "host");
	accepted(&t);
}

static void
the_static_tier_runs_nothing_and_needs_no_proxy(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.tier = TIER_STATIC;
	set(&t, "allow-host", "api.example.com:443");
	accepted(&t);
	assert_false(t.plan.proxied);
	assert_true(t.plan.own_network);
	kept_by(&t, F_NETWORK_ALLOW, MECH(NETWORK_NAMESPACE));
}

static void
malformed_host_entry_is_refused_by_the_plan(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "allow-host", "*:443");
	refused(&t, "network_allow", "neither a host name");
}

static void
hosts_without_a_memory_cgroup_need_the_fallback(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	set(&t, "allow-host", "api.example.com:443");
	refused(&t, "memory_bytes", "network_allow");
	set(&t, "memory-fallback", "per_process");
	accepted(&t);
}

static void
credential_needs_an_http_entry_for_its_host(void **state)
{
	static const struct {
		const char *host, *credential, *why;
	} rows[] = {
		{ "api.example.com:8080", "api.example.com:X=env:A",
		  "only to HTTP" },
		{ "*.example.com:443", "api.example.com:X=env:A",
		  "no entry for exactly api.example.com" },
		{ "*.example.com:80", "api.example.com:X=env:A",
		  "no entry for exactly api.example.com" },
		{ "93.184.216.34:80:plain", "93.184.216.34:X=env:A",
		  "public address" },
		{ "api.example.com:80", "api.example.com:Host=env:A",
		  "does not name a header" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();

		set(&t, "allow-host", rows[i].host);
		set(&t, "credential", rows[i].credential);
		refused(&t, "credentials", rows[i].why);
	}
}

static void
a_credential_belongs_to_one_port(void **state)
{
	own(trial) struct trial t = ordinary(), apart = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:443");
	set(&t, "allow-host", "api.example.com:8443:tls");
	set(&t, "credential", "api.example.com:X=env:A");
	refused(&t, "credentials", "names no port");
	set(&apart, "allow-host", "api.example.com:443");
	set(&apart, "allow-host", "api.example.com:5432");
	set(&apart, "credential", "api.example.com:8443:X=env:A");
	refused(&apart, "credentials", "at that port");
	list_free(&apart.policy.credentials);
	set(&apart, "credential", "api.example.com:443:X=env:A");
	accepted(&apart);
	assert_true(apart.plan.ends_tls);
}

static void
credential_is_enforced_by_the_proxy_alone(void **state)
{
	own(trial) struct trial t = ordinary();
	own(trial) struct trial unsafe = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:80:private");
	set(&t, "credential", "api.example.com:X=env:A");
	accepted(&t);
	kept_by(&t, F_CREDENTIALS, MECH(PROXY));
	unsafe.policy.tier = TIER_UNSAFE;
	set(&unsafe, "allow-host", "api.example.com:80:private");
	set(&unsafe, "credential", "api.example.com:X=env:A");
	refused(&unsafe, "credentials", "has no proxy");
}

static void
tls_is_terminated_only_for_a_credential(void **state)
{
	own(trial) struct trial t = ordinary(), other = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:443:methods=GET");
	refused(&t, "network_allow", "encrypted by TLS");
	set(&t, "credential", "api.example.com:X=env:A");
	accepted(&t);
	assert_true(t.plan.ends_tls && plan_can_be_warm(&t.plan));
	set(&other, "allow-host", "api.example.com:443");
	set(&other, "allow-host", "inner.example.com:80:private");
	set(&other, "credential", "inner.example.com:X=env:A");
	accepted(&other);
	assert_false(other.plan.ends_tls);
}

static void
client_proxy_needs_hosts_and_a_free_address(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "proxy", "true");
	refused(&t, "network_proxy", "no host");
	set(&t, "allow-host", "api.example.com:3128");
	accepted(&t);
	set(&t, "allow-host", "127.0.0.1:3128");
	refused(&t, "network_proxy", "address of the proxy");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credential_needs_an_http_entry_for_its_host),
		cmocka_unit_test(a_credential_belongs_to_one_port),
		cmocka_unit_test(credential_is_enforced_by_the_proxy_alone),
		cmocka_unit_test(tls_is_terminated_only_for_a_credential),
		cmocka_unit_test(client_proxy_needs_hosts_and_a_free_address),
		cmocka_unit_test(
			listed_hosts_are_enforced_by_a_network_namespace_and_a_proxy),
		cmocka_unit_test(
			changed_network_has_rows_of_what_the_proxy_enforces),
		cmocka_unit_test(network_that_no_proxy_controls_cannot_change),
		cmocka_unit_test(proxy_is_absent_without_hosts),
		cmocka_unit_test(hosts_with_the_host_network_are_refused),
		cmocka_unit_test(
			public_and_listed_hosts_use_the_same_mechanisms),
		cmocka_unit_test(host_network_is_granted_and_never_warm),
		cmocka_unit_test(
			loopback_is_enforced_by_a_private_network_namespace),
		cmocka_unit_test(
			unix_sockets_come_with_programs_and_a_private_network),
		cmocka_unit_test(
			unix_sockets_need_overlays_over_directories_of_the_host),
		cmocka_unit_test(
			unix_sockets_are_refused_with_the_hosts_network),
		cmocka_unit_test(a_tier_without_namespaces_refuses_hosts),
		cmocka_unit_test(
			the_static_tier_runs_nothing_and_needs_no_proxy),
		cmocka_unit_test(malformed_host_entry_is_refused_by_the_plan),
		cmocka_unit_test(
			hosts_without_a_memory_cgroup_need_the_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

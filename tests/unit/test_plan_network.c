/* What is planned for a policy that names hosts. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
named_hosts_are_kept_by_a_network_of_its_own_and_a_proxy(void **state)
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

static void
without_hosts_there_is_no_proxy_and_no_promise(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_false(t.plan.proxied);
	assert_false(row(&t, F_NETWORK_ALLOW)->present);
	assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK, 0);
}

static void
hosts_beside_the_whole_network_are_refused(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "allow-host", "api.example.com:443");
	set(&t, "net", "true");
	refused(&t, "network_allow", "keep nobody out");
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
an_entry_that_is_none_is_refused(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "allow-host", "*:443");
	refused(&t, "network_allow", "no name of a host");
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			named_hosts_are_kept_by_a_network_of_its_own_and_a_proxy),
		cmocka_unit_test(
			without_hosts_there_is_no_proxy_and_no_promise),
		cmocka_unit_test(hosts_beside_the_whole_network_are_refused),
		cmocka_unit_test(a_tier_without_namespaces_refuses_hosts),
		cmocka_unit_test(
			the_static_tier_runs_nothing_and_needs_no_proxy),
		cmocka_unit_test(an_entry_that_is_none_is_refused),
		cmocka_unit_test(
			hosts_without_a_memory_cgroup_need_the_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* host: facts survive the cache, and any other document is refused. */
#include "policy/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Every second capability, or the others. */
static struct host
some_host(int odd)
{
	struct host h = {
		.by_root = odd,
		.uid = odd ? 0 : 4294967294,
		.landlock_abi = 6,
		.cgroups_v2 = odd ? 10 : 5,
		.cpus = 12,
		.page_bytes = 65536,
		.socket_buffer_bytes = 212992,
		.kernel = "6.12.1-test",
	};

	for (int i = 0; i < CAN_COUNT; i++) {
		h.can[i].yes = i % 2 == odd;
		snprintf(h.can[i].why, sizeof(h.can[i].why), "seen %d", i);
	}
	return h;
}

static void
a_host_reads_back_as_it_was_written(void **state)
{
	(void)state;
	for (int odd = 0; odd < 2; odd++) {
		struct host a = some_host(odd);
		json_auto_t *doc = host_to_json(&a);
		own_mem char *text = json_dumps(doc, 0);
		json_auto_t *again = json_loads(text, 0, NULL);
		struct remit_error err;
		struct host b;

		memset(&b, 0xff, sizeof(b));
		assert_int_equal(host_from_json(&b, again, &err), 0);
		assert_int_equal(a.by_root, b.by_root);
		assert_int_equal(a.uid, b.uid);
		assert_int_equal(a.landlock_abi, b.landlock_abi);
		assert_int_equal(a.cgroups_v2, b.cgroups_v2);
		assert_int_equal(a.cpus, b.cpus);
		assert_int_equal(a.page_bytes, b.page_bytes);
		assert_int_equal(a.socket_buffer_bytes, b.socket_buffer_bytes);
		assert_string_equal(a.kernel, b.kernel);
		for (int i = 0; i < CAN_COUNT; i++) {
			assert_int_equal(a.can[i].yes, b.can[i].yes);
			assert_string_equal(a.can[i].why, b.can[i].why);
		}
		assert_int_equal(host_left_out(&b), 0);
	}
}

static void
the_document_has_a_remedy_exactly_where_something_is_missing(void **state)
{
	struct host h = some_host(0);
	json_auto_t *doc = host_to_json(&h);
	json_t *caps = json_object_get(doc, "capabilities");

	(void)state;
	assert_int_equal(json_array_size(caps), CAN_COUNT);
	for (size_t i = 0; i < CAN_COUNT; i++) {
		json_t *row = json_array_get(caps, i);
		json_t *remedy = json_object_get(row, "remedy");

		assert_int_equal(json_is_true(json_object_get(row, "yes")),
				 h.can[i].yes);
		assert_int_equal(json_is_true(json_object_get(row, "needed")),
				 capabilities[i].needed);
		assert_int_equal(remedy == NULL, h.can[i].yes);
		if (remedy)
			assert_true(json_string_length(remedy) > 10);
	}
}

static void
capabilities_have_distinct_names_and_descriptions(void **state)
{
	(void)state;
	for (int i = 0; i < CAN_COUNT; i++) {
		assert_true(strlen(capabilities[i].name) > 0);
		assert_true(strlen(capabilities[i].sentence) > 0);
		assert_true(strlen(capabilities[i].remedy) > 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(capabilities[i].name,
						capabilities[k].name);
	}
}

static void
refuse(const json_t *doc)
{
	struct remit_error err = { 0 };
	struct host h;

	assert_int_equal(host_from_json(&h, doc, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
}

static void
a_document_that_lacks_anything_is_refused(void **state)
{
	static const char *const keys[] = {
		"by_root",	"uid",	"kernel",     "landlock_abi",
		"cgroups_v2",	"cpus", "page_bytes", "socket_buffer_bytes",
		"capabilities",
	};
	static const char *const values[] = { NULL, "[1]" };
	struct host h = some_host(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (size_t v = 0; v < ARRAY_LEN(values); v++) {
			json_auto_t *doc = host_to_json(&h);

			assert_int_equal(json_object_del(doc, keys[i]), 0);
			if (values[v])
				json_object_set_new(
					doc, keys[i],
					json_loads(values[v], 0, NULL));
			refuse(doc);
		}
	refuse(NULL);
}

/* Limits are computed from these numbers, so a damaged cache must be
   refused. */
static void
numbers_that_are_impossible_for_a_host_are_refused(void **state)
{
	static const struct {
		const char *key;
		json_int_t value;
	} rows[] = {
		{ "page_bytes", 0 },
		{ "page_bytes", 1 },
		{ "page_bytes", -4096 },
		{ "page_bytes", 4095 },
		{ "page_bytes", 4097 },
		{ "page_bytes", 12288 },
		{ "page_bytes", INT64_MIN },
		{ "page_bytes", INT64_MAX },
		{ "cpus", 0 },
		{ "cpus", -1 },
		{ "cpus", INT64_MIN },
		{ "cpus", INT64_C(1) << 32 },
		{ "uid", -1 },
		{ "socket_buffer_bytes", -1 },
		{ "socket_buffer_bytes", INT64_MIN },
	};
	struct host h = some_host(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_auto_t *doc = host_to_json(&h);

		json_object_set_new(doc, rows[i].key,
				    json_integer(rows[i].value));
		refuse(doc);
	}
}

static void
page_sizes_of_linux_are_accepted(void **state)
{
	static const uint64_t sizes[] = { 4096, 8192, 16384, 65536 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct host h = some_host(0);
		json_auto_t *doc = NULL;
		struct remit_error err;

		h.page_bytes = sizes[i];
		h.cpus = 1;
		doc = host_to_json(&h);
		assert_int_equal(host_from_json(&h, doc, &err), 0);
		assert_int_equal(h.page_bytes, sizes[i]);
		assert_int_equal(h.cpus, 1);
	}
}

/* An older Remit knew other capabilities, or had them in another order. */
static void
capabilities_of_another_version_are_refused(void **state)
{
	struct host h = some_host(0);
	json_auto_t *fewer = host_to_json(&h);
	json_auto_t *more = host_to_json(&h);
	json_auto_t *renamed = host_to_json(&h);
	json_auto_t *swapped = host_to_json(&h);
	json_auto_t *broken = host_to_json(&h);
	json_t *caps = json_object_get(fewer, "capabilities");
	json_t *last;

	(void)state;
	json_array_remove(caps, CAN_COUNT - 1);
	refuse(fewer);
	caps = json_object_get(more, "capabilities");
	json_array_append(caps, json_array_get(caps, 0));
	refuse(more);
	caps = json_object_get(renamed, "capabilities");
	json_object_set_new(json_array_get(caps, CAN_COUNT - 1), "name",
			    json_string("levitation"));
	refuse(renamed);
	caps = json_object_get(swapped, "capabilities");
	last = json_incref(json_array_get(caps, CAN_COUNT - 1));
	json_array_remove(caps, CAN_COUNT - 1);
	json_array_insert_new(caps, 0, last);
	refuse(swapped);
	caps = json_object_get(broken, "capabilities");
	json_object_del(json_array_get(caps, 3), "yes");
	refuse(broken);
}

static void
long_texts_are_cut_and_terminated(void **state)
{
	struct host h = some_host(0);
	json_auto_t *doc = host_to_json(&h);
	json_t *caps = json_object_get(doc, "capabilities");
	struct remit_error err;
	char text[1000];

	(void)state;
	memset(text, 'k', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_object_set_new(doc, "kernel", json_string(text));
	json_object_set_new(json_array_get(caps, 0), "why", json_string(text));
	assert_int_equal(host_from_json(&h, doc, &err), 0);
	assert_int_equal(strlen(h.kernel), sizeof(h.kernel) - 1);
	assert_int_equal(strlen(h.can[0].why), sizeof(h.can[0].why) - 1);
}

static void
old_kernel_is_the_remedy_for_any_missing_capability(void **state)
{
	static const struct {
		const char *kernel;
		bool old;
	} row[] = {
		{ "5.10.0-32-amd64 x86_64", true },
		{ "4.4.0 x86_64", true },
		{ "5.13.19 x86_64", true },
		{ "5.14.0-570.el9 x86_64", false },
		{ "6.1.0 x86_64", false },
		{ "custom x86_64", false },
	};
	struct host h = some_host(0);

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const char *told;

		snprintf(h.kernel, sizeof(h.kernel), "%s", row[i].kernel);
		told = host_remedy(&h, CAN_MOUNT);
		assert_int_equal(strstr(told, "Boot a newer kernel") != NULL,
				 row[i].old);
		assert_string_equal(host_remedy(&h, CAN_CGROUP_KILL),
				    capabilities[CAN_CGROUP_KILL].remedy);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_reads_back_as_it_was_written),
		cmocka_unit_test(
			the_document_has_a_remedy_exactly_where_something_is_missing),
		cmocka_unit_test(
			capabilities_have_distinct_names_and_descriptions),
		cmocka_unit_test(a_document_that_lacks_anything_is_refused),
		cmocka_unit_test(
			numbers_that_are_impossible_for_a_host_are_refused),
		cmocka_unit_test(page_sizes_of_linux_are_accepted),
		cmocka_unit_test(capabilities_of_another_version_are_refused),
		cmocka_unit_test(long_texts_are_cut_and_terminated),
		cmocka_unit_test(
			old_kernel_is_the_remedy_for_any_missing_capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

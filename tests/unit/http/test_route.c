/* route: which row answers which path, and how paths are decoded. */
#include "http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
serve_nothing(struct exchange *x)
{
	(void)x;
}

static bool
applies_never(const struct exchange *x)
{
	(void)x;
	return false;
}

static const struct route rows[] = {
	{ .method = "GET", .pattern = "/", .serve = serve_nothing },
	{ .method = "GET", .pattern = "/a", .applies = applies_never },
	{ .method = "GET", .pattern = "/a", .serve = serve_nothing },
	{ .method = "POST", .pattern = "/a", .serve = serve_nothing },
	{ .method = "GET", .pattern = "/a/{id}/b", .serve = serve_nothing },
	{ .method = "GET",
	  .pattern = "/f/{id}/{path...}",
	  .serve = serve_nothing },
	{ .method = "GET", .pattern = "/w/x", .serve = serve_nothing },
	{ .method = "*", .pattern = "/w/{path...}", .serve = serve_nothing },
	{ 0 },
};
static const struct route_table table = { .rows = rows };

static struct route_param params[ROUTE_PARAMS_MAX];
static size_t count;
static char allowed[64];

/* Returns the index of the row, or -1. */
static long
find_row(const char *method, const char *path)
{
	const struct route *r =
		route_find(&table, NULL, method, path, params, &count, allowed);

	return r ? r - rows : -1;
}

static void
assert_param(size_t i, const char *name, const char *value)
{
	assert_true(i < count);
	assert_int_equal(params[i].name_len, strlen(name));
	assert_memory_equal(params[i].name, name, strlen(name));
	assert_int_equal(params[i].value_len, strlen(value));
	assert_memory_equal(params[i].value, value, strlen(value));
}

static void
path_finds_exactly_its_row(void **state)
{
	(void)state;
	assert_int_equal(find_row("GET", "/"), 0);
	assert_int_equal(find_row("GET", "/a"), 2);
	assert_int_equal(find_row("HEAD", "/a"), 2);
	assert_int_equal(find_row("POST", "/a"), 3);
	assert_int_equal(find_row("GET", "/a/"), -1);
	assert_int_equal(find_row("GET", "//a"), -1);
	assert_int_equal(find_row("GET", "/A"), -1);
	assert_int_equal(find_row("GET", "/a/x/c"), -1);
	assert_int_equal(find_row("GET", "/a//b"), -1);
	assert_string_equal(allowed, "");
}

static void
unknown_method_reports_the_allowed_ones(void **state)
{
	(void)state;
	assert_int_equal(find_row("PUT", "/a"), -1);
	assert_string_equal(allowed, "GET, POST");
}

static void
parameter_matches_one_segment_or_the_rest(void **state)
{
	(void)state;
	assert_int_equal(find_row("GET", "/a/x%2Fy/b"), 4);
	assert_int_equal(count, 1);
	assert_param(0, "id", "x%2Fy");
	assert_int_equal(find_row("GET", "/f/1/x/y.txt"), 5);
	assert_int_equal(count, 2);
	assert_param(0, "id", "1");
	assert_param(1, "path", "x/y.txt");
	assert_int_equal(find_row("GET", "/f/1/"), 5);
	assert_param(1, "path", "");
	assert_int_equal(find_row("GET", "/f/1"), -1);
}

static void
star_matches_methods_without_earlier_row(void **state)
{
	(void)state;
	assert_int_equal(find_row("GET", "/w/x"), 6);
	assert_int_equal(find_row("HEAD", "/w/x"), 6);
	assert_int_equal(find_row("PUT", "/w/x"), 7);
	assert_int_equal(find_row("GET", "/w/y/z"), 7);
	assert_int_equal(find_row("BREW", "/w/"), 7);
	assert_int_equal(find_row("GET", "/w"), -1);
}

static void
assert_decoded(const char *text, bool plus, const char *want)
{
	char *got = route_decode(text, strlen(text), plus);

	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
	free(got);
}

static void
malformed_percent_encoding_is_rejected(void **state)
{
	(void)state;
	assert_decoded("a%20b%C3%A9", false, "a b\xc3\xa9");
	assert_decoded("a+b", false, "a+b");
	assert_decoded("a+b", true, "a b");
	assert_decoded("", false, "");
	assert_decoded("%", false, NULL);
	assert_decoded("%2", false, NULL);
	assert_decoded("%zz", false, NULL);
	assert_decoded("a%00b", false, NULL);
	assert_decoded("%2f", false, "/");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_finds_exactly_its_row),
		cmocka_unit_test(unknown_method_reports_the_allowed_ones),
		cmocka_unit_test(parameter_matches_one_segment_or_the_rest),
		cmocka_unit_test(star_matches_methods_without_earlier_row),
		cmocka_unit_test(malformed_percent_encoding_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

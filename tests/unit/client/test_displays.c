/* displays: pieces become valid JSON, whatever the code has sent. */
#include "client/displays.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

#include <cmocka.h>

struct seen {
	size_t count;
	bool value;
	char mime[64];
	size_t parts, len;
};

static void
note_display(void *user, const struct remit_display *d)
{
	struct seen *s = user;

	s->count++;
	s->value = d->is_value;
	s->parts = d->part_count;
	if (d->part_count) {
		snprintf(s->mime, sizeof(s->mime), "%s", d->parts[0].mime);
		s->len = d->parts[0].len;
	}
}

/* Send a display with a single part, byte by byte. */
static int
send_display(struct displays *d, const char *kind, const char *mime,
	     const char *bytes, size_t len)
{
	own(buf) struct buf head = BUF_INIT(1024);
	struct remit_error err;
	char number[24];

	snprintf(number, sizeof(number), "%zu", len);
	assert_int_equal(record_add(&head, "kind", kind), 0);
	assert_int_equal(record_add(&head, "mime", mime), 0);
	assert_int_equal(record_add(&head, "bytes", number), 0);
	if (displays_begin(d, head.data, head.len, &err) < 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		if (displays_add(d, bytes + i, 1, &err) < 0)
			return -1;
	return 0;
}

static json_t *
move_result(struct displays *d)
{
	own(buf) struct buf value = BUF_INIT(0), shown = BUF_INIT(0);
	json_t *first, *second;
	struct remit_error err;

	assert_int_equal(displays_move(d, &value, &shown, &err), 0);
	first = json_loads(buf_text(&value),
			   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	second = json_loads(buf_text(&shown), JSON_REJECT_DUPLICATES, NULL);
	if (!first || !json_is_array(second))
		fail_msg("not JSON: %s %s", buf_text(&value), buf_text(&shown));
	return json_pack("{s:o, s:o}", "value", first, "displays", second);
}

static void
result_without_displays_has_null_and_an_empty_list(void **state)
{
	own(displays) struct displays d = DISPLAYS_INIT(NULL, NULL);
	json_auto_t *doc = move_result(&d);

	(void)state;
	assert_true(json_is_null(json_object_get(doc, "value")));
	assert_int_equal(json_array_size(json_object_get(doc, "displays")), 0);
}

static void
value_has_named_text_and_data(void **state)
{
	static const char head[] = "kind\0value\0mime\0text/plain\0bytes\0002\0"
				   "mime\0application/json\0bytes\0003\0"
				   "mime\0image/png\0bytes\0001\0"
				   "left_out\0text/html\0reason\0x\0";
	struct seen seen = { 0 };
	own(displays) struct displays d = DISPLAYS_INIT(note_display, &seen);
	struct remit_error err;
	json_auto_t *doc = NULL;
	json_t *value;

	(void)state;
	assert_int_equal(displays_begin(&d, head, sizeof(head) - 1, &err), 0);
	assert_int_equal(displays_add(&d, "v!0.1\xff", 6, &err), 0);
	assert_true(seen.count == 1 && seen.value && seen.parts == 3);
	/* A run has only one value. */
	assert_int_equal(send_display(&d, "value", "text/plain", "x", 1), -1);
	doc = move_result(&d);
	value = json_object_get(doc, "value");
	assert_string_equal(json_string_value(json_object_get(value, "text")),
			    "v!");
	assert_true(json_is_real(json_object_get(value, "json")));
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(value, "mime"), "image/png")),
		"/w==");
	assert_int_equal(json_object_size(json_object_get(value, "mime")), 1);
	assert_int_equal(json_array_size(json_object_get(value, "left_out")),
			 1);
	assert_true(json_is_false(json_object_get(value, "truncated")));
	/* The display is complete, so no bytes may follow. */
	assert_int_equal(displays_add(&d, "", 0, &err), -1);
	assert_int_equal(displays_add(&d, "x", 1, &err), -1);
}

static void
json_numbers_keep_all_digits(void **state)
{
	own(displays) struct displays d = DISPLAYS_INIT(NULL, NULL);
	own(buf) struct buf value = BUF_INIT(0), shown = BUF_INIT(0);
	struct remit_error err;

	(void)state;
	assert_int_equal(send_display(&d, "value", "application/json",
				      "0.30000000000000004", 19),
			 0);
	assert_int_equal(displays_move(&d, &value, &shown, &err), 0);
	assert_non_null(strstr(value.data, "\"json\":0.30000000000000004,"));
	assert_string_equal(shown.data, "[]");
}

static void
invalid_json_is_left_out(void **state)
{
	static const char *const bad[] = { "NaN",      "{",	  "1,\"x\":2",
					   "",	       "[1\n]",	  "\"\\ud800\"",
					   "1e999",    "]",	  "{}{}",
					   "\"a\tb\"", "\"\xff\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct seen seen = { 0 };
		own(displays) struct displays d =
			DISPLAYS_INIT(note_display, &seen);
		json_auto_t *doc = NULL;
		json_t *shown;

		assert_int_equal(send_display(&d, "display", "application/json",
					      bad[i], strlen(bad[i])),
				 0);
		assert_true(seen.count == 1 && seen.parts == 0);
		doc = move_result(&d);
		shown = json_array_get(json_object_get(doc, "displays"), 0);
		assert_int_equal(
			json_object_size(json_object_get(shown, "mime")), 0);
		assert_int_equal(
			json_array_size(json_object_get(shown, "left_out")), 1);
	}
}

static void
invalid_utf8_is_replaced_in_text(void **state)
{
	own(displays) struct displays d = DISPLAYS_INIT(NULL, NULL);
	json_auto_t *doc = NULL;
	json_t *mime;

	(void)state;
	assert_int_equal(
		send_display(&d, "display", "text/html", "a\xff\n\"", 4), 0);
	assert_int_equal(
		send_display(&d, "display", "image/svg+xml", "<svg/>", 6), 0);
	doc = move_result(&d);
	mime = json_object_get(
		json_array_get(json_object_get(doc, "displays"), 0), "mime");
	assert_string_equal(
		json_string_value(json_object_get(mime, "text/html")),
		"a\xef\xbf\xbd\n\"");
	mime = json_object_get(
		json_array_get(json_object_get(doc, "displays"), 1), "mime");
	assert_string_equal(
		json_string_value(json_object_get(mime, "image/svg+xml")),
		"<svg/>");
}

static void
incomplete_display_is_dropped(void **state)
{
	static const char head[] = "kind\0display\0mime\0text/plain\0bytes\0"
				   "0004\0";
	struct seen seen = { 0 };
	own(displays) struct displays d = DISPLAYS_INIT(note_display, &seen);
	struct remit_error err;
	json_auto_t *doc = NULL;

	(void)state;
	assert_int_equal(displays_begin(&d, head, sizeof(head) - 1, &err), 0);
	assert_int_equal(displays_add(&d, "abc", 3, &err), 0);
	assert_int_equal(displays_begin(&d, head, sizeof(head) - 1, &err), -1);
	assert_int_equal(displays_add(&d, "defg", 4, &err), -1);
	assert_int_equal(seen.count, 0);
	doc = move_result(&d);
	assert_int_equal(json_array_size(json_object_get(doc, "displays")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			result_without_displays_has_null_and_an_empty_list),
		cmocka_unit_test(value_has_named_text_and_data),
		cmocka_unit_test(json_numbers_keep_all_digits),
		cmocka_unit_test(invalid_json_is_left_out),
		cmocka_unit_test(invalid_utf8_is_replaced_in_text),
		cmocka_unit_test(incomplete_display_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

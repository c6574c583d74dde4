/* options: parsing, errors, and the texts made from the tables. */
#include "policy/fields/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/* After the headers that declare fail(), which cmocka makes a macro. */
#include <cmocka.h>

struct extra {
	char last[32];
	unsigned calls;
};

struct target {
	bool quiet;
	const char *name, *path, *file, *code;
	struct list hosts;
	uint64_t jobs, wait_ms, bytes, hidden;
	unsigned colour;
	struct extra extra;
};

static void
target_free(struct target *t)
{
	list_free(&t->hosts);
}

static int
remember(void *target, const struct option *row, const char *text,
	 struct remit_error *err)
{
	struct extra *e = target;

	if (!strcmp(text, "bad"))
		return (fail)(err, REMIT_E_INPUT, "--%s: bad", row->name);
	snprintf(e->last, sizeof(e->last), "%s=%s", row->name, text);
	e->calls++;
	return 0;
}

static const char *const colours[] = { "red", "green", "blue", NULL };

#define AT(member) OPTION_AT(struct target, member)

static const struct option rows[] = {
	{ .value = "FILE", .kind = OPTION_TEXT, .hidden = true, AT(file) },
	{ .letter = 'c',
	  .kind = OPTION_TEXT,
	  .value = "CODE",
	  .example = "1",
	  .help = "the code",
	  AT(code) },
	{ .name = "quiet",
	  .kind = OPTION_FLAG,
	  .help = "say nothing",
	  AT(quiet) },
	{ .name = "name",
	  .alias = "label",
	  .also = "long_name",
	  .kind = OPTION_TEXT,
	  .value = "NAME",
	  .help = "a name, which --quiet does not change and which is long "
		  "enough to be broken",
	  .detail = "First line with _mark_.\n\nSecond paragraph.",
	  AT(name) },
	{ .name = "path",
	  .kind = OPTION_PATH,
	  .value = "PATH",
	  .example = "./out",
	  .help = "a path",
	  AT(path) },
	{ .name = "host",
	  .kind = OPTION_LIST,
	  .value = "HOST",
	  .help = "a host",
	  AT(hosts) },
	{ .name = "jobs",
	  .letter = 'j',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .example = "8",
	  .fallback = "4",
	  .help = "a number",
	  .min = 1,
	  .max = 64,
	  AT(jobs) },
	{ .name = "wait",
	  .kind = OPTION_TIME,
	  .value = "TIME",
	  .example = "30s",
	  .help = "a time",
	  AT(wait_ms) },
	{ .name = "size",
	  .kind = OPTION_BYTES,
	  .value = "SIZE",
	  .example = "1M",
	  .help = "a size",
	  .max = 1024 * 1024,
	  AT(bytes) },
	{ .name = "colour",
	  .kind = OPTION_CHOICE,
	  .value = "COLOUR",
	  .example = "red",
	  .help = "a colour",
	  .choices = colours,
	  AT(colour) },
	{ .name = "secret",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .help = "a secret",
	  .hidden = true,
	  .max = 9,
	  AT(hidden) },
	{ 0 },
};

static const struct option *
make_extra(void)
{
	static struct option made[4];

	made[0] = (struct option){
		.name = "net",
		.kind = OPTION_SWITCH,
		.title = "Further",
		.help = "the network",
		.fallback = "off",
		.set = remember,
	};
	made[1] = (struct option){
		.name = "rule",
		.kind = OPTION_CALL,
		.value = "A=B",
		.help = "a rule",
		.set = remember,
	};
	/* Hidden by the row of the first table, except its other name. */
	made[2] = (struct option){
		.name = "host",
		.also = "other_host",
		.kind = OPTION_CALL,
		.value = "HOST",
		.help = "another host",
		.set = remember,
	};
	return made;
}

static const struct options command = {
	.name = "test",
	.usage = "[--quiet] [OPTION...] FILE|-|-c CODE",
	.summary = "test the parser",
	.notes = "Some notes, of which the first paragraph is longer than a "
		 "line of eighty columns.\n\nThe second.",
	.tables = { { .rows = rows }, { .make = make_extra, AT(extra) } },
};

struct program {
	bool json;
	const char *script, *code;
};

static const struct option program_rows[] = {
	{ .value = "FILE",
	  .kind = OPTION_TEXT,
	  .hidden = true,
	  .ends = true,
	  OPTION_AT(struct program, script) },
	{ .letter = 'c',
	  .kind = OPTION_TEXT,
	  .value = "CODE",
	  .ends = true,
	  .help = "the code",
	  OPTION_AT(struct program, code) },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "as JSON",
	  OPTION_AT(struct program, json) },
	{ 0 },
};

static const struct options program = {
	.name = "run",
	.usage = "FILE",
	.summary = "run",
	.tables = { { .rows = program_rows } },
};

static const struct option listener_rows[] = {
	{ .name = "listen", .kind = OPTION_TEXT, .value = "A", .help = "x" },
	{ .name = "quiet", .kind = OPTION_FLAG, .help = "x" },
	{ .letter = 'z', .kind = OPTION_FLAG, .help = "x" },
	{ 0 },
};

static const struct options listener = {
	.name = "serve",
	.tables = { { .rows = listener_rows } },
};
static const struct options twin = {
	.name = "keeper",
	.tables = { { .rows = listener_rows + 1 }, { .make = make_extra } },
};
static const struct options *const all[] = {
	&command, &program, &listener, &twin, NULL,
};

static int
count(char **argv)
{
	int n = 0;

	while (argv[n])
		n++;
	return n;
}

/* Parses the words of a command line into *t, or fails the test. */
#define take(t, ...)                                                        \
	do {                                                                \
		struct remit_error err_;                                    \
		char *argv_[] = { "test", __VA_ARGS__, NULL };              \
		if (options_parse(&command, (t), count(argv_), argv_, NULL, \
				  all, &err_) < 0)                          \
			fail_msg("%s", err_.message);                       \
	} while (0)

#define refuse_by(which, message_, ...)                                    \
	do {                                                               \
		own(target) struct target t_ = { 0 };                      \
		struct remit_error err_ = { 0 };                           \
		char *argv_[] = { "test", __VA_ARGS__, NULL };             \
		assert_int_equal(options_parse((which), &t_, count(argv_), \
					       argv_, NULL, all, &err_),   \
				 -1);                                      \
		assert_string_equal(err_.message, (message_));             \
		assert_int_equal(err_.code, REMIT_E_INPUT);                \
	} while (0)

#define refuse(message_, ...) refuse_by(&command, message_, __VA_ARGS__)

static void
options_of_all_kinds_accept_both_forms(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "--quiet", "--name", "x", "--path=./y", "--host", "a",
	     "--host=b", "--jobs=2", "--wait", "1.5s", "--size=512K",
	     "--colour", "blue", "--rule=a=b", "file");
	assert_true(t.quiet);
	assert_string_equal(t.name, "x");
	assert_string_equal(t.path, "./y");
	assert_int_equal(t.hosts.count, 2);
	assert_string_equal(t.hosts.items[1], "b");
	assert_int_equal(t.jobs, 2);
	assert_int_equal(t.wait_ms, 1500);
	assert_int_equal(t.bytes, 512 * 1024);
	assert_string_equal(colours[t.colour - 1], "blue");
	assert_string_equal(t.extra.last, "rule=a=b");
	assert_string_equal(t.file, "file");
	take(&t, "--name=", "--jobs", "3", "--wait=2s", "--size", "1",
	     "--colour=red", "--path", "p");
	assert_string_equal(t.name, "");
	assert_int_equal(t.jobs, 3);
	assert_int_equal(t.colour, 1);
}

static void
option_value_may_begin_with_a_dash_or_contain_an_equals_sign(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "--name", "-x", "--path=--y=z");
	assert_string_equal(t.name, "-x");
	assert_string_equal(t.path, "--y=z");
}

static void
short_options_take_the_next_argument_or_a_joined_number(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "-j", "2", "-c", "--1");
	assert_int_equal(t.jobs, 2);
	assert_string_equal(t.code, "--1");
	take(&t, "-j64");
	assert_int_equal(t.jobs, 64);
	refuse("-j must be a number from 1 to 64", "-j0");
	refuse("-j must be a number from 1 to 64", "-j", "many");
	refuse("-j requires a value, such as 8", "-j");
	refuse("-c requires a value, such as 1", "-c");
	refuse("unknown option -colour; did you mean --colour?", "-colour",
	       "red");
	refuse("unknown option -jobs; did you mean --jobs?", "-jobs", "1");
}

static void
a_switch_has_four_forms(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "--net", "file");
	assert_string_equal(t.extra.last, "net=true");
	assert_string_equal(t.file, "file");
	take(&t, "--no-net");
	assert_string_equal(t.extra.last, "net=false");
	take(&t, "--net=host");
	assert_string_equal(t.extra.last, "net=host");
	refuse("--no-net takes no value", "--no-net=false");
}

static void
names_have_aliases_and_dashes_equal_underscores(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "--label", "a");
	assert_string_equal(t.name, "a");
	take(&t, "--long-name=b");
	assert_string_equal(t.name, "b");
	take(&t, "--long_name=c");
	assert_string_equal(t.name, "c");
}

static void
an_earlier_table_hides_names_of_a_later_one(void **state)
{
	own(target) struct target t = { 0 };

	(void)state;
	take(&t, "--host", "a");
	assert_int_equal(t.hosts.count, 1);
	assert_int_equal(t.extra.calls, 0);
	take(&t, "--other-host", "a");
	assert_string_equal(t.extra.last, "host=a");
}

static void
a_missing_value_is_an_error_with_an_example(void **state)
{
	(void)state;
	refuse("--wait requires a value, such as 30s", "--wait");
	refuse("--name requires a value: NAME", "--name");
	refuse("--wait requires a value, such as 30s; write --wait=VALUE if it "
	       "begins with --",
	       "--wait", "--quiet");
	refuse("--path: the path is empty", "--path=");
	refuse("--quiet takes no value", "--quiet=yes");
}

static void
a_wrong_value_is_an_error_that_names_the_option(void **state)
{
	(void)state;
	refuse("--jobs must be a number from 1 to 64", "--jobs=65");
	refuse("--jobs must be a number from 1 to 64", "--jobs", "-1");
	refuse("--jobs must be a number from 1 to 64", "--jobs=");
	refuse("--size must be at most 1 MiB", "--size=2M");
	refuse("--size: \"0\" is zero, and zero is never a limit", "--size=0");
	refuse("--wait: \"-1\" is negative: a time is at least 1", "--wait",
	       "-1");
	refuse("--colour: \"gren\" is not red, green or blue; did you mean "
	       "green?",
	       "--colour", "gren");
	refuse("--colour: \"?\" is not red, green or blue", "--colour", "\033");
	refuse("--rule: bad", "--rule", "bad");
}

static void
an_unknown_option_is_an_error_with_a_suggestion(void **state)
{
	(void)state;
	refuse("unknown option --quite; did you mean --quiet?", "--quite");
	refuse("unknown option --colr; did you mean --colour?", "--colr=red");
	refuse("unknown option --labl; did you mean --label?", "--labl", "x");
	refuse("unknown option --no-ner; did you mean --no-net?", "--no-ner");
	refuse("unknown option --no-quiet; --quiet cannot "
	       "be switched off",
	       "--no-quiet");
	refuse("unknown option --frobnicate; \"remit test --help\" lists the "
	       "options",
	       "--frobnicate");
	refuse("unknown option --?[2J; \"remit test --help\" lists the options",
	       "--\033[2J");
	refuse("unknown option --; \"remit test --help\" lists the options",
	       "--=x");
	/* Hidden options are not suggested. */
	refuse("unknown option --secre; \"remit test --help\" lists the "
	       "options",
	       "--secre");
}

static void
an_option_of_another_command_is_an_error_that_names_it(void **state)
{
	(void)state;
	refuse("--listen belongs to remit serve, not to remit test", "--listen",
	       "x");
	refuse("--listen belongs to remit serve, not to remit test",
	       "--listen=x");
	refuse("-z belongs to remit serve and remit keeper, not to remit test",
	       "-z");
	refuse_by(&program,
		  "--quiet belongs to remit test, remit serve and others, not "
		  "to remit run",
		  "--quiet");
	refuse_by(&program,
		  "--no-net belongs to remit test and remit keeper, not to "
		  "remit run",
		  "--no-net");
}

static void
operands_and_options_may_be_mixed_up_to_two_dashes(void **state)
{
	own(target) struct target t = { 0 }, u = { 0 }, v = { 0 };

	(void)state;
	take(&t, "file", "--quiet");
	assert_true(t.quiet);
	assert_string_equal(t.file, "file");
	take(&u, "--", "--quiet");
	assert_false(u.quiet);
	assert_string_equal(u.file, "--quiet");
	take(&v, "-");
	assert_string_equal(v.file, "-");
	refuse("unexpected argument \"b\": remit test takes one FILE", "a",
	       "b");
	refuse_by(&listener,
		  "unexpected argument \"a\": remit serve takes only options",
		  "a");
}

/* The arguments after the program, or NULL for an error. */
static char **
rest_of(struct program *p, char **argv)
{
	struct remit_error err;
	char **rest;

	*p = (struct program){ 0 };
	if (options_parse(&program, p, count(argv), argv, &rest, all, &err) < 0)
		return NULL;
	return rest;
}

static void
arguments_after_the_program_are_not_parsed(void **state)
{
	char *file[] = { "run", "--json", "tool.py", "--help", "--json", NULL };
	char *code[] = { "run", "-c", "1", "--", "-h", NULL };
	char *dashes[] = { "run", "--", "-c", "--frob", NULL };
	char *none[] = { "run", "--json", NULL };
	struct program p;

	(void)state;
	assert_ptr_equal(rest_of(&p, file), file + 3);
	assert_true(p.json);
	assert_string_equal(p.script, "tool.py");
	assert_ptr_equal(rest_of(&p, code), code + 3);
	assert_string_equal(p.code, "1");
	assert_false(p.json);
	assert_ptr_equal(rest_of(&p, dashes), dashes + 3);
	assert_string_equal(p.script, "-c");
	assert_ptr_equal(rest_of(&p, none), none + 2);
	assert_null(p.script);
}

static bool
asks(const struct options *o, char **argv)
{
	return options_want_help(o, count(argv), argv);
}

static void
help_is_recognised_only_where_an_option_is_parsed(void **state)
{
	char *first[] = { "run", "--help", "x.py", NULL };
	char *letter[] = { "run", "--json", "-h", NULL };
	char *after[] = { "run", "x.py", "--help", NULL };
	char *code[] = { "run", "-c", "--help", NULL };
	char *dashes[] = { "run", "--", "--help", NULL };
	char *wrong[] = { "run", "--frob", "--help", NULL };
	char *late[] = { "test", "file", "--wait", "soon", "--help", NULL };

	(void)state;
	assert_true(asks(&program, first));
	assert_true(asks(&program, letter));
	assert_false(asks(&program, after));
	assert_false(asks(&program, code));
	assert_false(asks(&program, dashes));
	assert_false(asks(&program, wrong));
	assert_true(asks(&command, late));
}

static void
help_shows_every_row_that_can_be_used(void **state)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024);

	(void)state;
	assert_int_equal(options_help(&command, &out), 0);
	assert_string_equal(
		buf_text(&out),
		"Usage: remit test [--quiet] [OPTION...] FILE|-|-c CODE\n\n"
		"test the parser\n\n"
		"Some notes, of which the first paragraph is longer than a "
		"line of eighty\ncolumns.\n\nThe second.\n\n"
		"  -c CODE                   the code\n"
		"  --quiet                   say nothing\n"
		"  --name NAME               a name, which --quiet does not "
		"change and which is\n"
		"                            long enough to be broken\n"
		"  --path PATH               a path\n"
		"  --host HOST               a host (repeatable)\n"
		"  -j, --jobs N              a number [4]\n"
		"  --wait TIME               a time\n"
		"  --size SIZE               a size\n"
		"  --colour COLOUR           a colour\n"
		"\nFurther:\n"
		"  --net                     the network [off]\n"
		"  --rule A=B                a rule (repeatable)\n"
		"  --other-host HOST         another host (repeatable)\n");
}

static void
completion_has_every_name_but_the_json_names(void **state)
{
	own(buf) struct buf out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(options_words(&command, &out), 0);
	assert_string_equal(
		buf_text(&out),
		"-c\n--quiet\n--name\n--label\n--path\n--host\n-j\n"
		"--jobs\n--wait\n--size\n--colour\n--net\n--no-net\n"
		"--rule\n--other-host\n--help\n");
}

static void
the_man_page_has_the_usage_and_every_row(void **state)
{
	own(buf) struct buf usage = BUF_INIT(4096), out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(options_man_usage(&command, &usage), 0);
	assert_string_equal(buf_text(&usage),
			    "*remit test* \\[*--quiet*] \\[_OPTION_...] "
			    "_FILE_|*-*|*-c* _CODE_");
	assert_int_equal(options_man(&command, &out), 0);
	assert_non_null(strstr(
		buf_text(&out),
		"\t*--name* _NAME_\n"
		"\t\tA name, which *--quiet* does not change and which is long "
		"enough to be broken.\n"
		"\t\tFirst line with _mark_.\n\n"
		"\t\tSecond paragraph.\n\n"));
	assert_non_null(strstr(buf_text(&out),
			       "\t*-j*, *--jobs* _N_\n"
			       "\t\tA number. Default: 4.\n\n"));
	assert_non_null(strstr(buf_text(&out),
			       "\t*--other-host* _HOST_\n"
			       "\t\tAnother host. May be repeated.\n\n"));
	assert_null(strstr(buf_text(&out), "secret"));
}

static void
option_texts_stop_at_the_cap_of_their_buffer(void **state)
{
	own(buf) struct buf out = BUF_INIT(60);

	(void)state;
	assert_int_equal(options_help(&command, &out), -1);
	assert_int_equal(errno, EFBIG);
	buf_free(&out);
	assert_int_equal(options_man(&command, &out), -1);
	buf_free(&out);
	assert_int_equal(options_words(&command, &out), -1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_all_kinds_accept_both_forms),
		cmocka_unit_test(
			option_value_may_begin_with_a_dash_or_contain_an_equals_sign),
		cmocka_unit_test(
			short_options_take_the_next_argument_or_a_joined_number),
		cmocka_unit_test(a_switch_has_four_forms),
		cmocka_unit_test(
			names_have_aliases_and_dashes_equal_underscores),
		cmocka_unit_test(an_earlier_table_hides_names_of_a_later_one),
		cmocka_unit_test(a_missing_value_is_an_error_with_an_example),
		cmocka_unit_test(
			a_wrong_value_is_an_error_that_names_the_option),
		cmocka_unit_test(
			an_unknown_option_is_an_error_with_a_suggestion),
		cmocka_unit_test(
			an_option_of_another_command_is_an_error_that_names_it),
		cmocka_unit_test(
			operands_and_options_may_be_mixed_up_to_two_dashes),
		cmocka_unit_test(arguments_after_the_program_are_not_parsed),
		cmocka_unit_test(
			help_is_recognised_only_where_an_option_is_parsed),
		cmocka_unit_test(help_shows_every_row_that_can_be_used),
		cmocka_unit_test(completion_has_every_name_but_the_json_names),
		cmocka_unit_test(the_man_page_has_the_usage_and_every_row),
		cmocka_unit_test(option_texts_stop_at_the_cap_of_their_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

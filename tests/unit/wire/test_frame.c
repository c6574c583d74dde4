/* frame: every rule of the table, from every side. */
#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PARTIES (PARTY_CLIENT | PARTY_KEEPER | PARTY_JAIL | PARTY_INIT)

/* A deliberate second copy: the senders of a frame are a security boundary, and
   a change of it must be made twice. It changes the protocol as well: raise
   FRAME_PROTOCOL, unless it was raised since the last release. */
static const struct frame_rule borders[FRAME_TYPES] = {
	[FRAME_POLICY] = { "policy", PARTY_CLIENT, 1 << 20, true, false },
	[FRAME_JOB] = { "job", PARTY_CLIENT | PARTY_KEEPER, 1 << 20, true,
			true },
	[FRAME_CODE] = { "code", PARTY_CLIENT | PARTY_KEEPER, 65536, false,
			 false },
	[FRAME_STDIN] = { "stdin", PARTY_CLIENT, 65536, false, false },
	[FRAME_STDIN_END] = { "stdin_end", PARTY_CLIENT, 0, true, true },
	[FRAME_START] = { "start", PARTY_CLIENT, 0, true, true },
	[FRAME_INTERRUPT] = { "interrupt", PARTY_CLIENT, 0, false, false },
	[FRAME_STDOUT] = { "stdout", PARTY_KEEPER, 65536, false, false },
	[FRAME_STDERR] = { "stderr", PARTY_KEEPER, 65536, false, false },
	[FRAME_RESULT] = { "result", PARTY_KEEPER, 4 << 20, true, true },
	[FRAME_LOCK_PARAMS] = { "lock_params", PARTY_KEEPER, 512, true, false },
	[FRAME_TASK] = { "task", PARTY_KEEPER, 4 << 20, true, false },
	[FRAME_GO] = { "go", PARTY_KEEPER, 0, true, true },
	[FRAME_REPORT] = { "report", PARTY_JAIL, 64, true, false },
	[FRAME_CHECKED] = { "checked", PARTY_JAIL, 256 << 10, true, true },
	[FRAME_ENDED] = { "ended", PARTY_JAIL, 256 << 10, true, true },
	[FRAME_WARM] = { "warm", PARTY_JAIL, 1024, true, false },
	[FRAME_EXITED] = { "exited", PARTY_INIT, 64, false, false },
	[FRAME_STATUS] = { "status", PARTY_CLIENT | PARTY_KEEPER, 4 << 20, true,
			   false },
	[FRAME_ENFORCEMENT] = { "enforcement", PARTY_KEEPER, 4 << 20, true,
				true },
	[FRAME_LISTENER] = { "listener", PARTY_JAIL, 0, true, false },
	[FRAME_FILE] = { "file", PARTY_CLIENT | PARTY_KEEPER, 8192, false,
			 false },
	[FRAME_FILE_DATA] = { "file_data", PARTY_CLIENT | PARTY_KEEPER, 65536,
			      false, false },
	[FRAME_ARTIFACT] = { "artifact", PARTY_KEEPER, 8192, false, false },
	[FRAME_ARTIFACT_DATA] = { "artifact_data", PARTY_KEEPER, 65536, false,
				  false },
	[FRAME_DISPLAY] = { "display", PARTY_JAIL | PARTY_KEEPER, 16384, false,
			    false },
	[FRAME_DISPLAY_DATA] = { "display_data", PARTY_JAIL | PARTY_KEEPER,
				 65536, false, false },
	[FRAME_OPEN] = { "open", PARTY_CLIENT, 1024, true, false },
	[FRAME_OPENED] = { "opened", PARTY_KEEPER, 1024, false, false },
	[FRAME_RESET] = { "reset", PARTY_CLIENT, 0, false, false },
	[FRAME_CLOSE] = { "close", PARTY_CLIENT | PARTY_KEEPER, 0, true,
			  false },
	[FRAME_TOOLS] = { "tools", PARTY_CLIENT | PARTY_KEEPER, 1 << 20, false,
			  false },
	[FRAME_CALL] = { "call", PARTY_JAIL | PARTY_KEEPER, 512, false, false },
	[FRAME_CALL_DATA] = { "call_data", PARTY_JAIL | PARTY_KEEPER, 65536,
			      false, false },
	[FRAME_REPLY] = { "reply", PARTY_CLIENT | PARTY_KEEPER, 512, false,
			  false },
	[FRAME_REPLY_DATA] = { "reply_data", PARTY_CLIENT | PARTY_KEEPER, 65536,
			       false, false },
	[FRAME_PROMPT] = { "prompt", PARTY_JAIL | PARTY_KEEPER, 0, false,
			   false },
	[FRAME_PROGRESS] = { "progress", PARTY_KEEPER, 1024, false, false },
	[FRAME_INSTRUCTIONS] = { "instructions", PARTY_CLIENT | PARTY_KEEPER,
				 1 << 20, true, false },
	[FRAME_QUESTION] = { "question", PARTY_KEEPER, 1024, false, false },
	[FRAME_ANSWER] = { "answer", PARTY_CLIENT, 128, false, false },
	[FRAME_FORK] = { "fork", PARTY_CLIENT | PARTY_KEEPER, 1024, false,
			 false },
	[FRAME_FORKED] = { "forked", PARTY_JAIL, 64, false, false },
	[FRAME_COMMIT] = { "commit", PARTY_CLIENT, 0, false, false },
	[FRAME_FILE_TASK] = { "file_task", PARTY_CLIENT | PARTY_KEEPER, 16384,
			      false, false },
	[FRAME_FILE_BYTES] = { "file_bytes", PARTY_JAIL | PARTY_KEEPER, 65536,
			       false, false },
	[FRAME_FILE_ANSWER] = { "file_answer", PARTY_JAIL | PARTY_KEEPER, 16384,
				false, false },
	[FRAME_STAYS] = { "stays", PARTY_KEEPER, 0, true, false },
	[FRAME_COMMANDS] = { "commands", PARTY_CLIENT | PARTY_KEEPER, 0, false,
			     false },
	[FRAME_COMMAND] = { "command", PARTY_CLIENT | PARTY_KEEPER, 1 << 20,
			    false, false },
	[FRAME_COMMAND_INPUT] = { "command_input", PARTY_CLIENT | PARTY_KEEPER,
				  65536, false, false },
	[FRAME_COMMAND_SIGNAL] = { "command_signal",
				   PARTY_CLIENT | PARTY_KEEPER, 8, false,
				   false },
	[FRAME_COMMAND_SIZE] = { "command_size", PARTY_CLIENT | PARTY_KEEPER, 8,
				 false, false },
	[FRAME_COMMAND_STARTED] = { "command_started",
				    PARTY_JAIL | PARTY_KEEPER, 8, false,
				    false },
	[FRAME_COMMAND_OUTPUT] = { "command_output", PARTY_JAIL | PARTY_KEEPER,
				   65536, false, false },
	[FRAME_COMMAND_ENDED] = { "command_ended", PARTY_JAIL | PARTY_KEEPER,
				  512, false, false },
	[FRAME_NETWORK] = { "network", PARTY_CLIENT, 65536, false, false },
	[FRAME_WATCHER] = { "watcher", PARTY_CLIENT, 0, false, false },
	[FRAME_WATCH] = { "watch", PARTY_CLIENT, 8192, false, false },
	[FRAME_WATCH_EVENT] = { "watch_event", PARTY_KEEPER, 16384, false,
				false },
	[FRAME_PORTS] = { "ports", PARTY_CLIENT, 0, false, false },
	[FRAME_PORT] = { "port", PARTY_CLIENT | PARTY_KEEPER, 512, false,
			 false },
};

static char stream[FRAME_HEADER + (4 << 20) + 2];

/* Writes a frame of zeros to `stream`, and returns its length. */
static size_t
make(unsigned type, uint32_t len)
{
	memset(stream, 0, FRAME_HEADER + (len < (4 << 20) ? len : 0));
	frame_header((unsigned char *)stream, (enum frame_type)type, len);
	return FRAME_HEADER + len;
}

static int
parse(size_t have, unsigned from, uint64_t *seen, struct frame *out,
      size_t *used, struct remit_error *err)
{
	*out = (struct frame){ .type = FRAME_NONE };
	return frame_parse(stream, have, from, seen, out, used, err);
}

static void
takes(size_t have, unsigned from, uint64_t *seen, unsigned type, size_t len)
{
	struct remit_error err;
	struct frame f;
	size_t used;

	if (parse(have, from, seen, &f, &used, &err) < 0)
		fail_msg("%s: %s", frame_rules[type].name, err.message);
	assert_int_equal(f.type, type);
	assert_int_equal(f.len, len);
	assert_ptr_equal(f.payload, stream + FRAME_HEADER);
	assert_int_equal(used, FRAME_HEADER + len);
}

static void
refuses(size_t have, unsigned from, uint64_t seen, const char *words)
{
	uint64_t before = seen;
	struct remit_error err;
	struct frame f;
	size_t used;

	if (parse(have, from, &seen, &f, &used, &err) == 0)
		fail_msg("type %d was taken, not refused: %s", stream[4],
			 words);
	if (!strstr(err.message, words))
		fail_msg("wanted \"%s\", got \"%s\"", words, err.message);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
	assert_int_equal(f.type, FRAME_NONE);
	assert_int_equal(seen, before);
}

static void
waits(size_t have, unsigned from, uint64_t seen)
{
	uint64_t before = seen;
	struct remit_error err;
	struct frame f;
	size_t used = 1;

	assert_int_equal(parse(have, from, &seen, &f, &used, &err), 0);
	assert_int_equal(used, 0);
	assert_int_equal(f.type, FRAME_NONE);
	assert_int_equal(seen, before);
}

static void
table_matches_the_security_boundaries(void **state)
{
	(void)state;
	for (int i = FRAME_NONE + 1; i < FRAME_TYPES; i++) {
		const struct frame_rule *a = &frame_rules[i], *b = &borders[i];

		if (!b->name)
			fail_msg("\"%s\" has no border here", a->name);
		if (strcmp(a->name, b->name) || a->from != b->from ||
		    a->max != b->max || a->once != b->once ||
		    a->cell != b->cell)
			fail_msg("the rule of \"%s\" has changed", a->name);
	}
}

static void
the_next_cell_may_bring_again_what_belongs_to_a_cell_and_nothing_else(
	void **state)
{
	static const enum frame_type of_cells[] = {
		FRAME_JOB, FRAME_STDIN_END, FRAME_START, FRAME_RESULT,
		FRAME_GO,  FRAME_CHECKED,   FRAME_ENDED, FRAME_ENFORCEMENT,
	};
	uint64_t again = ~frame_next_cell(UINT64_MAX), wanted = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(of_cells) / sizeof(of_cells[0]); i++)
		wanted |= UINT64_C(1) << of_cells[i];
	assert_true(again == wanted);
}

/* `seen` has one bit for each type. */
static void
seen_has_a_bit_for_every_type(void **state)
{
	(void)state;
	assert_true(FRAME_TYPES <= 64);
}

static void
frame_is_accepted_only_from_its_senders(void **state)
{
	(void)state;
	for (unsigned type = FRAME_NONE + 1; type < FRAME_TYPES; type++)
		for (unsigned from = 0; from <= PARTIES; from++) {
			uint64_t seen = 0;
			size_t have = make(type, 0);

			if (borders[type].from & from)
				takes(have, from, &seen, type, 0);
			else
				refuses(have, from, 0, "may not send it");
		}
}

static void
frame_length_is_limited_by_its_rule(void **state)
{
	(void)state;
	for (unsigned type = FRAME_NONE + 1; type < FRAME_TYPES; type++) {
		uint64_t seen = 0;
		uint32_t max = borders[type].max;

		takes(make(type, max), PARTIES, &seen, type, max);
		/* Refused by its header alone. */
		make(type, max + 1);
		refuses(FRAME_HEADER, PARTIES, 0, "are allowed");
		make(type, UINT32_MAX);
		refuses(FRAME_HEADER, PARTIES, 0, "are allowed");
		make(type, UINT32_C(0x80000000));
		refuses(FRAME_HEADER, PARTIES, 0, "are allowed");
	}
}

static void
second_frame_of_a_once_type_is_refused(void **state)
{
	(void)state;
	for (unsigned type = FRAME_NONE + 1; type < FRAME_TYPES; type++) {
		uint64_t seen = 0;
		size_t have = make(type, 0);

		takes(have, PARTIES, &seen, type, 0);
		assert_int_equal(seen, UINT64_C(1) << type);
		if (borders[type].once)
			refuses(have, PARTIES, seen, "a second frame");
		else
			takes(have, PARTIES, &seen, type, 0);
	}
}

static void
once_types_are_independent(void **state)
{
	(void)state;
	for (unsigned type = FRAME_NONE + 1; type < FRAME_TYPES; type++) {
		uint64_t seen = ~(UINT64_C(1) << type);

		takes(make(type, 0), PARTIES, &seen, type, 0);
	}
}

static void
unknown_type_is_refused(void **state)
{
	(void)state;
	make(FRAME_NONE, 0);
	refuses(FRAME_HEADER, PARTIES, 0, "unknown type 0");
	for (unsigned type = FRAME_TYPES; type < 256; type++) {
		make(type, 0);
		refuses(FRAME_HEADER, PARTIES, 0, "unknown type");
	}
}

static void
reserved_bytes_must_be_zero(void **state)
{
	(void)state;
	for (int byte = 6; byte < 8; byte++)
		for (int bit = 0; bit < 8; bit++) {
			make(FRAME_STDOUT, 0);
			stream[byte] = (char)(1 << bit);
			refuses(FRAME_HEADER, PARTIES, 0, "unknown type");
		}
}

/* The link checks whether it is the right protocol. */
static void
only_clients_and_keepers_have_a_protocol(void **state)
{
	(void)state;
	for (unsigned protocol = 1; protocol < 256; protocol++) {
		make(FRAME_DISPLAY, 0);
		stream[FRAME_PROTOCOL_AT] = (char)protocol;
		refuses(FRAME_HEADER, PARTY_JAIL, 0, "unknown type");
		refuses(FRAME_HEADER, PARTY_INIT, 0, "unknown type");
		refuses(FRAME_HEADER, PARTY_CLIENT, 0, "may not send it");
	}
}

/* Releases with another protocol must understand these two. */
static void
frames_that_refuse_a_protocol_keep_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(FRAME_RESULT, 10);
	assert_int_equal(FRAME_STATUS, 19);
	assert_int_equal(FRAME_PROTOCOL_AT, 5);
}

static void
incomplete_frame_needs_more_bytes(void **state)
{
	uint64_t seen = 0;
	size_t whole = make(FRAME_CHECKED, 300);

	(void)state;
	for (size_t have = 0; have < whole; have++)
		waits(have, PARTY_JAIL, 0);
	takes(whole, PARTY_JAIL, &seen, FRAME_CHECKED, 300);
}

/* A frame counts as received only when it is complete. */
static void
once_frame_is_accepted_after_arriving_in_parts(void **state)
{
	uint64_t seen = 0;
	struct remit_error err;
	struct frame f;
	size_t used, whole = make(FRAME_RESULT, 10);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			parse(whole - 1, PARTY_KEEPER, &seen, &f, &used, &err),
			0);
	takes(whole, PARTY_KEEPER, &seen, FRAME_RESULT, 10);
}

static void
bytes_after_a_frame_are_kept_for_the_next(void **state)
{
	uint64_t seen = 0;
	size_t whole = make(FRAME_STDOUT, 5);

	(void)state;
	takes(whole + 2, PARTY_KEEPER, &seen, FRAME_STDOUT, 5);
}

static void
length_is_little_endian(void **state)
{
	unsigned char h[FRAME_HEADER];
	static const unsigned char want[] = { 0x78, 0x56, 0x34, 0x12,
					      FRAME_STDERR };

	(void)state;
	memset(h, 0xff, sizeof(h));
	frame_header(h, FRAME_STDERR, 0x12345678);
	assert_memory_equal(h, want, sizeof(want));
	assert_int_equal(h[5] | h[6] | h[7], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_matches_the_security_boundaries),
		cmocka_unit_test(seen_has_a_bit_for_every_type),
		cmocka_unit_test(
			the_next_cell_may_bring_again_what_belongs_to_a_cell_and_nothing_else),
		cmocka_unit_test(frame_is_accepted_only_from_its_senders),
		cmocka_unit_test(frame_length_is_limited_by_its_rule),
		cmocka_unit_test(second_frame_of_a_once_type_is_refused),
		cmocka_unit_test(once_types_are_independent),
		cmocka_unit_test(unknown_type_is_refused),
		cmocka_unit_test(reserved_bytes_must_be_zero),
		cmocka_unit_test(only_clients_and_keepers_have_a_protocol),
		cmocka_unit_test(
			frames_that_refuse_a_protocol_keep_their_numbers),
		cmocka_unit_test(incomplete_frame_needs_more_bytes),
		cmocka_unit_test(
			once_frame_is_accepted_after_arriving_in_parts),
		cmocka_unit_test(bytes_after_a_frame_are_kept_for_the_next),
		cmocka_unit_test(length_is_little_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * session_commands: what the keeper forwards between a client and the helper
 * that starts commands, with a fake jail and a helper that may lie.
 */
#include "keeper/session/beside/commands.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/file/fd.h"
#include "keeper/session/part.h"
#include "keeper_world.h"

#include <cmocka.h>

struct scene {
	struct world *w;
	int client, helper;
};

/* Returns the descriptor that came last over the channel of the jail, or -1. */
static int
passed_to_jail(struct world *w)
{
	int got[PASS_MAX], fd = -1;
	char bytes[4096];
	size_t count;

	while (pass_recv(jail_of(w)->channel, bytes, sizeof(bytes), got, &count,
			 MSG_DONTWAIT) > 0)
		for (size_t i = 0; i < count; i++) {
			own_fd_close(&fd);
			fd = got[i];
		}
	return fd;
}

/* Requests commands from an open session. */
static void
request(struct scene *s)
{
	const char frame[FRAME_HEADER] = {
		[4] = FRAME_COMMANDS,
		[FRAME_PROTOCOL_AT] = FRAME_PROTOCOL,
	};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, pair),
			 0);
	s->client = pair[0];
	assert_int_equal(
		pass_send(s->w->client, frame, sizeof(frame), &pair[1], 1, 0),
		sizeof(frame));
	close(pair[1]);
	settle(s->w);
	s->helper = passed_to_jail(s->w);
}

static struct scene
begin(bool may_start_programs)
{
	struct scene s = { .w = world_new() };

	SEND_AS_CLIENT(s.w, FRAME_OPEN, "");
	settle(s.w);
	ready(s.w);
	send_as_code(s.w, FRAME_WARM, "", 0);
	settle(s.w);
	assert_int_equal(s.w->session->state, SESSION_IDLE);
	s.w->session->pool->policy.subprocess_execution = may_start_programs;
	request(&s);
	return s;
}

static void
finish(struct scene *s)
{
	own_fd_close(&s->client);
	own_fd_close(&s->helper);
	world_free(s->w);
}

static void
send_to_keeper(struct scene *s, unsigned type, const char *payload, size_t len)
{
	char frame[FRAME_HEADER + 512] = {
		[0] = (char)len,
		[1] = (char)(len >> 8),
		[4] = (char)type,
		[FRAME_PROTOCOL_AT] = FRAME_PROTOCOL,
	};

	memcpy(frame + FRAME_HEADER, payload, len);
	(void)!send(s->client, frame, FRAME_HEADER + len, MSG_NOSIGNAL);
	settle(s->w);
}

#define COMMAND(s, records) \
	send_to_keeper(s, FRAME_COMMAND, records, sizeof(records))

static void
send_as_helper(struct scene *s, unsigned type, const void *payload, size_t len)
{
	fake_send(s->helper, type, payload, len);
	settle(s->w);
}

static void
started(struct scene *s, uint32_t id)
{
	const uint32_t payload[] = { id, 77 };

	send_as_helper(s, FRAME_COMMAND_STARTED, payload, sizeof(payload));
}

static void
ended(struct scene *s, uint32_t id, uint32_t kind, int value)
{
	const struct command_ended e = { id, kind, value };

	send_as_helper(s, FRAME_COMMAND_ENDED, &e, sizeof(e));
}

static void
wrote(struct scene *s, uint32_t id, char stream, const char *text)
{
	char payload[64] = { 0 };

	memcpy(payload, &id, sizeof(id));
	payload[4] = stream;
	memcpy(payload + 5, text, strlen(text));
	send_as_helper(s, FRAME_COMMAND_OUTPUT, payload, 5 + strlen(text));
}

/* One frame that has arrived; type 0: none, -1: the connection is closed. */
struct arrived {
	int type;
	size_t len;
	char payload[256];
};

static struct arrived
next(int fd)
{
	struct arrived a = { 0 };
	unsigned char head[FRAME_HEADER];
	ssize_t n = recv(fd, head, sizeof(head), MSG_DONTWAIT);

	if (n == 0)
		a.type = -1;
	if (n <= 0)
		return a;
	a.type = head[4];
	a.len = head[0] | (size_t)head[1] << 8;
	if (a.len)
		assert_int_equal(recv(fd, a.payload, a.len, MSG_DONTWAIT),
				 a.len);
	return a;
}

static void
expect(int fd, int type)
{
	assert_int_equal(next(fd).type, type);
}

static void
expect_end(struct scene *s, enum command_end_kind kind)
{
	struct arrived a = next(s->client);
	struct command_end e;

	assert_int_equal(a.type, FRAME_COMMAND_ENDED);
	assert_int_equal(command_end_read(&e, a.payload, a.len, COMMAND_GONE),
			 0);
	assert_int_equal(e.kind, kind);
}

static void
command_is_forwarded_with_its_input_output_and_end(void **state)
{
	struct scene s = begin(true);
	struct arrived a;

	(void)state;
	assert_true(s.helper >= 0);
	COMMAND(&s, "id\0001\0argv\0ls\0input\0yes");
	a = next(s.helper);
	assert_int_equal(a.type, FRAME_COMMAND);
	assert_memory_equal(a.payload, "id\0001\0argv\0ls\0input\0yes", a.len);
	started(&s, 1);
	expect(s.client, FRAME_COMMAND_STARTED);
	send_to_keeper(&s, FRAME_COMMAND_INPUT, "\1\0\0\0text", 8);
	expect(s.helper, FRAME_COMMAND_INPUT);
	wrote(&s, 1, COMMAND_STDERR, "words");
	a = next(s.client);
	assert_int_equal(a.type, FRAME_COMMAND_OUTPUT);
	assert_memory_equal(a.payload, "\1\0\0\0\2words", a.len);
	ended(&s, 1, COMMAND_EXITED, 3);
	expect_end(&s, COMMAND_EXITED);
	expect(s.client, 0);
	/* Late frames for it are dropped. */
	send_to_keeper(&s, FRAME_COMMAND_INPUT, "\1\0\0\0text", 8);
	expect(s.helper, 0);
	finish(&s);
}

static void
session_without_programs_gets_no_helper(void **state)
{
	struct scene s = begin(false);

	(void)state;
	assert_int_equal(s.helper, -1);
	expect(s.client, -1);
	assert_int_equal(s.w->session->state, SESSION_IDLE);
	finish(&s);
}

static void
second_helper_is_refused(void **state)
{
	struct scene s = begin(true), second = s;

	(void)state;
	request(&second);
	assert_int_equal(second.helper, -1);
	expect(second.client, -1);
	own_fd_close(&second.client);
	COMMAND(&s, "id\0001");
	expect(s.helper, FRAME_COMMAND);
	finish(&s);
}

/* What the helper sends is a claim, and this loses only the commands. */
static void
helper_that_breaks_the_protocol_loses_the_commands(void **state)
{
	static const struct {
		unsigned type;
		const char *payload;
		size_t len;
		bool is_started;
	} lies[] = {
		{ FRAME_COMMAND_OUTPUT, "\1\0\0\0\1x", 6, false },
		{ FRAME_COMMAND_OUTPUT, "\2\0\0\0\1x", 6, true },
		{ FRAME_COMMAND_OUTPUT, "\1\0\0\0\1", 5, true },
		{ FRAME_COMMAND_OUTPUT, "\1\0\0\0\0x", 6, true },
		{ FRAME_COMMAND_OUTPUT, "\1\0\0\0\4x", 6, true },
		{ FRAME_COMMAND_OUTPUT, "\1", 1, true },
		{ FRAME_COMMAND_STARTED, "\1\0\0\0\1\0\0\0", 8, true },
		{ FRAME_COMMAND_STARTED, "\2\0\0\0\1\0\0\0", 8, true },
		{ FRAME_COMMAND_STARTED, "\1\0\0\0", 4, false },
		{ FRAME_COMMAND_ENDED, "\1\0\0\0\4\0\0\0\0\0\0\0", 12, true },
		{ FRAME_COMMAND_ENDED, "\1\0\0\0\0\0\0\0\0\0\0\0", 12, true },
		{ FRAME_COMMAND_ENDED, "\0\0\0\0\1\0\0\0\0\0\0\0", 12, true },
		{ FRAME_COMMAND_ENDED, "\1\0\0\0\1\0\0\0", 8, true },
		{ FRAME_COMMAND, "id\0001", 5, true },
		{ FRAME_ENDED, "kind\0ok", 8, true },
		{ FRAME_STDOUT, "x", 1, true },
		{ FRAME_TYPES, "", 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct scene s = begin(true);

		COMMAND(&s, "id\0001");
		if (lies[i].is_started) {
			started(&s, 1);
			expect(s.client, FRAME_COMMAND_STARTED);
		}
		send_as_helper(&s, lies[i].type, lies[i].payload, lies[i].len);
		expect_end(&s, COMMAND_GONE);
		expect(s.client, -1);
		expect(s.helper, FRAME_COMMAND);
		expect(s.helper, -1);
		assert_int_equal(s.w->session->state, SESSION_IDLE);
		assert_non_null(s.w->session->worker);
		finish(&s);
	}
}

static void
client_that_breaks_the_protocol_loses_its_commands(void **state)
{
	static const struct {
		unsigned type;
		const char *payload;
		size_t len;
	} mistakes[] = {
		{ FRAME_COMMAND, "id\0001", 5 },
		{ FRAME_COMMAND, "id\0000", 5 },
		{ FRAME_COMMAND, "id\0004294967296", 14 },
		{ FRAME_COMMAND, "argv\0ls", 8 },
		{ FRAME_COMMAND, "id", 2 },
		{ FRAME_COMMAND_SIGNAL, "\1\0\0\0\0\0\0\0", 8 },
		{ FRAME_COMMAND_SIGNAL, "\1\0\0\0\101\0\0\0", 8 },
		{ FRAME_COMMAND_SIGNAL, "\1\0\0\0", 4 },
		{ FRAME_JOB, "name\0x", 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		struct scene s = begin(true);

		COMMAND(&s, "id\0001");
		send_to_keeper(&s, mistakes[i].type, mistakes[i].payload,
			       mistakes[i].len);
		expect_end(&s, COMMAND_GONE);
		expect(s.client, -1);
		assert_int_equal(s.w->session->state, SESSION_IDLE);
		finish(&s);
	}
}

static void
output_is_capped_and_then_stops_the_command(void **state)
{
	struct scene s = begin(true);
	struct policy *p = &s.w->session->pool->policy;
	struct arrived a;

	(void)state;
	p->stdout_max_bytes = 4;
	p->output_ceiling = 3;
	COMMAND(&s, "id\0001");
	expect(s.helper, FRAME_COMMAND);
	started(&s, 1);
	expect(s.client, FRAME_COMMAND_STARTED);
	wrote(&s, 1, COMMAND_STDOUT, "123456");
	a = next(s.client);
	assert_int_equal(a.len, 5 + 4);
	wrote(&s, 1, COMMAND_STDOUT, "123456");
	expect(s.client, 0);
	expect(s.helper, 0);
	wrote(&s, 1, COMMAND_STDOUT, "123");
	expect(s.helper, FRAME_COMMAND_SIGNAL);
	/* The keeper's reason precedes the helper's claim. */
	ended(&s, 1, COMMAND_EXITED, 0);
	expect_end(&s, COMMAND_OUTPUT_LIMIT);
	finish(&s);
}

static void
input_beyond_stdin_bytes_stops_the_command(void **state)
{
	struct scene s = begin(true);

	(void)state;
	s.w->session->pool->policy.stdin_bytes = 4;
	COMMAND(&s, "id\0001");
	expect(s.helper, FRAME_COMMAND);
	send_to_keeper(&s, FRAME_COMMAND_INPUT, "\1\0\0\0four", 8);
	expect(s.helper, FRAME_COMMAND_INPUT);
	send_to_keeper(&s, FRAME_COMMAND_INPUT, "\1\0\0\0x", 5);
	expect(s.helper, FRAME_COMMAND_SIGNAL);
	ended(&s, 1, COMMAND_SIGNALLED, 9);
	expect_end(&s, COMMAND_INPUT_LIMIT);
	finish(&s);
}

static void
commands_are_refused_beyond_their_number_and_length(void **state)
{
	struct scene s = begin(true);
	char records[] = "id\0AA";

	(void)state;
	for (int i = 0; i < COMMANDS_MAX; i++) {
		records[3] = (char)('1' + i / 10);
		records[4] = (char)('0' + i % 10);
		COMMAND(&s, records);
		expect(s.helper, FRAME_COMMAND);
	}
	COMMAND(&s, "id\00099");
	expect_end(&s, COMMAND_REFUSED);
	ended(&s, 10, COMMAND_EXITED, 0);
	expect_end(&s, COMMAND_EXITED);
	s.w->session->pool->policy.code_bytes = 4;
	COMMAND(&s, "id\00099");
	expect_end(&s, COMMAND_REFUSED);
	expect(s.helper, 0);
	finish(&s);
}

static void
command_that_does_not_end_in_time_ends_its_jail(void **state)
{
	struct scene s = begin(true);
	uint64_t begun = loop_now_us();

	(void)state;
	COMMAND(&s, "id\0001\0timeout_ms\0001");
	expect(s.helper, FRAME_COMMAND);
	while (s.w->session->worker &&
	       loop_now_us() < begun + 3 * deadline_us(DEADLINE_COMMAND)) {
		settle(s.w);
		usleep(10000); /* the loop of the test does not block */
	}
	assert_null(s.w->session->worker);
	assert_true(loop_now_us() >= begun + deadline_us(DEADLINE_COMMAND));
	expect(s.helper, FRAME_COMMAND_SIGNAL);
	expect(s.helper, -1);
	expect_end(&s, COMMAND_TIMEOUT);
	assert_int_equal(s.w->session->state, SESSION_IDLE);
	assert_int_equal(s.w->session->loss.code, REMIT_E_REFUSED);
	finish(&s);
}

static void
session_is_not_idle_while_commands_run(void **state)
{
	struct scene s = begin(true);
	const struct cell_clock *clock = &s.w->session->clock;

	(void)state;
	assert_true(clock->deadline_us > 0);
	COMMAND(&s, "id\0001");
	assert_int_equal(clock->deadline_us, 0);
	ended(&s, 1, COMMAND_FAILED, 0);
	assert_true(clock->deadline_us > 0);
	COMMAND(&s, "id\0002");
	assert_int_equal(clock->deadline_us, 0);
	/* Its client leaves, and the helper kills what it had started. */
	own_fd_close(&s.client);
	s.client = -1;
	settle(s.w);
	assert_true(clock->deadline_us > 0);
	expect(s.helper, FRAME_COMMAND);
	expect(s.helper, FRAME_COMMAND);
	expect(s.helper, -1);
	finish(&s);
}

/* The time of a jail is counted as a whole: commands go first. */
static void
commands_are_stopped_before_the_jail_when_its_processor_time_is_over(
	void **state)
{
	struct scene s = begin(true);
	struct session *session = s.w->session;

	(void)state;
	session->cell.facts.cpu_limit_ms = 1000;
	COMMAND(&s, "id\0001");
	expect(s.helper, FRAME_COMMAND);
	jail_of(s.w)->cpu_us = 2000000;
	session_check_cpu(session);
	expect(s.helper, FRAME_COMMAND_SIGNAL);
	assert_non_null(session->worker);
	ended(&s, 1, COMMAND_SIGNALLED, 9);
	expect_end(&s, COMMAND_CPU_LIMIT);
	/* What it has left running. */
	jail_of(s.w)->cpu_us = 4000000;
	session_check_cpu(session);
	settle(s.w);
	assert_null(session->worker);
	finish(&s);
}

/* A terminal that becomes silent would be useless. */
static void
output_of_a_terminal_is_forwarded_up_to_the_ceiling(void **state)
{
	struct scene s = begin(true);
	struct policy *p = &s.w->session->pool->policy;

	(void)state;
	p->stdout_max_bytes = 4;
	p->output_ceiling = 3;
	COMMAND(&s, "id\0001\0columns\00080\0rows\00024");
	expect(s.helper, FRAME_COMMAND);
	started(&s, 1);
	expect(s.client, FRAME_COMMAND_STARTED);
	wrote(&s, 1, COMMAND_TERMINAL, "12345678");
	assert_int_equal(next(s.client).len, 5 + 8);
	wrote(&s, 1, COMMAND_TERMINAL, "12345678");
	assert_int_equal(next(s.client).len, 5 + 4);
	expect(s.helper, FRAME_COMMAND_SIGNAL);
	finish(&s);
}

static void
each_command_is_audited(void **state)
{
	struct scene s = begin(true);
	struct audit_writer *writer = &s.w->keeper->audit_writer;
	char line[2048] = "";
	int pair[2];

	(void)state;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	writer->fd = pair[0];
	writer->loop = &s.w->keeper->loop;
	COMMAND(&s, "id\0001\0argv\0secret");
	ended(&s, 1, COMMAND_EXITED, 3);
	expect_end(&s, COMMAND_EXITED);
	assert_true(recv(pair[1], line, sizeof(line) - 1, MSG_DONTWAIT) > 0);
	assert_non_null(strstr(line, "\"status\":\"exit\""));
	assert_non_null(strstr(line, "\"exit_code\":3"));
	assert_non_null(strstr(line, "\"code_bytes\":17"));
	assert_null(strstr(line, "secret"));
	/* While nothing can be written, nothing is started. */
	writer->trouble = ENOSPC;
	COMMAND(&s, "id\0002");
	expect_end(&s, COMMAND_REFUSED);
	close(pair[1]);
	finish(&s);
}

static void
commands_end_with_their_session(void **state)
{
	struct scene s = begin(true);
	size_t fds;

	(void)state;
	COMMAND(&s, "id\0001");
	fds = count_fds();
	SEND_AS_CLIENT(s.w, FRAME_RESET, "");
	settle(s.w);
	expect_end(&s, COMMAND_GONE);
	expect(s.client, -1);
	assert_true(count_fds() < fds + 8);
	finish(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			command_is_forwarded_with_its_input_output_and_end),
		cmocka_unit_test(session_without_programs_gets_no_helper),
		cmocka_unit_test(second_helper_is_refused),
		cmocka_unit_test(
			helper_that_breaks_the_protocol_loses_the_commands),
		cmocka_unit_test(
			client_that_breaks_the_protocol_loses_its_commands),
		cmocka_unit_test(output_is_capped_and_then_stops_the_command),
		cmocka_unit_test(input_beyond_stdin_bytes_stops_the_command),
		cmocka_unit_test(
			commands_are_refused_beyond_their_number_and_length),
		cmocka_unit_test(
			command_that_does_not_end_in_time_ends_its_jail),
		cmocka_unit_test(session_is_not_idle_while_commands_run),
		cmocka_unit_test(
			commands_are_stopped_before_the_jail_when_its_processor_time_is_over),
		cmocka_unit_test(
			output_of_a_terminal_is_forwarded_up_to_the_ceiling),
		cmocka_unit_test(each_command_is_audited),
		cmocka_unit_test(commands_end_with_their_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A program with tools, for tests: tools CODE POLICY [DENY|ONCE|RUN] prints the
 * result, and on stderr each question and each call. tools --session POLICY
 * CELL... does the same for the cells of a session; the cell "reset" resets it.
 *
 *	add(a, b)	adds, at once
 *	later(ms)	returns from a thread after this time
 *	meets(n, id)	returns its id when n calls of it wait
 *	fails()		fails with a message
 *	hangs()		does not return during the run
 *	bytes()		returns bytes that are not JSON
 *	large(bytes)	returns a text of this length
 *	echo(...)	returns its arguments
 *	guarded(...)	like echo, if each call is allowed
 *	careful(...)	like echo, if the first call is allowed
 */
#include <pthread.h>
#include <remit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum remit_answer answer = REMIT_DENY;
static struct remit_tool_call *hanging;

static long
number(const char *arguments, const char *name)
{
	const char *at = strstr(arguments, name);

	return at ? strtol(strchr(at, ':') + 1, NULL, 10) : 0;
}

static void
reply_number(struct remit_tool_call *call, long n)
{
	char text[32];

	remit_tool_reply(call, text,
			 (size_t)snprintf(text, sizeof(text), "%ld", n));
}

static void
add(void *user, struct remit_tool_call *call, const char *arguments, size_t len)
{
	(void)user;
	(void)len;
	reply_number(call,
		     number(arguments, "\"a\"") + number(arguments, "\"b\""));
}

struct wait {
	struct remit_tool_call *call;
	long ms;
};

static void *
wait_and_reply(void *arg)
{
	struct wait w = *(struct wait *)arg;

	free(arg);
	usleep((useconds_t)w.ms * 1000); /* as the test asked */
	reply_number(w.call, w.ms);
	return NULL;
}

static void
later(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	struct wait *w = malloc(sizeof(*w));
	pthread_t thread;

	(void)user;
	(void)len;
	*w = (struct wait){ call, number(arguments, "\"ms\"") };
	pthread_create(&thread, NULL, wait_and_reply, w);
	pthread_detach(thread);
}

struct meeting {
	struct remit_tool_call *call;
	long id;
};

static void
meets(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	static struct meeting waiting[64];
	static long count;

	(void)user;
	(void)len;
	waiting[count++] =
		(struct meeting){ call, number(arguments, "\"id\"") };
	if (count < number(arguments, "\"n\""))
		return;
	while (count) {
		count--;
		reply_number(waiting[count].call, waiting[count].id);
	}
}

static void
fails(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	(void)user;
	(void)arguments;
	(void)len;
	remit_tool_fail(call, "KeyError: 'x'");
}

static void
hangs(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	(void)user;
	(void)arguments;
	(void)len;
	hanging = call;
}

static void
bytes(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	(void)user;
	(void)arguments;
	(void)len;
	remit_tool_reply(call, "\x80\x04\x95", 3);
}

static void
large(void *user, struct remit_tool_call *call, const char *arguments,
      size_t len)
{
	size_t n = (size_t)number(arguments, "\"bytes\"");
	char *text = malloc(n);

	(void)user;
	(void)len;
	memset(text, 'x', n);
	text[0] = text[n - 1] = '"';
	remit_tool_reply(call, text, n);
	free(text);
}

static void
echo(void *user, struct remit_tool_call *call, const char *arguments,
     size_t len)
{
	(void)user;
	fprintf(stderr, "called %s %.*s\n", remit_tool_call_name(call),
		(int)(len < 100 ? len : 100), arguments);
	remit_tool_reply(call, arguments, len);
}

static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	(void)user;
	fprintf(stderr, "asked %s %s %s\n", q->kind, q->subject, q->detail);
	return answer;
}

#define OBJECT(properties, required)                          \
	"{\"type\": \"object\", \"properties\": {" properties \
	"}, \"required\": [" required "], \"additionalProperties\": false}"

static const struct remit_tool tools[] = {
	{ .name = "add",
	  .description = "Adds two whole numbers.",
	  .schema_json = OBJECT("\"a\": {\"type\": \"integer\"}, "
				"\"b\": {\"type\": \"integer\"}",
				"\"a\", \"b\""),
	  .call = add },
	{ .name = "later",
	  .schema_json = OBJECT("\"ms\": {\"type\": \"integer\", "
				"\"minimum\": 0, \"maximum\": 60000}",
				"\"ms\""),
	  .call = later },
	{ .name = "meets",
	  .schema_json = OBJECT("\"n\": {\"type\": \"integer\", "
				"\"minimum\": 1, \"maximum\": 64}, "
				"\"id\": {\"type\": \"integer\"}",
				"\"n\", \"id\""),
	  .call = meets },
	{ .name = "fails", .call = fails },
	{ .name = "hangs", .call = hangs },
	{ .name = "bytes", .call = bytes },
	{ .name = "large",
	  .schema_json = OBJECT("\"bytes\": {\"type\": \"integer\", "
				"\"minimum\": 2}",
				"\"bytes\""),
	  .call = large },
	{ .name = "echo", .call = echo },
	{ .name = "guarded", .call = echo, .approval = REMIT_APPROVAL_ALWAYS },
	{ .name = "careful", .call = echo, .approval = REMIT_APPROVAL_FIRST },
};

static int
print_error(const struct remit_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	return 1;
}

static int
run_session(struct remit *remit, const char *policy, char **cells)
{
	struct remit_session_options opt = {
		.policy_json = policy,
		.tools = tools,
		.tool_count = sizeof(tools) / sizeof(tools[0]),
	};
	struct remit_result *result;
	struct remit_session *session;
	struct remit_error err;

	if (remit_session_open(remit, &opt, &session, &err) < 0)
		return print_error(&err);
	for (; *cells; cells++) {
		struct remit_job job = REMIT_JOB_INIT;

		if (!strcmp(*cells, "reset")) {
			if (remit_session_reset(session, &err) < 0)
				return print_error(&err);
			continue;
		}
		job.code = *cells;
		job.code_len = strlen(*cells);
		job.on_question = on_question;
		if (remit_session_run(session, &job, &result, &err) < 0)
			return print_error(&err);
		puts(remit_result_json(result));
		remit_result_free(result);
	}
	if (remit_session_close(session, &result, &err) < 0)
		return print_error(&err);
	remit_result_free(result);
	return 0;
}

int
main(int argc, char **argv)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *result;
	struct remit_error err;
	struct remit *remit;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "--session"))
		return remit_open(&remit, NULL, &err) < 0
			       ? print_error(&err)
			       : run_session(remit, argv[2], argv + 3);
	if (argc > 3 && !strcmp(argv[3], "ONCE"))
		answer = REMIT_ALLOW_ONCE;
	if (argc > 3 && !strcmp(argv[3], "RUN"))
		answer = REMIT_ALLOW_RUN;
	job.code = argv[1];
	job.code_len = strlen(argv[1]);
	job.policy_json = argv[2];
	job.tools = tools;
	job.tool_count = sizeof(tools) / sizeof(tools[0]);
	job.on_question = on_question;
	if (remit_open(&remit, NULL, &err) < 0 ||
	    remit_run(remit, &job, &result, &err) < 0)
		return print_error(&err);
	puts(remit_result_json(result));
	/* The run has ended, so this reply has no receiver. */
	if (hanging)
		remit_tool_reply(hanging, "1", 1);
	remit_result_free(result);
	remit_close(remit);
	return 0;
}

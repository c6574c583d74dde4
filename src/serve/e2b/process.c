/*
 * e2b_process: the routes of envd's service for commands.
 */
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/e2b/command.h"
#include "serve/e2b/connect.h"

#define STREAM "application/connect+json"
#define REFUSED                                                   \
	"this sandbox may not start programs: its policy has no " \
	"subprocess_execution"
#define NO_PROCESS "there is no such process"
/* How long a program may leave its input unread. */
#define INPUT_MS 20000
/* How many requests may write input for the commands of a sandbox: each has a
   thread until its input is read. */
#define WRITERS_MAX 8
/* {"event":{"keepalive":{}}} in its envelope. */
static const char keepalive[] = "\0\0\0\0\032{\"event\":{\"keepalive\":{}}}";
_Static_assert(sizeof(keepalive) - 1 == 5 + 26,
	       "must match the length in its envelope");

/* ---- starting ---- */

/* Whether the program is to run as another user than "user": the header has
   "Basic " and base64 of "user:". */
static bool
is_for_another(const struct exchange *x)
{
	static const char ours[] = "Basic dXNlcjo=";
	struct http_text given = exchange_header(x, "authorization");

	if (given.len < 6 || strncasecmp(given.text, ours, 6) != 0)
		return false;
	return given.len != strlen(ours) ||
	       memcmp(given.text + 6, ours + 6, given.len - 6) != 0;
}

static void
post_start(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_auto_t *message = sb ? e2b_read_envelope(&x->body.data) : NULL;
	json_t *process = json_object_get(message, "process");
	const json_t *pty = json_object_get(message, "pty");

	if (!sb)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	if (!sb->may_start_programs)
		connect_end(x, "permission_denied", REFUSED);
	else if (!e2b_is_program(process))
		connect_end(x, "invalid_argument",
			    "process: needs cmd and args");
	else if (pty && !json_is_null(pty))
		connect_end(x, "unimplemented",
			    "terminals are not supported: a jail has none, so "
			    "that no input can be injected into one");
	else if (is_for_another(x))
		connect_end(x, "invalid_argument",
			    "a sandbox here has one user, called user: "
			    "programs cannot run as another");
	else
		command_start(x, sb, message);
	sandbox_unref(sb);
}

static void
post_connect(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_auto_t *message = sb ? e2b_read_envelope(&x->body.data) : NULL;

	if (!sb)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	command_connect(x, sb, json_object_get(message, "process"));
	sandbox_unref(sb);
}

/* ---- running commands ---- */

static void
post_list(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);

	if (sb)
		reply_json(x, 200,
			   json_pack("{s:o}", "processes",
				     command_list(x->server->e2b, sb)));
	sandbox_unref(sb);
}

/* Returns the request's sandbox, and in *cell the cell of the command. *cell is
   0 after it has sent an error. */
static struct sandbox *
find_command(struct exchange *x, uint64_t *cell)
{
	struct sandbox *sb = e2b_find(x);

	*cell = sb ? command_find(x->server->e2b, sb,
				  json_object_get(x->json, "process"))
		   : 0;
	if (sb && !*cell)
		connect_fail(x, "not_found", NO_PROCESS);
	return sb;
}

static void
post_signal(struct exchange *x)
{
	uint64_t cell;
	struct sandbox *sb = find_command(x, &cell);

	if (cell) {
		command_signal(x->server->e2b, sb, cell);
		reply_json(x, 200, json_object());
	}
	sandbox_unref(sb);
}

/* ---- input ---- */

/* A pipe that does not block, for as long as its reader keeps reading. */
static int
write_in_time(int fd, const char *bytes, size_t len)
{
	while (len) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (n < 0 && poll(&p, 1, INPUT_MS) == 0)
			return -1;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void
send_input(struct exchange *x, struct sandbox *sb, uint64_t cell)
{
	const json_t *input = json_object_get(x->json, "input");
	const json_t *text = json_object_get(input, "stdin");
	own_fd int fd = command_input(x->server->e2b, sb, cell);
	own_mem char *bytes = NULL;
	size_t len = 0;

	if (!json_is_string(text) ||
	    base64_decode(json_string_value(text), json_string_length(text),
			  &bytes, &len) < 0)
		connect_fail(x, "invalid_argument",
			     "input.stdin: must be base64");
	else if (fd < 0)
		connect_fail(x, "failed_precondition",
			     "this command reads no input: it was started "
			     "without stdin, or its stdin is closed");
	else if (write_in_time(fd, bytes, len) < 0)
		connect_fail(x, "resource_exhausted",
			     "the command does not read its input");
	else
		reply_json(x, 200, json_object());
}

static bool
begin_input(struct e2b *e, struct sandbox *sb)
{
	bool has_slot;

	pthread_mutex_lock(&e->lock);
	has_slot = sb->writers < WRITERS_MAX;
	sb->writers += has_slot;
	pthread_mutex_unlock(&e->lock);
	return has_slot;
}

static void
end_input(struct e2b *e, struct sandbox *sb)
{
	pthread_mutex_lock(&e->lock);
	sb->writers--;
	pthread_mutex_unlock(&e->lock);
}

/* Runs in a thread, since the program may read slowly. */
static void
input_in_thread(struct exchange *x)
{
	struct e2b *e = x->server->e2b;
	uint64_t cell;
	struct sandbox *sb = find_command(x, &cell);

	if (cell && begin_input(e, sb)) {
		send_input(x, sb, cell);
		end_input(e, sb);
	} else if (cell) {
		connect_fail(x, "resource_exhausted",
			     "too many requests write input for commands that "
			     "do not read it");
	}
	sandbox_unref(sb);
}

static void
post_input(struct exchange *x)
{
	exchange_in_thread(x, input_in_thread);
}

static void
post_close(struct exchange *x)
{
	uint64_t cell;
	struct sandbox *sb = find_command(x, &cell);

	if (cell) {
		command_close_input(x->server->e2b, sb, cell);
		reply_json(x, 200, json_object());
	}
	sandbox_unref(sb);
}

/* Not supported: the body would have to be processed while it arrives. */
static void
post_stream_input(struct exchange *x)
{
	reply_begin(x, 200, STREAM);
	connect_end(x, "unimplemented",
		    "send input in single requests (SendInput)");
}

static void
post_update(struct exchange *x)
{
	connect_fail(x, "unimplemented", "terminals are not supported");
}

#define PROCESS(name, what, has)                                       \
	{                                                              \
		.method = "POST",                                      \
		.pattern = "/process.Process/" name,                   \
		.serve = (what),                                       \
		.body = (has),                                         \
		.is_open = true,                                       \
		.body_max = (has) == BODY_BYTES ? E2B_MESSAGE_MAX : 0, \
		.admits = e2b_admits,                                  \
		.fail = e2b_fail_text,                                 \
	}

const struct route e2b_process_routes[] = {
	PROCESS("Start", post_start, BODY_BYTES),
	PROCESS("Connect", post_connect, BODY_BYTES),
	PROCESS("List", post_list, BODY_JSON),
	PROCESS("SendSignal", post_signal, BODY_JSON),
	PROCESS("SendInput", post_input, BODY_JSON),
	PROCESS("StreamInput", post_stream_input, BODY_BYTES),
	PROCESS("CloseStdin", post_close, BODY_JSON),
	PROCESS("Update", post_update, BODY_JSON),
	{ 0 },
};

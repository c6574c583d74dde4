#include "wire/frame.h"

#include <string.h>

const struct frame_rule frame_rules[FRAME_TYPES] = {
	[FRAME_POLICY] = {
		.name = "policy",
		.from = PARTY_CLIENT,
		.max = 1024 * 1024,
		.once = true,
	},
	[FRAME_JOB] = {
		.name = "job",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 1024 * 1024,
		.once = true,
		.cell = true,
	},
	[FRAME_CODE] = {
		.name = "code",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_STDIN] = {
		.name = "stdin",
		.from = PARTY_CLIENT,
		.max = FRAME_PIECE,
	},
	[FRAME_STDIN_END] = {
		.name = "stdin_end",
		.from = PARTY_CLIENT,
		.once = true,
		.cell = true,
	},
	[FRAME_START] = {
		.name = "start",
		.from = PARTY_CLIENT,
		.once = true,
		.cell = true,
	},
	[FRAME_INTERRUPT] = {
		.name = "interrupt",
		.from = PARTY_CLIENT,
	},
	[FRAME_STDOUT] = {
		.name = "stdout",
		.from = PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_STDERR] = {
		.name = "stderr",
		.from = PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_RESULT] = {
		.name = "result",
		.from = PARTY_KEEPER,
		.max = 4 * 1024 * 1024,
		.once = true,
		.cell = true,
	},
	[FRAME_LOCK_PARAMS] = {
		.name = "lock_params",
		.from = PARTY_KEEPER,
		.max = 512,
		.once = true,
	},
	[FRAME_TASK] = {
		.name = "task",
		.from = PARTY_KEEPER,
		.max = 4 * 1024 * 1024,
		.once = true,
	},
	[FRAME_GO] = {
		.name = "go",
		.from = PARTY_KEEPER,
		.once = true,
		.cell = true,
	},
	[FRAME_REPORT] = {
		.name = "report",
		.from = PARTY_JAIL,
		.max = 64,
		.once = true,
	},
	[FRAME_CHECKED] = {
		.name = "checked",
		.from = PARTY_JAIL,
		.max = 256 * 1024,
		.once = true,
		.cell = true,
	},
	[FRAME_ENDED] = {
		.name = "ended",
		.from = PARTY_JAIL,
		.max = 256 * 1024,
		.once = true,
		.cell = true,
	},
	[FRAME_WARM] = {
		.name = "warm",
		.from = PARTY_JAIL,
		.max = 1024,
		.once = true,
	},
	[FRAME_EXITED] = {
		.name = "exited",
		.from = PARTY_INIT,
		.max = 64,
	},
	[FRAME_STATUS] = {
		.name = "status",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 4 * 1024 * 1024,
		.once = true,
	},
	[FRAME_ENFORCEMENT] = {
		.name = "enforcement",
		.from = PARTY_KEEPER,
		.max = 4 * 1024 * 1024,
		.once = true,
		.cell = true,
	},
	[FRAME_LISTENER] = {
		.name = "listener",
		.from = PARTY_JAIL,
		.once = true,
	},
	[FRAME_FILE] = {
		.name = "file",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 8 * 1024,
	},
	[FRAME_FILE_DATA] = {
		.name = "file_data",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_ARTIFACT] = {
		.name = "artifact",
		.from = PARTY_KEEPER,
		.max = 8 * 1024,
	},
	[FRAME_ARTIFACT_DATA] = {
		.name = "artifact_data",
		.from = PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_DISPLAY] = {
		.name = "display",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = 16 * 1024,
	},
	[FRAME_DISPLAY_DATA] = {
		.name = "display_data",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_OPEN] = {
		.name = "open",
		.from = PARTY_CLIENT,
		.max = 1024,
		.once = true,
	},
	[FRAME_OPENED] = {
		.name = "opened",
		.from = PARTY_KEEPER,
		.max = 1024,
	},
	[FRAME_RESET] = {
		.name = "reset",
		.from = PARTY_CLIENT,
	},
	[FRAME_CLOSE] = {
		.name = "close",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.once = true,
	},
	[FRAME_TOOLS] = {
		.name = "tools",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 1024 * 1024,
	},
	[FRAME_CALL] = {
		.name = "call",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = 512,
	},
	[FRAME_CALL_DATA] = {
		.name = "call_data",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_REPLY] = {
		.name = "reply",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 512,
	},
	[FRAME_REPLY_DATA] = {
		.name = "reply_data",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_PROMPT] = {
		.name = "prompt",
		.from = PARTY_JAIL | PARTY_KEEPER,
	},
	[FRAME_PROGRESS] = {
		.name = "progress",
		.from = PARTY_KEEPER,
		.max = 1024,
	},
	[FRAME_INSTRUCTIONS] = {
		.name = "instructions",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 1024 * 1024,
		.once = true,
	},
	[FRAME_QUESTION] = {
		.name = "question",
		.from = PARTY_KEEPER,
		.max = 1024,
	},
	[FRAME_ANSWER] = {
		.name = "answer",
		.from = PARTY_CLIENT,
		.max = 128,
	},
	[FRAME_FORK] = {
		.name = "fork",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 1024,
	},
	[FRAME_FORKED] = {
		.name = "forked",
		.from = PARTY_JAIL,
		.max = 64,
	},
	[FRAME_COMMIT] = {
		.name = "commit",
		.from = PARTY_CLIENT,
	},
	[FRAME_FILE_TASK] = {
		.name = "file_task",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 16 * 1024,
	},
	[FRAME_FILE_BYTES] = {
		.name = "file_bytes",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_FILE_ANSWER] = {
		.name = "file_answer",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = 16 * 1024,
	},
	[FRAME_STAYS] = {
		.name = "stays",
		.from = PARTY_KEEPER,
		.once = true,
	},
	[FRAME_COMMANDS] = {
		.name = "commands",
		.from = PARTY_CLIENT | PARTY_KEEPER,
	},
	[FRAME_COMMAND] = {
		.name = "command",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 1024 * 1024,
	},
	[FRAME_COMMAND_INPUT] = {
		.name = "command_input",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_COMMAND_SIGNAL] = {
		.name = "command_signal",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 8,
	},
	[FRAME_COMMAND_SIZE] = {
		.name = "command_size",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 8,
	},
	[FRAME_COMMAND_STARTED] = {
		.name = "command_started",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = 8,
	},
	[FRAME_COMMAND_OUTPUT] = {
		.name = "command_output",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = FRAME_PIECE,
	},
	[FRAME_COMMAND_ENDED] = {
		.name = "command_ended",
		.from = PARTY_JAIL | PARTY_KEEPER,
		.max = 512,
	},
	[FRAME_NETWORK] = {
		.name = "network",
		.from = PARTY_CLIENT,
		.max = FRAME_PIECE,
	},
	[FRAME_WATCHER] = {
		.name = "watcher",
		.from = PARTY_CLIENT,
	},
	[FRAME_WATCH] = {
		.name = "watch",
		.from = PARTY_CLIENT,
		.max = 8 * 1024,
	},
	[FRAME_WATCH_EVENT] = {
		.name = "watch_event",
		.from = PARTY_KEEPER,
		.max = 16 * 1024,
	},
	[FRAME_PORTS] = {
		.name = "ports",
		.from = PARTY_CLIENT,
	},
	[FRAME_PORT] = {
		.name = "port",
		.from = PARTY_CLIENT | PARTY_KEEPER,
		.max = 512,
	},
};

void
frame_header(unsigned char out[FRAME_HEADER], enum frame_type type,
	     uint32_t len)
{
	memset(out, 0, FRAME_HEADER);
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(len >> (8 * i));
	out[4] = (unsigned char)type;
}

uint64_t
frame_next_cell(uint64_t seen)
{
	for (int i = 0; i < FRAME_TYPES; i++)
		if (frame_rules[i].cell)
			seen &= ~(UINT64_C(1) << i);
	return seen;
}

int
frame_parse(const char *bytes, size_t have, unsigned from, uint64_t *seen,
	    struct frame *out, size_t *used, struct remit_error *err)
{
	const unsigned char *h = (const unsigned char *)bytes;
	const struct frame_rule *rule;
	uint32_t len;

	*used = 0;
	if (have < FRAME_HEADER)
		return 0;
	len = h[0] | (uint32_t)h[1] << 8 | (uint32_t)h[2] << 16 |
	      (uint32_t)h[3] << 24;
	if (h[4] == FRAME_NONE || h[4] >= FRAME_TYPES || h[6] || h[7] ||
	    (h[FRAME_PROTOCOL_AT] && !(from & (PARTY_CLIENT | PARTY_KEEPER))))
		return fail(err, REMIT_E_PROTOCOL, "frame of unknown type %u",
			    h[4]);
	rule = &frame_rules[h[4]];
	if (!(rule->from & from))
		return fail(err, REMIT_E_PROTOCOL,
			    "frame \"%s\" from a sender that may not send "
			    "it",
			    rule->name);
	if (len > rule->max)
		return fail(err, REMIT_E_PROTOCOL,
			    "frame \"%s\" of %u bytes, at most %u are allowed",
			    rule->name, len, rule->max);
	if (rule->once && *seen & UINT64_C(1) << h[4])
		return fail(err, REMIT_E_PROTOCOL, "a second frame \"%s\"",
			    rule->name);
	if (have - FRAME_HEADER < len)
		return 0;
	*seen |= UINT64_C(1) << h[4];
	out->type = h[4];
	out->payload = bytes + FRAME_HEADER;
	out->len = len;
	*used = FRAME_HEADER + len;
	return 0;
}

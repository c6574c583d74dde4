/*
 * session_commands: programs that run beside the cells of a session.
 *
 * A helper in the jail starts them, on a channel of its own (wire/command.h).
 * The client sends commands over a connection of its own too, so neither waits
 * for cells. The keeper forwards frames between the two. It treats what the
 * helper sends like the output of a cell: checked, counted, capped. It keeps a
 * deadline for each command; if a command that must end does not end in time,
 * its jail is killed.
 *
 * Commands end with their jail, and when their client disconnects.
 */
#ifndef REMIT_SESSION_COMMANDS_H
#define REMIT_SESSION_COMMANDS_H

#include <stdbool.h>

#include "base/error.h"
#include "wire/command.h"
#include "wire/frame.h"

struct session;
struct commands;

/* Handles the request for a helper, between two cells. If there can be none,
   the connection for commands is closed. */
int session_open_commands(struct session *s, const struct frame *f,
			  struct remit_error *err) must_check;
/* Ends all commands, which are reported as gone. Accepts NULL. */
void commands_free(struct commands *c);
/* Whether commands are running. Accepts NULL. */
bool commands_are_running(const struct commands *c);
/* The jail has used up its processor time: stops all commands. Returns false if
   none was running that was not stopped before. */
bool commands_exceed_cpu(struct commands *c);

#endif

#include "base/deadline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint64_t ms;
	const char *late;
} deadlines[DEADLINE_COUNT] = {
	[DEADLINE_PROBE] = {
		.name = "probe",
		.ms = 20000,
		.late = "a test jail did not report what this machine can "
			"enforce",
	},
	[DEADLINE_ANSWER] = {
		.name = "answer",
		/* If matplotlib is installed, this builds its font list, which
		   takes seconds. */
		.ms = 60000,
		.late = "the interpreter did not describe itself",
	},
	[DEADLINE_START] = {
		.name = "start",
		.ms = 30000,
		.late = "the interpreter did not start",
	},
	[DEADLINE_IMPORT] = {
		.name = "import",
		.ms = 60000,
		.late = "the modules of the field preload were not imported",
	},
	[DEADLINE_FORK] = {
		.name = "fork",
		.ms = 10000,
		.late = "a zygote did not fork",
	},
	[DEADLINE_COPY] = {
		.name = "copy",
		.ms = 10000,
		.late = "the session was not copied",
	},
	[DEADLINE_FILE] = {
		.name = "file",
		.ms = 30000,
		.late = "the session did not answer a request for a file",
	},
	[DEADLINE_COMMAND] = {
		.name = "command",
		.ms = 10000,
		.late = "a command was killed and did not end",
	},
	[DEADLINE_PORT] = {
		.name = "port",
		.ms = 10000,
		.late = "the keeper did not open a connection to a port",
	},
	[DEADLINE_STOP] = {
		.name = "stop",
		.ms = 2000,
		.late = "no changes were written: the code did not stop",
	},
	[DEADLINE_COMMIT] = {
		.name = "commit",
		.ms = 120000,
		.late = "changes were not all written",
	},
	[DEADLINE_KEYRING] = {
		.name = "keyring",
		.ms = 10000,
		.late = "the kernel did not collect the keyrings of ended runs",
	},
	[DEADLINE_GROUP] = {
		.name = "group",
		.ms = 1000,
		.late = "another keeper did not release a control group",
	},
	[DEADLINE_SCOPE] = {
		.name = "scope",
		.ms = 5000,
		.late = "systemd did not grant a control group",
	},
};

#ifdef REMIT_HOLES
uint64_t
deadline_us(enum deadline d)
{
	const char *named = getenv("REMIT_DEADLINES");
	size_t len = strlen(deadlines[d].name);

	for (const char *at = named; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, deadlines[d].name, len) && at[len] == '=')
			return strtoull(at + len + 1, NULL, 10) * 1000;
	}
	return deadlines[d].ms * 1000;
}
#else
uint64_t
deadline_us(enum deadline d)
{
	return deadlines[d].ms * 1000;
}
#endif

int
deadline_busy(struct remit_error *err, const char *sentence)
{
	fail(err, REMIT_E_BUSY, "%s", sentence);
	snprintf(err->remedy, sizeof(err->remedy),
		 "The machine may be overloaded: run fewer programs at once, "
		 "or try again later.");
	return -1;
}

int
deadline_missed(struct remit_error *err, enum deadline d)
{
	char sentence[160];

	snprintf(sentence, sizeof(sentence), "%s within %g s (deadline \"%s\")",
		 deadlines[d].late, (double)deadline_us(d) / 1e6,
		 deadlines[d].name);
	return deadline_busy(err, sentence);
}

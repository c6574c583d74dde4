#include "wire/result.h"

#include <jansson.h>
#include <string.h>

/* ---- members ---- */

#define NULLS	(1u << JSON_NULL)
#define TEXT	(1u << JSON_STRING)
#define WHOLE	(1u << JSON_INTEGER)
#define YES_NO	(1u << JSON_TRUE | 1u << JSON_FALSE)
#define LIST	(1u << JSON_ARRAY)
#define OBJECT	(1u << JSON_OBJECT)
#define KEEPER	RESULT_BY_KEEPER
#define LIBRARY RESULT_BY_LIBRARY

static const char no_usage[] =
	"{\"wall_ms\":null,\"cpu_ms\":null,\"memory_peak_bytes\":null,"
	"\"processes_peak\":null,\"network\":null,\"tool_calls\":0,"
	"\"tool_wait_ms\":null}";

const struct result_row result_rows[RESULT_MEMBERS] = {
	[RESULT_ID] = { "id", RESULT_BY_CALLER, 0, NULL },
	[RESULT_LINE] = { "line", RESULT_BY_CALLER, 0, NULL },
	[RESULT_STATUS] = { "status", KEEPER, TEXT, "\"internal\"" },
	[RESULT_TIER] = { "tier", KEEPER, TEXT | NULLS, "null" },
	[RESULT_START] = { "start", KEEPER, TEXT | NULLS, "null" },
	[RESULT_EXIT_CODE] = { "exit_code", KEEPER, WHOLE | NULLS, "null" },
	[RESULT_SIGNAL] = { "signal", KEEPER, WHOLE | NULLS, "null" },
	[RESULT_STDOUT] = { "stdout", LIBRARY, TEXT, "\"\"" },
	[RESULT_STDERR] = { "stderr", LIBRARY, TEXT, "\"\"" },
	[RESULT_STDOUT_TRUNCATED] = { "stdout_truncated", KEEPER, YES_NO,
				      "false" },
	[RESULT_STDERR_TRUNCATED] = { "stderr_truncated", KEEPER, YES_NO,
				      "false" },
	[RESULT_ERROR] = { "error",
			   KEEPER,
			   OBJECT | NULLS,
			   "null",
			   { "name", "value" } },
	[RESULT_REPORTED] = { "reported", KEEPER, LIST, "[]" },
	[RESULT_USAGE] = { "usage",
			   KEEPER,
			   OBJECT,
			   no_usage,
			   { "wall_ms", "cpu_ms", "memory_peak_bytes",
			     "processes_peak", "network", "tool_calls",
			     "tool_wait_ms" } },
	[RESULT_DISPLAYS_LEFT_OUT] = { "displays_left_out", KEEPER, WHOLE,
				       "0" },
	[RESULT_VALUE] = { "value", RESULT_BY_DISPLAYS, 0, "null" },
	[RESULT_DISPLAYS] = { "displays", RESULT_BY_DISPLAYS, 0, "[]" },
	[RESULT_ENFORCEMENT] = { "enforcement", RESULT_BY_PLAN, 0, "[]" },
	[RESULT_DENIALS] = { "denials", KEEPER, LIST, "[]" },
	[RESULT_DENIALS_LEFT_OUT] = { "denials_left_out", KEEPER, WHOLE, "0" },
	[RESULT_DENIALS_SEEN] = { "denials_seen", KEEPER, YES_NO | NULLS,
				  "null" },
	[RESULT_ARTIFACTS] = { "artifacts", LIBRARY, LIST, "[]" },
	/* The keeper's list, followed by the files that the library could not
	   write. */
	[RESULT_ARTIFACTS_SKIPPED] = { "artifacts_skipped", KEEPER, LIST,
				       "[]" },
	[RESULT_CHANGES] = { "changes", KEEPER, LIST, "[]" },
	[RESULT_CHANGES_SKIPPED] = { "changes_skipped", KEEPER, LIST, "[]" },
	[RESULT_COMMITTED] = { "committed", KEEPER, YES_NO | NULLS, "null" },
	[RESULT_INSTALLED] = { "installed", KEEPER, LIST, "[]" },
	[RESULT_SESSION] = { "session",
			     KEEPER,
			     OBJECT | NULLS,
			     "null",
			     { "id", "cell", "state", "incomplete",
			       "branch_of" } },
	[RESULT_CALLS] = { "calls", LIBRARY, LIST, "[]" },
	[RESULT_CALLS_LEFT_OUT] = { "calls_left_out", LIBRARY, WHOLE, "0" },
	[RESULT_RUN_ID] = { "run_id", KEEPER, TEXT | NULLS, "null" },
	[RESULT_REMIT_VERSION] = { "remit_version", KEEPER, TEXT, "\"\"" },
	[RESULT_REMIT_EXIT_CODE] = { "remit_exit_code", KEEPER, WHOLE, "125" },
	[RESULT_STDOUT_BASE64] = { "stdout_base64", RESULT_BY_ENCODING, TEXT,
				   NULL },
	[RESULT_STDERR_BASE64] = { "stderr_base64", RESULT_BY_ENCODING, TEXT,
				   NULL },
};

/* ---- the ways to end ---- */

#define OWN_CODE    (-1)
#define SIGNAL_CODE (-2)

const struct status_info statuses[STATUS_COUNT] = {
	[STATUS_OK] = { "ok", OWN_CODE, "the program ran to its end" },
	[STATUS_ERROR] = { "error", OWN_CODE, "an exception was not caught" },
	[STATUS_EXIT] = { "exit", OWN_CODE, "the program exited" },
	[STATUS_TIMEOUT] = { "timeout", 124, "the wall clock ran out" },
	[STATUS_CPU_LIMIT] = { "cpu_limit", 124, "processor time ran out" },
	[STATUS_MEMORY_LIMIT] = { "memory_limit", 137,
				  "the kernel killed it for its memory" },
	[STATUS_OUTPUT_LIMIT] = { "output_limit", 141,
				  "it wrote more than the hard limit" },
	[STATUS_KILLED] = { "killed", SIGNAL_CODE, "a signal ended it" },
	[STATUS_INTERRUPTED] = { "interrupted", 130, "the caller stopped it" },
	[STATUS_REJECTED] = { "rejected", 126,
			      "the validator rejected the code, nothing ran" },
	[STATUS_INSTALL_FAILED] = { "install_failed", 126,
				    "a package could not be installed" },
	[STATUS_REFUSED] = { "refused", 125,
			     "the policy cannot be enforced here, nothing "
			     "ran" },
	[STATUS_BUSY] = { "busy", 125, "too many runs are waiting" },
	[STATUS_INTERNAL] = { "internal", 125, "Remit or the machine failed" },
};

int
status_find(const char *name)
{
	for (int i = 0; i < STATUS_COUNT; i++)
		if (!strcmp(statuses[i].name, name))
			return i;
	return -1;
}

int
status_exit_code(enum status s, int program_exit_code, int signal)
{
	switch (statuses[s].exit_code) {
	case OWN_CODE:
		return program_exit_code;
	case SIGNAL_CODE:
		return 128 + signal;
	default:
		return statuses[s].exit_code;
	}
}

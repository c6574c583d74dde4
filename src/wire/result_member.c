#include "wire/result_member.h"

#include <jansson.h>

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
	/* The keeper's, and behind them those the library could not write. */
	[RESULT_ARTIFACTS_SKIPPED] = { "artifacts_skipped", KEEPER, LIST,
				       "[]" },
	[RESULT_CHANGES] = { "changes", KEEPER, LIST, "[]" },
	[RESULT_CHANGES_SKIPPED] = { "changes_skipped", KEEPER, LIST, "[]" },
	[RESULT_COMMITTED] = { "committed", KEEPER, YES_NO | NULLS, "null" },
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

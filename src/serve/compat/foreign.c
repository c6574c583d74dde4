#include "serve/compat/foreign.h"

#include "serve/compat/oneshot.h"
#include "serve/e2b/e2b.h"
#include "serve/server.h"

const bool foreign_is_built = true;
const char foreign_sentence[] =
	"\"remit serve\" has the APIs of " FOREIGN_NAMES " as well.";

const struct route *const foreign_routes[FOREIGN_TABLES + 1] = {
	e2b_absent_routes, /* searched last */
	e2b_control_routes,
	e2b_code_routes,
	e2b_file_routes,
	e2b_process_routes,
	fusion_routes,
	piston_routes,
	NULL,
};

const struct route *const foreign_first_routes[] = { e2b_port_routes, NULL };

void
foreign_prepare(struct keys *k)
{
	piston_find_pythons(k);
}

int
foreign_open(struct server *s, bool debug, struct remit_error *err)
{
	return e2b_open(&s->e2b, debug, err);
}

void
foreign_tick(struct server *s)
{
	e2b_tick(s);
	e2b_pause_ended(s);
}

void
foreign_free(struct server *s)
{
	e2b_free(s->e2b);
}

/* ---- schemas of SandboxFusion and Piston ---- */

/* More than none, and less than 12 days. */
#define SECONDS                               \
	NUMBER_WITH("\"exclusiveMinimum\":0," \
		    "\"exclusiveMaximum\":1000000")
/* 0 and less mean no limit below the policy's. */
#define MEBIBYTES                               \
	"{\"type\":\"integer\"," IN_64_BITS "," \
	"\"anyOf\":[{\"maximum\":0},{\"minimum\":16}]}"
#define LIMIT_OR(least)                         \
	NUMBER_OR_WITH("\"minimum\":" least "," \
		       "\"maximum\":" INT64_MAX_TEXT)

const struct openapi_shape foreign_shapes[] = {
	{ "FusionCode",
	  .members = { { "code", TEXT, true },
		       { "language", ONE_OF("\"python\""), true },
		       { "stdin", TEXT_OR },
		       { "run_timeout", SECONDS },
		       { "compile_timeout", NUMBER_WITH(IN_64_BITS) },
		       { "memory_limit_MB", MEBIBYTES },
		       { "files", FILES_BY_PATH },
		       { "fetch_files",
			 "{\"type\":\"array\",\"maxItems\":0}" } } },
	{ "FusionStage",
	  .members = { { "status", ONE_OF("\"Finished\",\"TimeLimitExceeded\""),
			 true },
		       { "execution_time", NUMBER, true },
		       { "return_code", WHOLE_OR, true },
		       { "stdout", TEXT, true },
		       { "stderr", TEXT, true } } },
	{ "FusionResult",
	  .members = { { "status", REF("FusionStatus"), true },
		       { "message", TEXT, true },
		       { "compile_result", "{\"type\":\"null\"}", true },
		       { "run_result",
			 "{\"anyOf\":[" REF("FusionStage") ","
							   "{\"type\":\"null\"}"
							   "]}",
			 true },
		       { "executor_pod_name", TEXT_OR, true },
		       { "files", MAP_OF("\"string\""), true } } },
	{ "FusionNotebook",
	  .members = { { "cells",
			 "{\"type\":\"array\",\"items\":" TEXT
			 ",\"minItems\":1,\"maxItems\":1000}",
			 true },
		       { "cell_timeout",
			 NUMBER_WITH("\"minimum\":0,"
				     "\"exclusiveMaximum\":1000000") },
		       { "total_timeout", SECONDS },
		       { "memory_limit_MB", MEBIBYTES },
		       { "kernel", ONE_OF("\"python3\"") },
		       { "files", FILES_BY_PATH },
		       { "fetch_files", "{\"type\":\"array\",\"items\":" TEXT
					",\"maxItems\":256}" } } },
	{ "FusionCell",
	  .members = { { "stdout", TEXT, true },
		       { "stderr", TEXT, true },
		       { "status", ONE_OF("\"ok\",\"error\""), true },
		       { "display", LIST_OF(OBJECT), true },
		       { "error", LIST_OF(OBJECT), true } } },
	{ "FusionCells",
	  .members = { { "status", REF("FusionStatus"), true },
		       { "message", TEXT, true },
		       { "driver",
			 "{\"anyOf\":[" REF("FusionStage") ","
							   "{\"type\":\"null\"}"
							   "]}",
			 true },
		       { "cells", LIST_OF(REF("FusionCell")), true },
		       { "executor_pod_name", TEXT_OR, true },
		       { "files", MAP_OF("\"string\""), true } } },
	{ "PistonFile",
	  .members = { { "name", NAME_OR },
		       { "content", TEXT, true },
		       { "encoding",
			 ONE_OF("\"utf8\",\"base64\",\"hex\",null") } } },
	{ "PistonJob", .is_closed = true,
	  .members = { { "language", NAME, true },
		       { "version", NAME, true },
		       { "files",
			 "{\"type\":\"array\",\"items\":" REF(
				 "PistonFile") ",\"minItems\":1}",
			 true },
		       { "stdin", TEXT_OR },
		       { "args", FEW_OF_OR(NAME, "1000") },
		       { "run_timeout", LIMIT_OR("1") },
		       { "run_cpu_time", LIMIT_OR("1") },
		       { "run_memory_limit",
			 "{\"anyOf\":[" LIMIT_OR(
				 "16777216") ",{\"const\":-1}]}" },
		       { "compile_timeout", NUMBER_OR_WITH(IN_64_BITS) },
		       { "compile_cpu_time", NUMBER_OR_WITH(IN_64_BITS) },
		       { "compile_memory_limit",
			 NUMBER_OR_WITH(IN_64_BITS) } } },
	{ "PistonStage",
	  .members = { { "stdout", TEXT, true },
		       { "stderr", TEXT, true },
		       { "output", TEXT, true },
		       { "code", WHOLE_OR, true },
		       { "signal", TEXT_OR, true },
		       { "message", TEXT_OR, true },
		       { "status", ONE_OF("\"RE\",\"SG\",\"TO\",\"OL\",null"),
			 true },
		       { "cpu_time", NUMBER_OR, true },
		       { "wall_time", NUMBER_OR, true },
		       { "memory", WHOLE_OR, true } } },
	{ "PistonResult",
	  .members = { { "language", ONE_OF("\"python\""), true },
		       { "version", TEXT, true },
		       { "run", REF("PistonStage"), true } } },
	{ "PistonRuntime", .members = { { "language", TEXT, true },
					{ "version", TEXT, true },
					{ "aliases", LIST_OF(TEXT), true } } },
	{ "PistonError", .members = { { "message", TEXT, true } } },
	{ 0 },
};

const struct openapi_other foreign_others[] = {
	{ "FusionStatus", ONE_OF("\"Success\",\"Failed\",\"SandboxError\"") },
	{ "PistonRuntimes", LIST_OF(REF("PistonRuntime")) },
	{ 0 },
};

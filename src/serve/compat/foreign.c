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

const struct openapi_shape foreign_shapes[] = {
	{ "FusionCode",
	  .members = { { "code", TEXT, true },
		       { "language", ONE_OF("\"python\""), true },
		       { "stdin", TEXT_OR },
		       { "run_timeout", NUMBER },
		       { "compile_timeout", NUMBER },
		       { "memory_limit_MB", WHOLE },
		       { "files", MAP_OF("[\"string\",\"null\"]") },
		       { "fetch_files", LIST_OF(TEXT) } } },
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
		       { "cell_timeout", NUMBER },
		       { "total_timeout", NUMBER },
		       { "memory_limit_MB", WHOLE },
		       { "kernel", ONE_OF("\"python3\"") },
		       { "files", MAP_OF("[\"string\",\"null\"]") },
		       { "fetch_files", LIST_OF(TEXT) } } },
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
	  .members = { { "name", TEXT_OR },
		       { "content", TEXT, true },
		       { "encoding",
			 ONE_OF("\"utf8\",\"base64\",\"hex\",null") } } },
	{ "PistonJob", .is_closed = true,
	  .members = { { "language", TEXT, true },
		       { "version", TEXT, true },
		       { "files", LIST_OF(REF("PistonFile")), true },
		       { "stdin", TEXT_OR },
		       { "args", LIST_OF_OR(TEXT) },
		       { "run_timeout", NUMBER_OR },
		       { "run_cpu_time", NUMBER_OR },
		       { "run_memory_limit", NUMBER_OR },
		       { "compile_timeout", NUMBER_OR },
		       { "compile_cpu_time", NUMBER_OR },
		       { "compile_memory_limit", NUMBER_OR } } },
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

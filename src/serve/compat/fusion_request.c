#include "serve/compat/fusion_request.h"

#include <math.h>
#include <string.h>

/* Longer times are not valid. */
#define SECONDS_MAX 1e6
#define CELLS_MAX   1000

/* ---- members of both requests ---- */

/* Parses seconds, at least one millisecond if not zero. Leaves the default in
 *ms if the member is missing. */
static int
parse_seconds(const json_t *body, const char *name, bool may_be_zero,
	      uint64_t *ms, struct remit_error *err)
{
	const json_t *value = json_object_get(body, name);
	double seconds = json_number_value(value);

	if (!value)
		return 0;
	if (!json_is_number(value) || seconds < 0 || seconds >= SECONDS_MAX ||
	    (!may_be_zero && !(seconds > 0)))
		return fail(err, REMIT_E_INPUT,
			    "%s: must be a number of seconds", name);
	*ms = (uint64_t)(seconds * 1000);
	if (!*ms && seconds > 0)
		*ms = 1;
	return 0;
}

/* Converts {"path": "base64"} to a list. */
static int
parse_files(json_t *doc, const json_t *body, struct remit_error *err)
{
	json_t *given = json_object_get(body, "files"), *list = json_array();
	json_t *content;
	const char *path;

	json_object_set_new(doc, "files", list);
	if (given && !json_is_object(given))
		return fail(err, REMIT_E_INPUT,
			    "files: must be an object of base64 strings");
	json_object_foreach(given, path, content)
	{
		if (!json_is_null(content))
			json_array_append_new(
				list, json_pack("{s:s, s:O}", "path", path,
						"base64", content));
	}
	return 0;
}

/* A limit below the policy's is applied; a larger one has no effect. */
static int
parse_memory(json_t *doc, const json_t *body, const struct key *key,
	     struct remit_error *err)
{
	const json_t *value = json_object_get(body, "memory_limit_MB");
	double number = json_number_value(value);
	json_int_t mib = json_integer_value(value);

	/* Clients may write 256.0, which is an integer in JSON. */
	if (json_is_real(value) && number == trunc(number) &&
	    fabs(number) < (double)INT64_MAX)
		mib = (json_int_t)number;
	else if (value && !json_is_integer(value))
		return fail(err, REMIT_E_INPUT,
			    "memory_limit_MB: must be an integer");
	/* A number beyond the range of JSON exceeds the memory of any
	   machine. */
	if (mib > 0 && mib <= INT64_MAX >> 20 &&
	    (uint64_t)mib < key->policy.memory_bytes >> 20)
		json_object_set_new(
			doc, "policy",
			json_pack("{s:I}", "memory_bytes", mib << 20));
	return 0;
}

static int
check_texts(const json_t *list, const char *name, size_t most,
	    struct remit_error *err)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(list))
		return fail(err, REMIT_E_INPUT, "%s: must be a list", name);
	if (json_array_size(list) > most)
		return fail(err, REMIT_E_INPUT,
			    "%s: must have at most %zu elements", name, most);
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return fail(err, REMIT_E_INPUT,
				    "%s[%zu]: must be a string", name, i);
	}
	return 0;
}

/* ---- a program ---- */

static int
check_code(const json_t *body, struct remit_error *err)
{
	const char *language =
		json_string_value(json_object_get(body, "language"));
	const json_t *wanted = json_object_get(body, "fetch_files");
	const json_t *compile = json_object_get(body, "compile_timeout");

	if (!json_is_string(json_object_get(body, "code")))
		return fail(err, REMIT_E_INPUT, "code: must be a string");
	if (!language || strcmp(language, "python") != 0)
		return fail(err, REMIT_E_INPUT,
			    "language: only python is supported here");
	/* Nothing is compiled, so any limit on compiling holds. */
	if (compile && !json_is_number(compile))
		return fail(err, REMIT_E_INPUT,
			    "compile_timeout: must be a number of seconds");
	if (wanted && !json_is_array(wanted))
		return fail(err, REMIT_E_INPUT, "fetch_files: must be a list");
	if (json_array_size(wanted))
		return fail(err, REMIT_E_INPUT,
			    "fetch_files: files can be fetched only with "
			    "/run_jupyter and /v1/runs here");
	return 0;
}

json_t *
fusion_read_code(const json_t *body, const struct key *key,
		 uint64_t *timeout_ms, struct remit_error *err)
{
	json_t *input = json_object_get(body, "stdin");
	json_t *doc;

	*timeout_ms = 10000;
	if (check_code(body, err) < 0 ||
	    parse_seconds(body, "run_timeout", false, timeout_ms, err) < 0)
		return NULL;
	doc = json_pack("{s:O}", "code", json_object_get(body, "code"));
	if (input)
		json_object_set(doc, "stdin", input);
	if (parse_files(doc, body, err) == 0 &&
	    parse_memory(doc, body, key, err) == 0)
		return doc;
	json_decref(doc);
	return NULL;
}

/* ---- a notebook ---- */

/* The notebook has a path, so that it finds modules among its files. */
json_t *
fusion_cell(json_t *code, const struct key *key)
{
	return json_pack("{s:O, s:o}", "code", code, "name",
			 json_sprintf("%s/notebook.py", key->policy.workspace));
}

static int
check_notebook(const json_t *body, struct remit_error *err)
{
	const json_t *cells = json_object_get(body, "cells");
	const json_t *wanted = json_object_get(body, "fetch_files");
	const json_t *kernel = json_object_get(body, "kernel");
	const char *name = json_string_value(kernel);

	if (kernel && (!name || strcmp(name, "python3") != 0))
		return fail(err, REMIT_E_INPUT,
			    "kernel: only python3 is supported here");
	if (wanted &&
	    check_texts(wanted, "fetch_files", FUSION_FETCH_MAX, err) < 0)
		return -1;
	if (check_texts(cells, "cells", CELLS_MAX, err) < 0)
		return -1;
	return json_array_size(cells)
		       ? 0
		       : fail(err, REMIT_E_INPUT, "cells: must not be empty");
}

int
fusion_read_notebook(struct fusion_notebook *out, const json_t *body,
		     const struct key *key, struct remit_error *err)
{
	struct fusion_notebook n = { .total_ms = 45000 };

	if (check_notebook(body, err) < 0 ||
	    parse_seconds(body, "total_timeout", false, &n.total_ms, err) < 0 ||
	    parse_seconds(body, "cell_timeout", true, &n.cell_ms, err) < 0)
		return -1;
	n.session = json_object();
	n.first = fusion_cell(json_array_get(json_object_get(body, "cells"), 0),
			      key);
	if (!n.session || !n.first)
		fail_memory(err, "notebook");
	else if (parse_memory(n.session, body, key, err) == 0 &&
		 parse_files(n.first, body, err) == 0) {
		*out = n;
		return 0;
	}
	fusion_notebook_free(&n);
	return -1;
}

void
fusion_notebook_free(struct fusion_notebook *n)
{
	json_decref(n->session);
	json_decref(n->first);
}

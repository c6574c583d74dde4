#include "cli/batch/job.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file/path.h"
#include "policy/json_value.h"
#include "policy/nearest.h"

/* The context of a key's parser. */
struct job_parsing {
	struct batch_job *job;
	const struct policy *base;
};

static int
parse_id(const struct job_parsing *t, const json_t *value,
	 struct remit_error *err)
{
	const char *text = "";
	char *id;

	if (!json_is_integer(value) && !json_is_string(value))
		return fail(err, REMIT_E_INPUT,
			    "id: must be a string or an integer");
	if (json_is_string(value) &&
	    json_value_string(value, &text, "id", err) < 0)
		return -1;
	if (strlen(text) > BATCH_JOB_ID_MAX)
		return fail(err, REMIT_E_INPUT, "id: at most %d bytes",
			    BATCH_JOB_ID_MAX);
	id = json_dumps(value, JSON_ENCODE_ANY);
	if (!id)
		return fail_memory(err, "job");
	free(t->job->id);
	t->job->id = id;
	return 0;
}

static int
parse_code(const struct job_parsing *t, const json_t *value,
	   struct remit_error *err)
{
	if (!json_is_string(value))
		return json_value_wrong_type(value, "a string", "code", err);
	t->job->run.code = json_string_value(value);
	t->job->run.code_len = json_string_length(value);
	return 0;
}

static int
parse_name(const struct job_parsing *t, const json_t *value,
	   struct remit_error *err)
{
	return json_value_string(value, &t->job->run.name, "name", err);
}

static int
parse_argv(const struct job_parsing *t, const json_t *value,
	   struct remit_error *err)
{
	char place[32];
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return json_value_wrong_type(value, "a list", "argv", err);
	t->job->argv =
		calloc(json_array_size(value) + 1, sizeof(*t->job->argv));
	if (!t->job->argv)
		return fail_memory(err, "job");
	json_array_foreach(value, i, item)
	{
		snprintf(place, sizeof(place), "argv[%zu]", i);
		if (json_value_string(item, &t->job->argv[i], place, err) < 0)
			return -1;
	}
	t->job->run.argv = t->job->argv;
	return 0;
}

static int
parse_stdin(const struct job_parsing *t, const json_t *value,
	    struct remit_error *err)
{
	if (!json_is_string(value))
		return json_value_wrong_type(value, "a string", "stdin", err);
	t->job->run.stdin_bytes = json_string_value(value);
	t->job->run.stdin_len = json_string_length(value);
	return 0;
}

/* {"local": "a.csv"} or {"local": "a.csv", "path": "in/a.csv"} */
static int
parse_file(const json_t *value, struct remit_file *out, const char *place,
	   struct remit_error *err)
{
	const json_t *local = json_object_get(value, "local");
	const json_t *path = json_object_get(value, "path");
	char inner[48];

	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", place, err);
	if (!local || json_object_size(value) != 1 + (path != NULL))
		return fail(err, REMIT_E_INPUT,
			    "%s: must have \"local\" and may have \"path\", "
			    "nothing else",
			    place);
	snprintf(inner, sizeof(inner), "%s.local", place);
	if (json_value_string(local, &out->host_path, inner, err) < 0)
		return -1;
	out->path = path_name(out->host_path);
	snprintf(inner, sizeof(inner), "%s.path", place);
	return path ? json_value_string(path, &out->path, inner, err) : 0;
}

static int
parse_files(const struct job_parsing *t, const json_t *value,
	    struct remit_error *err)
{
	char place[32];
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return json_value_wrong_type(value, "a list", "files", err);
	t->job->files =
		calloc(json_array_size(value) + 1, sizeof(*t->job->files));
	if (!t->job->files)
		return fail_memory(err, "job");
	json_array_foreach(value, i, item)
	{
		snprintf(place, sizeof(place), "files[%zu]", i);
		if (parse_file(item, &t->job->files[i], place, err) < 0)
			return -1;
	}
	t->job->run.files = t->job->files;
	t->job->run.file_count = i;
	return 0;
}

static int
parse_policy(const struct job_parsing *t, const json_t *value,
	     struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	own_mem char *text = NULL;

	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", "policy", err);
	text = json_dumps(value, 0);
	if (!text || policy_copy(&policy, t->base) < 0)
		return fail_memory(err, "job");
	if (policy_parse(&policy, text, strlen(text), "policy", err) < 0 ||
	    batch_job_policy(&t->job->policy, &policy, err) < 0)
		return -1;
	t->job->run.policy_json = t->job->policy;
	t->job->exports = policy.artifact_export_paths.count > 0;
	return 0;
}

static const struct key {
	const char *name;
	int (*parse)(const struct job_parsing *t, const json_t *value,
		     struct remit_error *err);
	bool needed;
} keys[] = {
	/* The id comes first, since errors of the other keys name it. */
	{ .name = "id", .parse = parse_id },
	{ .name = "code", .parse = parse_code, .needed = true },
	{ .name = "name", .parse = parse_name },
	{ .name = "argv", .parse = parse_argv },
	{ .name = "stdin", .parse = parse_stdin },
	{ .name = "files", .parse = parse_files },
	{ .name = "policy", .parse = parse_policy },
};

static int
parse_key(const struct job_parsing *t, const struct key *k,
	  struct remit_error *err)
{
	const json_t *value = json_object_get(t->job->doc, k->name);

	if (!value && k->needed)
		return fail(err, REMIT_E_INPUT, "the %s is missing", k->name);
	return value ? k->parse(t, value, err) : 0;
}

static int
check_known(const char *name, struct remit_error *err)
{
	struct nearest n = NEAREST_INIT(name);
	char shown[QUOTE_SIZE];
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!strcmp(keys[i].name, name))
			return 0;
		nearest_try(&n, keys[i].name, keys[i].name);
	}
	near = nearest_answer(&n);
	return fail(err, REMIT_E_INPUT, "unknown key %s%s%s%s",
		    quote(shown, name), near ? " (did you mean \"" : "",
		    near ? near : "", near ? "\"?)" : "");
}

static int
parse_keys(struct batch_job *j, const struct policy *base,
	   struct remit_error *err)
{
	struct job_parsing t = { .job = j, .base = base };
	const char *name;
	json_t *value;

	if (!json_is_object(j->doc))
		return fail(err, REMIT_E_INPUT, "a job must be a JSON object");
	j->exports = base->artifact_export_paths.count > 0;
	if (parse_key(&t, &keys[0], err) < 0)
		return -1;
	json_object_foreach(j->doc, name, value)
	{
		if (check_known(name, err) < 0)
			return -1;
	}
	for (size_t i = 1; i < ARRAY_LEN(keys); i++)
		if (parse_key(&t, &keys[i], err) < 0)
			return -1;
	return 0;
}

static int
load_document(struct batch_job *j, const char *text, size_t len,
	      struct remit_error *err)
{
	char shown[JSON_ERROR_TEXT_LENGTH];
	json_error_t why;

	j->doc = json_loadb(text, len,
			    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
				    JSON_DECODE_ANY,
			    &why);
	if (j->doc)
		return 0;
	if (json_error_code(&why) == json_error_out_of_memory)
		return fail_memory(err, "job");
	return fail(err, REMIT_E_INPUT, "column %d: %s", why.column,
		    quote_bare(shown, sizeof(shown), why.text));
}

int
batch_job_init(struct batch_job *j, uint64_t line, struct remit_error *err)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)line);
	*j = (struct batch_job){ .line = line, .run = REMIT_JOB_INIT };
	j->id = strdup(number);
	return j->id ? 0 : fail_memory(err, "job");
}

int
batch_job_parse(struct batch_job *j, const char *text, size_t len,
		uint64_t line, const struct policy *base,
		struct remit_error *err)
{
	if (batch_job_init(j, line, err) < 0)
		return -1;
	if (load_document(j, text, len, err) == 0 &&
	    parse_keys(j, base, err) == 0)
		return 0;
	if (err->code != REMIT_E_INPUT) {
		batch_job_free(j);
		return -1;
	}
	batch_job_refuse(j, err);
	return 0;
}

void
batch_job_refuse(struct batch_job *j, const struct remit_error *why)
{
	j->is_bad = true;
	j->why = *why;
	fail_within(&j->why, "line %llu", (unsigned long long)j->line);
}

void
batch_job_free(struct batch_job *j)
{
	free(j->id);
	free(j->argv);
	free(j->files);
	free(j->policy);
	json_decref(j->doc);
	*j = (struct batch_job){ 0 };
}

int
batch_job_policy(char **out, const struct policy *p, struct remit_error *err)
{
	json_auto_t *doc = policy_to_json(p);

	*out = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		   : NULL;
	return *out ? 0 : fail_memory(err, "job");
}

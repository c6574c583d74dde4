#include "serve/native/request.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "policy/json_value.h"
#include "policy/nearest.h"
#include "policy/rules/credential.h"
#include "policy/rules/host_rule.h"
#include "policy/within.h"

#define FILES_MAX 10000
#define ARGV_MAX  1000
#define TOOLS_MAX 256
/* The maximum lifetime of a session. */
#define LIFE_MAX_S (24 * 3600)

/* ---- the policy ---- */

/* Whether a credential of the key's policy would be added to requests to this
   entry. */
static bool
has_key_credential(const struct policy *policy, const struct key *key,
		   const char *entry)
{
	struct remit_error unreadable; /* the plan refuses it */
	struct credential c;
	struct host_rule r;

	if (host_rule_read(entry, &r, &unreadable) < 0)
		return false;
	for (size_t i = 0; i < policy->credentials.count; i++) {
		const char *text = policy->credentials.items[i];

		if (list_has(&key->most.credentials, text) &&
		    credential_read(text, &c, &unreadable) == 0 &&
		    credential_is_for(&c, &r))
			return true;
	}
	return false;
}

/* A key's credentials may go only to the hosts that its policy lists, in the
   same words: a client must not reach these hosts by another spelling of the
   entry. */
static int
bound_credentials(const struct policy *policy, const struct key *key,
		  struct remit_error *err)
{
	for (size_t i = 0; i < policy->network_allow.count; i++) {
		const char *entry = policy->network_allow.items[i];

		if (!list_has(&key->most.network_allow, entry) &&
		    has_key_credential(policy, key, entry))
			return fail_refused(
				err, "network_allow",
				"Write the entry exactly as in the key's "
				"policy, or leave out the credential.",
				"a credential of the server would be added to "
				"requests to \"%.300s\"",
				entry);
	}
	return 0;
}

/* A client may list public hosts only, unless the key's policy lists others or
   has the host's whole network. */
static int
bound_hosts(struct policy *policy, const struct key *key,
	    struct remit_error *err)
{
	if (bound_credentials(policy, key, err) < 0)
		return -1;
	if (key->most.network_access == NETWORK_HOST)
		return 0;
	return host_rules_keep_public(&policy->network_allow,
				      &key->most.network_allow, err);
}

int
request_policy(const json_t *doc, const struct key *key, struct policy *policy,
	       char **text, struct remit_error *err)
{
	own_mem char *given = NULL;

	if (policy_copy(policy, &key->policy) < 0)
		return fail_memory(err, "request");
	if (!doc) {
		*text = strdup(key->policy_text);
		return *text ? 0 : fail_memory(err, "request");
	}
	given = json_dumps(doc, JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
	if (!given)
		return fail_memory(err, "request");
	if (policy_parse(policy, given, strlen(given), "policy", err) < 0 ||
	    policy_within(policy, &key->most, &key->free, err) < 0 ||
	    bound_hosts(policy, key, err) < 0)
		return -1;
	*text = keys_policy_text(policy);
	return *text ? 0 : fail_memory(err, "request");
}

static int
parse_policy(struct request *r, const json_t *doc, const struct key *key,
	     struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };

	if (request_policy(doc, key, &policy, &r->policy_text, err) < 0)
		return -1;
	if (r->has_commands && !policy.subprocess_execution)
		return fail_refused(err, "subprocess_execution",
				    "Set subprocess_execution, or leave out "
				    "commands.",
				    "commands are programs, and the policy "
				    "does not allow to start any");
	r->exports = policy.artifact_export_paths.count > 0;
	r->memory_bytes = policy.memory_bytes;
	r->result_bytes = policy_result_bytes(&policy);
	return 0;
}

/* ---- members ---- */

static int
parse_text(const json_t *value, const char *place, const char **text,
	   size_t *len, struct remit_error *err)
{
	if (!json_is_string(value))
		return json_value_wrong_type(value, "a string", place, err);
	*text = json_string_value(value);
	*len = json_string_length(value);
	return 0;
}

static int
parse_code(struct request *r, const json_t *value, struct remit_error *err)
{
	return parse_text(value, "code", &r->job.code, &r->job.code_len, err);
}

static int
parse_stdin(struct request *r, const json_t *value, struct remit_error *err)
{
	return parse_text(value, "stdin", &r->job.stdin_bytes,
			  &r->job.stdin_len, err);
}

static int
parse_name(struct request *r, const json_t *value, struct remit_error *err)
{
	return json_value_string(value, &r->job.name, "name", err);
}

static int
parse_context(struct request *r, const json_t *value, struct remit_error *err)
{
	return json_value_string(value, &r->job.context, "context", err);
}

static int
list_size(const json_t *value, const char *place, size_t most, size_t *size,
	  struct remit_error *err)
{
	if (!json_is_array(value))
		return json_value_wrong_type(value, "a list", place, err);
	*size = json_array_size(value);
	if (*size > most)
		return fail(err, REMIT_E_INPUT,
			    "%s: must have at most %zu elements", place, most);
	return 0;
}

static int
parse_argv(struct request *r, const json_t *value, struct remit_error *err)
{
	char place[32];
	json_t *item;
	size_t i, size = 0;

	if (list_size(value, "argv", ARGV_MAX, &size, err) < 0)
		return -1;
	r->argv = calloc(size + 1, sizeof(*r->argv));
	if (!r->argv)
		return fail_memory(err, "request");
	json_array_foreach(value, i, item)
	{
		snprintf(place, sizeof(place), "argv[%zu]", i);
		if (json_value_string(item, &r->argv[i], place, err) < 0)
			return -1;
	}
	r->job.argv = r->argv;
	return 0;
}

static int
parse_file(struct request *r, size_t i, const json_t *value,
	   struct remit_error *err)
{
	const json_t *text = json_object_get(value, "text");
	const json_t *coded = json_object_get(value, "base64");
	const json_t *path = json_object_get(value, "path");
	struct remit_file *f = &r->files[i];
	char place[48];

	snprintf(place, sizeof(place), "files[%zu]", i);
	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", place, err);
	if (!path || !text == !coded || json_object_size(value) != 2)
		return fail(err, REMIT_E_INPUT,
			    "%s: must have path, and either text or base64",
			    place);
	snprintf(place, sizeof(place), "files[%zu].path", i);
	if (json_value_string(path, &f->path, place, err) < 0)
		return -1;
	if (text) {
		snprintf(place, sizeof(place), "files[%zu].text", i);
		return parse_text(text, place, &f->bytes, &f->len, err);
	}
	snprintf(place, sizeof(place), "files[%zu].base64", i);
	if (!json_is_string(coded) ||
	    base64_decode(json_string_value(coded), json_string_length(coded),
			  &r->bytes[i], &f->len) < 0)
		return fail(err, REMIT_E_INPUT, "%s: is not base64", place);
	f->bytes = r->bytes[i];
	return 0;
}

static int
parse_files(struct request *r, const json_t *value, struct remit_error *err)
{
	json_t *item;
	size_t i, size = 0;

	if (list_size(value, "files", FILES_MAX, &size, err) < 0)
		return -1;
	r->files = calloc(size + 1, sizeof(*r->files));
	r->bytes = calloc(size + 1, sizeof(*r->bytes));
	if (!r->files || !r->bytes)
		return fail_memory(err, "request");
	r->job.file_count = size;
	json_array_foreach(value, i, item)
	{
		if (parse_file(r, i, item, err) < 0)
			return -1;
	}
	r->job.files = r->files;
	return 0;
}

static int
parse_approval(struct remit_tool *t, const json_t *value, const char *place,
	       struct remit_error *err)
{
	static const char *const words[] = {
		[REMIT_APPROVAL_NEVER] = "never",
		[REMIT_APPROVAL_ALWAYS] = "always",
		[REMIT_APPROVAL_FIRST] = "first",
	};
	const char *word = json_string_value(value);

	for (size_t i = 0; word && i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i], word)) {
			t->approval = (enum remit_approval)i;
			return 0;
		}
	return fail(err, REMIT_E_INPUT,
		    "%s: must be \"never\", \"always\" or \"first\"", place);
}

static int
parse_tool(struct remit_tool *t, const json_t *value, size_t i,
	   struct remit_error *err)
{
	static const char *const known[] = { "name", "description", "schema",
					     "approval", NULL };
	const json_t *member;
	char place[48];

	snprintf(place, sizeof(place), "tools[%zu]", i);
	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", place, err);
	if (json_value_members(value, known,
			       "a tool has name, description, schema and "
			       "approval",
			       place, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "tools[%zu].name", i);
	member = json_object_get(value, "name");
	if (!member)
		return fail(err, REMIT_E_INPUT, "%s: is missing", place);
	if (json_value_string(member, &t->name, place, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "tools[%zu].description", i);
	member = json_object_get(value, "description");
	if (member && !json_is_null(member) &&
	    json_value_string(member, &t->description, place, err) < 0)
		return -1;
	member = json_object_get(value, "schema");
	if (member && !json_is_null(member)) {
		/* Owned by the request: request_free(). */
		t->schema_json = json_dumps(member, JSON_ENCODE_ANY);
		if (!t->schema_json)
			return fail_memory(err, "request");
	}
	snprintf(place, sizeof(place), "tools[%zu].approval", i);
	member = json_object_get(value, "approval");
	return member && !json_is_null(member)
		       ? parse_approval(t, member, place, err)
		       : 0;
}

static int
parse_tools(struct request *r, const json_t *value, struct remit_error *err)
{
	json_t *item;
	size_t i, size = 0;

	if (list_size(value, "tools", TOOLS_MAX, &size, err) < 0)
		return -1;
	r->tools = calloc(size + 1, sizeof(*r->tools));
	if (!r->tools)
		return fail_memory(err, "request");
	r->tool_count = size;
	json_array_foreach(value, i, item)
	{
		if (parse_tool(&r->tools[i], item, i, err) < 0)
			return -1;
	}
	return 0;
}

static int
parse_flag(const json_t *value, const char *place, bool *out,
	   struct remit_error *err)
{
	if (!json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", place,
					     err);
	*out = json_is_true(value);
	return 0;
}

static int
parse_ask(struct request *r, const json_t *value, struct remit_error *err)
{
	return parse_flag(value, "ask", &r->wants_questions, err);
}

static int
parse_forkable(struct request *r, const json_t *value, struct remit_error *err)
{
	return parse_flag(value, "forkable", &r->forkable, err);
}

static int
parse_commands(struct request *r, const json_t *value, struct remit_error *err)
{
	return parse_flag(value, "commands", &r->has_commands, err);
}

static int
parse_interactive(struct request *r, const json_t *value,
		  struct remit_error *err)
{
	bool is = false;

	if (parse_flag(value, "interactive", &is, err) < 0)
		return -1;
	r->job.interactive = is;
	return 0;
}

static int
parse_timeout(struct request *r, const json_t *value, struct remit_error *err)
{
	double seconds = json_number_value(value);

	if (!json_is_number(value) || seconds < 1 || seconds > LIFE_MAX_S)
		return fail(err, REMIT_E_INPUT,
			    "timeout: must be a number of seconds from 1 to %d",
			    LIFE_MAX_S);
	r->life_ms = (uint64_t)(seconds * 1000);
	return 0;
}

int
request_stream_read(enum request_stream *out, const json_t *value,
		    struct remit_error *err)
{
	const char *word = json_string_value(value);

	if (word && !strcmp(word, "ndjson"))
		*out = STREAM_NDJSON;
	else if (word && !strcmp(word, "sse"))
		*out = STREAM_SSE;
	else
		return fail(err, REMIT_E_INPUT,
			    "stream: must be \"ndjson\" or \"sse\"");
	return 0;
}

static int
parse_stream(struct request *r, const json_t *value, struct remit_error *err)
{
	return request_stream_read(&r->stream, value, err);
}

#define RUN	(1u << REQUEST_RUN)
#define CELL	(1u << REQUEST_CELL)
#define SESSION (1u << REQUEST_SESSION)

static const struct {
	const char *name;
	unsigned kinds;
	/* NULL for the policy, whose parser needs the key. */
	int (*parse)(struct request *r, const json_t *value,
		     struct remit_error *err);
} members[] = {
	{ "code", RUN | CELL, parse_code },
	{ "policy", RUN | SESSION, NULL },
	{ "name", RUN | CELL, parse_name },
	{ "stdin", RUN | CELL, parse_stdin },
	{ "argv", RUN | CELL, parse_argv },
	{ "files", RUN | CELL, parse_files },
	{ "tools", RUN | SESSION, parse_tools },
	{ "ask", RUN | CELL, parse_ask },
	{ "stream", RUN | CELL, parse_stream },
	{ "context", CELL, parse_context },
	{ "interactive", CELL, parse_interactive },
	{ "forkable", SESSION, parse_forkable },
	{ "commands", SESSION, parse_commands },
	{ "timeout", SESSION, parse_timeout },
};

static int
fail_unknown_member(const char *name, enum request_kind kind,
		    struct remit_error *err)
{
	struct nearest n = NEAREST_INIT(name);
	const char *near;
	char quoted[QUOTE_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (members[i].kinds & 1u << kind)
			nearest_try(&n, members[i].name, members[i].name);
	near = nearest_answer(&n);
	quote(quoted, name);
	return fail(err, REMIT_E_INPUT, "%s: is not known here%s%s%s", quoted,
		    near ? " (did you mean \"" : "", near ? near : "",
		    near ? "\"?)" : "");
}

static int
parse_member(struct request *r, enum request_kind kind, const char *name,
	     const json_t *value, struct remit_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (strcmp(members[i].name, name) ||
		    !(members[i].kinds & 1u << kind))
			continue;
		return members[i].parse && !json_is_null(value)
			       ? members[i].parse(r, value, err)
			       : 0;
	}
	return fail_unknown_member(name, kind, err);
}

static int
read_members(struct request *r, enum request_kind kind, const struct key *key,
	     struct remit_error *err)
{
	json_t *policy = json_object_get(r->doc, "policy");
	const char *name;
	json_t *value;

	json_object_foreach(r->doc, name, value)
	{
		if (parse_member(r, kind, name, value, err) < 0)
			return -1;
	}
	if (kind != REQUEST_SESSION && !r->job.code)
		return fail(err, REMIT_E_INPUT, "code: is missing");
	if (kind == REQUEST_CELL)
		return 0;
	return parse_policy(r, json_is_null(policy) ? NULL : policy, key, err);
}

int
request_read(struct request **out, enum request_kind kind, json_t *doc,
	     const struct key *key, struct remit_error *err)
{
	struct request *r;

	if (!json_is_object(doc))
		return fail(err, REMIT_E_INPUT,
			    "the body is not a JSON object");
	r = calloc(1, sizeof(*r));
	if (!r)
		return fail_memory(err, "request");
	r->job = (struct remit_job)REMIT_JOB_INIT;
	r->doc = json_incref(doc);
	if (read_members(r, kind, key, err) < 0) {
		request_free(r);
		return -1;
	}
	*out = r;
	return 0;
}

void
request_free(void *request)
{
	struct request *r = request;

	if (!r)
		return;
	for (size_t i = 0; r->bytes && i < r->job.file_count; i++)
		free(r->bytes[i]);
	for (size_t i = 0; i < r->tool_count; i++)
		free((char *)r->tools[i].schema_json);
	free(r->argv);
	free(r->files);
	free(r->bytes);
	free(r->tools);
	free(r->policy_text);
	json_decref(r->doc);
	free(r);
}

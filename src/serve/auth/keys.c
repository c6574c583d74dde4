#include "serve/auth/keys.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/file/path.h"
#include "base/loop.h"
#include "policy/fields/field.h"
#include "policy/json_value.h"
#include "policy/quantity.h"
#include "policy/within.h"
#include "serve/limits.h"

#define FILE_MAX  (1024 * 1024)
#define MINUTE_US 60e6

static const struct key key_default = {
	.concurrency = LIMIT_KEY_CONCURRENCY,
	.per_minute = LIMIT_KEY_PER_MINUTE,
	.memory_bytes = POLICY_UNLIMITED,
};

static void
key_free(struct key *key)
{
	free(key->name);
	free(key->policy_text);
	policy_free(&key->policy);
	policy_free(&key->most);
}

void
keys_free(struct keys *k)
{
	for (size_t i = 0; i < k->count; i++)
		key_free(&k->all[i]);
	free(k->all);
	*k = (struct keys){ 0 };
}

static int
make_key_text(char text[KEY_TEXT], struct remit_error *err)
{
	unsigned char bytes[(KEY_TEXT - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_sys(err, REMIT_E_KERNEL, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

char *
keys_policy_text(const struct policy *p)
{
	json_auto_t *doc = policy_to_json(p);

	return doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		   : NULL;
}

/* ---- one key of a file ---- */

static int
parse_number(const json_t *row, const char *name, uint64_t *out,
	     struct remit_error *err)
{
	const json_t *value = json_object_get(row, name);

	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 1)
		return fail(err, REMIT_E_INPUT,
			    "%s: must be an integer of at least 1", name);
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

/* Parses "4G" or a number of bytes. */
static int
parse_bytes(const json_t *row, const char *name, uint64_t *out,
	    struct remit_error *err)
{
	const json_t *value = json_object_get(row, name);

	if (!json_is_string(value))
		return parse_number(row, name, out, err);
	return quantity_bytes(json_string_value(value), out, err) < 0
		       ? fail_within(err, "%s", name)
		       : 0;
}

static int
parse_free(struct key *key, const json_t *list, struct remit_error *err)
{
	const json_t *item;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return json_value_wrong_type(list, "a list", "free", err);
	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(item);
		const struct field *f = name ? field_find(name) : NULL;

		if (!f)
			return fail(err, REMIT_E_INPUT,
				    "free[%zu]: is not a policy field", i);
		field_set_add(&key->free, f);
	}
	return 0;
}

/* Limits what results take of the server's memory and artifacts of its disk,
   unless the policy from the server's options already has more. */
static void
set_ceilings(struct key *key)
{
	for (const struct serve_limit *row = serve_limits_table; row->name;
	     row++) {
		const struct field *f =
			row->field ? field_find(row->field) : NULL;
		uint64_t *most;

		if (!f)
			continue;
		most = (uint64_t *)(void *)((char *)&key->most + f->offset);
		field_set_remove(&key->free, f);
		if (*most < row->value)
			*most = row->value;
	}
}

static int
parse_operator(struct key *key, const json_t *value, struct remit_error *err)
{
	if (value && !json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", "operator",
					     err);
	key->is_operator = json_is_true(value);
	return 0;
}

static int
parse_policy(struct key *key, const json_t *doc, const struct policy *base,
	     struct remit_error *err)
{
	own_mem char *text = NULL;

	if (policy_copy(&key->policy, base) < 0)
		return fail_memory(err, "keys");
	if (!doc) {
		key->free = policy_within_harmless();
	} else {
		text = json_dumps(doc,
				  JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
		if (!text)
			return fail_memory(err, "keys");
		if (policy_parse(&key->policy, text, strlen(text), "policy",
				 err) < 0)
			return -1;
	}
	key->policy_text = keys_policy_text(&key->policy);
	return policy_copy(&key->most, &key->policy) < 0 || !key->policy_text
		       ? fail_memory(err, "keys")
		       : 0;
}

static int
parse_key(struct key *key, const json_t *row, const struct policy *base,
	  struct remit_error *err)
{
	static const char *const known[] = {
		"name",	  "sha256", "concurrency", "per_minute", "memory_bytes",
		"policy", "free",   "operator",	   NULL
	};
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *sum = json_string_value(json_object_get(row, "sha256"));

	if (json_value_members(row, known,
			       "a key has name, sha256, concurrency, "
			       "per_minute, memory_bytes, policy, free and "
			       "operator",
			       "key", err) < 0)
		return -1;
	if (!name || !*name || strlen(name) > 64 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789._-") != strlen(name))
		return fail(err, REMIT_E_INPUT,
			    "name: must be 1 to 64 letters, digits, \".\", "
			    "\"_\" and \"-\"");
	if (!sum || strlen(sum) != SHA256_TEXT - 1 ||
	    strspn(sum, "0123456789abcdef") != strlen(sum))
		return fail(err, REMIT_E_INPUT,
			    "sha256: must be 64 lower-case hexadecimal digits");
	memcpy(key->sum, sum, SHA256_TEXT);
	key->name = strdup(name);
	if (!key->name)
		return fail_memory(err, "keys");
	if (parse_number(row, "concurrency", &key->concurrency, err) < 0 ||
	    parse_number(row, "per_minute", &key->per_minute, err) < 0 ||
	    parse_bytes(row, "memory_bytes", &key->memory_bytes, err) < 0 ||
	    parse_policy(key, json_object_get(row, "policy"), base, err) < 0)
		return -1;
	if (!json_object_get(row, "policy"))
		set_ceilings(key);
	if (parse_free(key, json_object_get(row, "free"), err) < 0)
		return -1;
	return parse_operator(key, json_object_get(row, "operator"), err);
}

/* ---- files ---- */

static int
read_rows(const char *path, json_t **doc, json_t **rows,
	  struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(FILE_MAX);
	json_error_t wrong;

	if (path_read_file(&text, path, err) < 0)
		return -1;
	*doc = json_loadb(buf_text(&text), text.len, JSON_REJECT_DUPLICATES,
			  &wrong);
	*rows = json_object_get(*doc, "keys");
	if (!json_is_array(*rows) || json_array_size(*rows) > KEYS_MAX ||
	    json_object_size(*doc) != 1)
		return fail(err, REMIT_E_INPUT,
			    "%s: must be {\"keys\": [...]} with at most %d "
			    "keys%s%s",
			    path, KEYS_MAX, *doc ? "" : ": ",
			    *doc ? "" : wrong.text);
	return 0;
}

/* A file that others can write is not trusted. */
static int
check_file_mode(const char *path, struct remit_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "%s", path);
	if (st.st_mode & 022 || (st.st_uid != geteuid() && st.st_uid != 0))
		return fail(err, REMIT_E_INPUT,
			    "%s: other users can write to this file; restrict "
			    "it with \"chmod 600\"",
			    path);
	return 0;
}

static bool
has_twin(const struct keys *k, size_t i)
{
	const char *name = k->all[i].name;

	for (size_t j = 0; name && j < i; j++)
		if (k->all[j].name && !strcmp(k->all[j].name, name))
			return true;
	return false;
}

int
keys_read(struct keys *k, const char *path, const struct policy *base,
	  struct remit_error *err)
{
	json_auto_t *doc = NULL;
	json_t *rows, *row;
	size_t i;

	if (check_file_mode(path, err) < 0 ||
	    read_rows(path, &doc, &rows, err) < 0)
		return -1;
	k->all = calloc(json_array_size(rows) + 1, sizeof(*k->all));
	if (!k->all)
		return fail_memory(err, "keys");
	json_array_foreach(rows, i, row)
	{
		k->all[i] = key_default;
		k->count = i + 1;
		if (parse_key(&k->all[i], row, base, err) < 0)
			return fail_within(err, "%s: keys[%zu]", path, i);
		if (has_twin(k, i))
			return fail(err, REMIT_E_INPUT,
				    "%s: two keys have the name \"%s\"", path,
				    k->all[i].name);
	}
	if (!k->count)
		return fail(err, REMIT_E_INPUT,
			    "%s: has no keys; add one with --add-key", path);
	return 0;
}

int
keys_make_local(struct keys *k, const struct policy *base, bool is_open,
		char text[KEY_TEXT], struct remit_error *err)
{
	k->all = calloc(1, sizeof(*k->all));
	if (!k->all || make_key_text(text, err) < 0)
		return fail_memory(err, "keys");
	k->all[0] = key_default;
	k->all[0].name = strdup("local");
	k->count = 1;
	k->is_open = is_open;
	k->all[0].is_operator = true; /* there are no other keys to protect */
	k->is_local = true;
	sha256_text(text, KEY_TEXT - 1, k->all[0].sum);
	if (!k->all[0].name)
		return fail_memory(err, "keys");
	if (parse_policy(&k->all[0], NULL, base, err) < 0)
		return -1;
	/* Requests may use the internet, but not the host's network. */
	if (k->all[0].most.network_access < NETWORK_PUBLIC)
		k->all[0].most.network_access = NETWORK_PUBLIC;
	return 0;
}

int
keys_add(const char *path, const char *name, char text[KEY_TEXT],
	 struct remit_error *err)
{
	json_auto_t *doc = NULL;
	struct key probe = { 0 };
	own(policy) struct policy none = { 0 };
	own_mem char *out = NULL;
	char sum[SHA256_TEXT];
	json_t *rows, *row;
	size_t i;
	int failed;

	if (access(path, F_OK) < 0)
		doc = json_pack("{s:o}", "keys", rows = json_array());
	else if (check_file_mode(path, err) < 0 ||
		 read_rows(path, &doc, &rows, err) < 0)
		return -1;
	json_array_foreach(rows, i, row)
	{
		const char *other =
			json_string_value(json_object_get(row, "name"));

		if (other && !strcmp(other, name))
			return fail(err, REMIT_E_INPUT,
				    "%s: a key named \"%s\" already exists",
				    path, name);
	}
	if (make_key_text(text, err) < 0)
		return -1;
	sha256_text(text, KEY_TEXT - 1, sum);
	row = json_pack("{s:s, s:s}", "name", name, "sha256", sum);
	if (!doc || json_array_append_new(rows, row) < 0 ||
	    policy_init(&none) < 0)
		return fail_memory(err, "keys");
	failed = parse_key(&probe, row, &none, err);
	key_free(&probe);
	if (failed)
		return -1;
	out = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	if (!out)
		return fail_memory(err, "keys");
	return path_write_file(path, out, strlen(out), err);
}

/* ---- requests ---- */

struct key *
keys_find(const struct keys *k, const char *text, size_t len)
{
	static const char prefix[] = "e2b_";
	struct key *found = NULL;
	char sum[SHA256_TEXT];

	if (len > 4 && !memcmp(text, prefix, 4)) {
		text += 4;
		len -= 4;
	}
	sha256_text(text, len, sum);
	for (size_t i = 0; i < k->count; i++) {
		unsigned differs = 0;

		for (size_t j = 0; j < SHA256_TEXT - 1; j++)
			differs |= (unsigned char)(sum[j] ^ k->all[i].sum[j]);
		found = differs ? found : &k->all[i];
	}
	return found;
}

const struct key *
keys_find_by_name(const struct keys *k, const char *name)
{
	for (size_t i = 0; i < k->count; i++)
		if (!strcmp(k->all[i].name, name))
			return &k->all[i];
	return NULL;
}

bool
keys_spend(struct key *key, uint64_t now_us)
{
	double most = (double)key->per_minute;

	/* Token bucket: a minute's worth at once, then refilled evenly. */
	key->left += (double)(now_us - key->filled_us) / MINUTE_US * most;
	if (!key->filled_us || key->left > most)
		key->left = most;
	key->filled_us = now_us;
	if (key->left < 1)
		return false;
	key->left -= 1;
	return true;
}

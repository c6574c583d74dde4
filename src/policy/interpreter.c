#include "policy/interpreter.h"

#include <string.h>

void
interpreter_free(struct interpreter *in)
{
	free(in->executable);
	free(in->real);
	free(in->prefix);
	free(in->exec_prefix);
	free(in->program_path);
	free(in->pip);
	free(in->package_index);
	free(in->package_layer);
	free(in->package_layer_inside);
	free(in->font_cache);
	free(in->compiled);
	list_free(&in->sys_path);
	list_free(&in->mounts);
	list_free(&in->program_mounts);
	list_free(&in->network_mounts);
	list_free(&in->import_lines);
	list_free(&in->links);
	list_free(&in->seen);
	memset(in, 0, sizeof(*in));
}

bool
interpreter_is_packages(const struct interpreter *in, const char *entry)
{
	return in->package_layer_inside &&
	       !strcmp(in->package_layer_inside, entry);
}

static int
read_text(const json_t *doc, const char *key, char **out,
	  struct remit_error *err)
{
	const char *text = json_string_value(json_object_get(doc, key));

	if (!text)
		return fail(err, REMIT_E_INPUT,
			    "the interpreter did not report its \"%s\"", key);
	*out = strdup(text);
	if (!*out)
		return fail_memory(err, "interpreter");
	return 0;
}

static int
read_optional_text(const json_t *doc, const char *key, char **out,
		   struct remit_error *err)
{
	return json_object_get(doc, key) ? read_text(doc, key, out, err) : 0;
}

static int
read_list(const json_t *doc, const char *key, struct list *out,
	  struct remit_error *err)
{
	json_t *array = json_object_get(doc, key);
	json_t *item;
	size_t i;

	if (array && !json_is_array(array))
		return fail(err, REMIT_E_INPUT, "\"%s\" is not a list", key);
	json_array_foreach(array, i, item)
	{
		const char *text = json_string_value(item);

		if (!text)
			return fail(err, REMIT_E_INPUT, "bad entry in \"%s\"",
				    key);
		if (list_add(out, text) < 0)
			return fail_memory(err, "interpreter");
	}
	return 0;
}

static int
interpreter_check(const struct interpreter *in, const json_t *doc,
		  struct remit_error *err)
{
	const char *kind =
		json_string_value(json_object_get(doc, "implementation"));

	if (!kind || strcmp(kind, "cpython"))
		return fail_refused(err, "python",
				    "Choose a CPython with --python.",
				    "%s is %s, not CPython", in->executable,
				    kind ? kind : "unknown");
	if (in->major != 3 || in->minor < 9)
		return fail_refused(
			err, "python",
			"Choose CPython 3.9 or newer with --python.",
			"%s is Python %d.%d, and 3.9 is the oldest "
			"supported",
			in->executable, in->major, in->minor);
	if (json_is_true(json_object_get(doc, "free_threaded")))
		return fail_refused(
			err, "python",
			"Choose an ordinary build of CPython with --python.",
			"%s is a free-threaded build, which is not "
			"supported",
			in->executable);
	return 0;
}

int
interpreter_from_json(struct interpreter *in, const json_t *doc,
		      struct remit_error *err)
{
	memset(in, 0, sizeof(*in));
	if (json_unpack((json_t *)doc, "{s:[i,i,i!]}", "version", &in->major,
			&in->minor, &in->micro) < 0)
		return fail(err, REMIT_E_INPUT,
			    "the interpreter did not report its version");
	if (read_text(doc, "executable", &in->executable, err) < 0 ||
	    interpreter_check(in, doc, err) < 0 ||
	    read_text(doc, "real", &in->real, err) < 0 ||
	    read_text(doc, "prefix", &in->prefix, err) < 0 ||
	    read_text(doc, "exec_prefix", &in->exec_prefix, err) < 0 ||
	    read_text(doc, "compiled", &in->compiled, err) < 0 ||
	    read_list(doc, "sys_path", &in->sys_path, err) < 0 ||
	    read_list(doc, "mounts", &in->mounts, err) < 0 ||
	    read_list(doc, "program_mounts", &in->program_mounts, err) < 0 ||
	    read_text(doc, "program_path", &in->program_path, err) < 0 ||
	    read_list(doc, "network_mounts", &in->network_mounts, err) < 0 ||
	    read_list(doc, "import_lines", &in->import_lines, err) < 0 ||
	    read_list(doc, "links", &in->links, err) < 0 ||
	    read_list(doc, "seen", &in->seen, err) < 0 ||
	    read_optional_text(doc, "pip", &in->pip, err) < 0 ||
	    read_optional_text(doc, "package_index", &in->package_index, err) <
		    0 ||
	    read_optional_text(doc, "font_cache", &in->font_cache, err) < 0) {
		interpreter_free(in);
		return -1;
	}
	return 0;
}

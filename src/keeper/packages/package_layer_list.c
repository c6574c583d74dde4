#include "keeper/packages/package_layer_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/number.h"
#include "base/text.h"
#include "keeper/packages/package_layer.h"
#include "wire/record.h"

/* ---- one layer ---- */

static int
open_directory(int at, const char *name)
{
	return openat(at, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void
add_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text_to_json(text, strlen(text)));
}

static void
add_record(json_t *row, const struct record *r)
{
	uint64_t number;

	if (!strcmp(r->key, "python") || !strcmp(r->key, "tenant"))
		add_text(row, r->key, r->value);
	else if (!strcmp(r->key, "package"))
		json_array_append_new(json_object_get(row, "packages"),
				      text_to_json(r->value, strlen(r->value)));
	else if (!strcmp(r->key, "wheel"))
		json_array_append_new(
			json_object_get(row, "wheels"),
			text_to_json(r->value, strcspn(r->value, " ")));
	else if (!strcmp(r->key, "bytes") &&
		 number_parse(&number, r->value) == 0)
		json_object_set_new(row, "size_bytes",
				    json_integer((json_int_t)number));
	else if (!strcmp(r->key, "files") &&
		 number_parse(&number, r->value) == 0)
		json_object_set_new(row, "files",
				    json_integer((json_int_t)number));
}

json_t *
package_layer_describe(int package_layers, const char *id)
{
	own_fd int directory = open_directory(package_layers, id);
	own(buf) struct buf b = BUF_INIT(PACKAGE_LAYER_ABOUT_MAX);
	struct record r;
	struct stat st;
	size_t at = 0;
	json_t *row;

	if (directory < 0 || package_layer_read_about(directory, &b) < 0 ||
	    fstatat(directory, "about", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	row = json_pack("{s:s, s:[], s:[], s:i, s:i, s:I}", "id", id,
			"packages", "wheels", "size_bytes", 0, "files", 0,
			"used", (json_int_t)st.st_mtim.tv_sec);
	while (row && record_next(b.data, b.len, &at, &r))
		add_record(row, &r);
	return row;
}

/* ---- all layers ---- */

int
package_layer_names(struct list *out, int directory)
{
	int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;
	int added = 0;

	while (d && added == 0 && (e = readdir(d)))
		if (!beneath_is_dots(e->d_name))
			added = list_add(out, e->d_name);
	if (d)
		closedir(d);
	else
		own_fd_close(&again);
	return d ? added : -1;
}

static json_int_t
last_use(const json_t *row)
{
	return json_integer_value(json_object_get(row, "used"));
}

/* Inserts it before those that were used less recently. */
static void
insert_by_use(json_t *all, json_t *row)
{
	size_t at = 0;

	while (at < json_array_size(all) &&
	       last_use(json_array_get(all, at)) >= last_use(row))
		at++;
	json_array_insert_new(all, at, row);
}

int
package_layer_list(json_t **out, struct remit_error *err)
{
	own_fd int package_layers = package_layer_directory("layers", err);
	own(list) struct list names = { 0 };
	json_t *row;

	if (package_layers < 0)
		return -1;
	if (package_layer_names(&names, package_layers) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read the packages");
	*out = json_array();
	if (!*out)
		return fail_memory(err, "packages");
	for (size_t i = 0; i < names.count; i++) {
		row = package_layer_describe(package_layers, names.items[i]);
		if (row)
			insert_by_use(*out, row);
	}
	return 0;
}

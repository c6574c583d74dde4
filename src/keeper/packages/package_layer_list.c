#include "keeper/packages/package_layer_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/digest.h"
#include "base/file/beneath.h"
#include "base/number.h"
#include "base/text.h"
#include "keeper/packages/package_layer.h"
#include "wire/record.h"

/* The directory in the store where Remit 0.1 had its layers. */
#define OLD_LAYERS "shelves"

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

	if (!strcmp(r->key, "python"))
		add_text(row, "python", r->value);
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

/* Returns NULL if the layer was never completed. */
static json_t *
describe_layer(int package_layers, const char *id)
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

static int
list_names(struct list *out, int directory)
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

static uint64_t
size_of(const json_t *row)
{
	return (uint64_t)json_integer_value(json_object_get(row, "size_bytes"));
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
	if (list_names(&names, package_layers) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read the packages");
	*out = json_array();
	if (!*out)
		return fail_sys(err, REMIT_E_MEMORY, "packages");
	for (size_t i = 0; i < names.count; i++) {
		row = describe_layer(package_layers, names.items[i]);
		if (row)
			insert_by_use(*out, row);
	}
	return 0;
}

/* ---- removing layers ---- */

static bool
is_named(const struct package_layer_prune *p, const char *id)
{
	for (size_t i = 0; p->ids && i < p->ids->count; i++)
		if (!strncmp(id, p->ids->items[i], strlen(p->ids->items[i])))
			return true;
	return false;
}

/* `later_bytes` is the size of the layers that were used more recently and
   stay. */
static bool
is_to_go(const struct package_layer_prune *p, const json_t *row,
	 uint64_t later_bytes)
{
	const char *id = json_string_value(json_object_get(row, "id"));

	if (p->ids && p->ids->count)
		return is_named(p, id);
	if (later_bytes && number_add(later_bytes, size_of(row)) > p->max_bytes)
		return true;
	return (uint64_t)(time(NULL) - last_use(row)) * 1000 >= p->unused_ms;
}

static int
check_ids(const struct package_layer_prune *p, const json_t *all,
	  struct remit_error *err)
{
	for (size_t i = 0; p->ids && i < p->ids->count; i++) {
		const char *wanted = p->ids->items[i];
		bool fits = false;
		json_t *row;
		size_t k;

		json_array_foreach(all, k, row)
		{
			fits |= !strncmp(
				json_string_value(json_object_get(row, "id")),
				wanted, strlen(wanted));
		}
		if (!fits)
			return fail(
				err, REMIT_E_INPUT,
				"no installed packages have the id \"%.64s\"",
				wanted);
	}
	return 0;
}

/* Rename it first, so that no process finds an incomplete layer. */
static int
remove_package_layer(struct package_layer_prune *p, int package_layers, int new,
		     const json_t *row, struct remit_error *err)
{
	const char *id = json_string_value(json_object_get(row, "id"));
	own_fd int fd = open_directory(package_layers, id);
	char gone[SHA256_TEXT + 8];

	if (fd < 0)
		return 0; /* another process has removed it */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		p->in_use++;
		return 0;
	}
	snprintf(gone, sizeof(gone), "%s.gone", id);
	if (renameat(package_layers, id, new, gone) < 0 ||
	    package_layer_remove(new, gone) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "remove packages %s", id);
	p->removed++;
	p->freed_bytes += size_of(row);
	return 0;
}

/* Removes layers of an older version, which this version does not use. */
static int
remove_old_layers(struct package_layer_prune *p, int new,
		  struct remit_error *err)
{
	own_fd int store = package_layer_store(err);
	own_fd int old = store < 0 ? -1 : open_directory(store, OLD_LAYERS);
	own(list) struct list names = { 0 };

	if (old < 0)
		return store < 0 ? -1 : 0;
	if (list_names(&names, old) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read the packages");
	for (size_t i = 0; i < names.count; i++) {
		json_auto_t *row = describe_layer(old, names.items[i]);

		if (!row)
			row = json_pack("{s:s}", "id", names.items[i]);
		if (!row)
			return fail_sys(err, REMIT_E_MEMORY, "packages");
		if (remove_package_layer(p, old, new, row, err) < 0)
			return -1;
	}
	if (unlinkat(store, OLD_LAYERS, AT_REMOVEDIR) < 0)
		errno = 0; /* some are in use */
	return 0;
}

/* Removes requests for layers that no longer exist. Several requests may lead
   to one layer. */
static void
remove_dead_wants(int package_layers)
{
	struct remit_error err;
	own_fd int wants = package_layer_directory("wants", &err);
	own(list) struct list names = { 0 };

	if (wants < 0 || list_names(&names, wants) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		char id[SHA256_TEXT];

		if (package_layer_wanted(names.items[i], id) == 0 &&
		    faccessat(package_layers, id, F_OK, AT_SYMLINK_NOFOLLOW) <
			    0)
			unlinkat(wants, names.items[i], 0);
	}
}

/* Removes files in a directory of the store that are not locked. */
static void
remove_unlocked_files(const char *directory)
{
	struct remit_error err;
	own_fd int at = package_layer_directory(directory, &err);
	own(list) struct list names = { 0 };

	if (at < 0 || list_names(&names, at) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		own_fd int fd =
			openat(at, names.items[i],
			       O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(at, names.items[i], 0);
	}
}

int
package_layer_prune(struct package_layer_prune *p, struct remit_error *err)
{
	own_fd int package_layers = package_layer_directory("layers", err);
	own_fd int new =
		package_layers < 0 ? -1 : package_layer_directory("new", err);
	json_auto_t *all = NULL;
	uint64_t later_bytes = 0;
	json_t *row;
	size_t i;

	if (new < 0 || package_layer_list(&all, err) < 0 ||
	    check_ids(p, all, err) < 0)
		return -1;
	json_array_foreach(all, i, row)
	{
		if (!is_to_go(p, row, later_bytes))
			later_bytes = number_add(later_bytes, size_of(row));
		else if (remove_package_layer(p, package_layers, new, row,
					      err) < 0)
			return -1;
	}
	if (p->removes_old && remove_old_layers(p, new, err) < 0)
		return -1;
	remove_dead_wants(package_layers);
	remove_unlocked_files("failed");
	remove_unlocked_files("locks");
	package_layer_clean();
	return 0;
}

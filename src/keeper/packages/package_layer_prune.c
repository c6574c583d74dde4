#include "keeper/packages/package_layer_prune.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/digest.h"
#include "base/number.h"
#include "keeper/packages/package_layer.h"
#include "keeper/packages/package_layer_list.h"

/* The directory in the store where Remit 0.1 had its layers. */
#define OLD_LAYERS "shelves"

static int
open_directory(int at, const char *name)
{
	return openat(at, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

/* ---- which ones ---- */

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

/* ---- removing ---- */

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
	if (package_layer_names(&names, old) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read the packages");
	for (size_t i = 0; i < names.count; i++) {
		json_auto_t *row = package_layer_describe(old, names.items[i]);

		if (!row)
			row = json_pack("{s:s}", "id", names.items[i]);
		if (!row)
			return fail_memory(err, "packages");
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

	if (wants < 0 || package_layer_names(&names, wants) < 0)
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

	if (at < 0 || package_layer_names(&names, at) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		own_fd int fd =
			openat(at, names.items[i],
			       O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(at, names.items[i], 0);
	}
}

static void
remove_traces(int package_layers)
{
	remove_dead_wants(package_layers);
	remove_unlocked_files("failed");
	remove_unlocked_files("locks");
	package_layer_clean();
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
	remove_traces(package_layers);
	return 0;
}

/* ---- shares ---- */

static const char *
tenant_of(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "tenant"));

	return name ? name : "";
}

/* {tenant: bytes} */
static json_t *
sum_tenants(const json_t *all)
{
	json_t *sums = json_object(), *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		json_int_t sum = json_integer_value(
			json_object_get(sums, tenant_of(row)));

		json_object_set_new(sums, tenant_of(row),
				    json_integer((json_int_t)number_add(
					    (uint64_t)sum, size_of(row))));
	}
	return sums;
}

static uint64_t
add_sums(const json_t *sums)
{
	uint64_t total = 0;
	const char *tenant;
	json_t *sum;

	json_object_foreach((json_t *)(uintptr_t)sums, tenant, sum)
	{
		total = number_add(total, (uint64_t)json_integer_value(sum));
	}
	return total;
}

/* Returns the place in `all` of the layer to remove; -1: none. */
static ssize_t
choose_layer(const json_t *all, const json_t *sums, uint64_t share_bytes)
{
	uint64_t most = share_bytes;
	ssize_t found = -1;
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		uint64_t sum = (uint64_t)json_integer_value(
			json_object_get(sums, tenant_of(row)));

		if (json_object_get(row, "in_use") || sum <= share_bytes ||
		    sum < most)
			continue;
		most = sum;
		found = (ssize_t)i; /* the last one was used longest ago */
	}
	return found;
}

int
package_layer_prune_shares(struct package_layer_prune *p,
			   struct remit_error *err)
{
	own_fd int package_layers = package_layer_directory("layers", err);
	own_fd int new =
		package_layers < 0 ? -1 : package_layer_directory("new", err);
	json_auto_t *all = NULL, *sums = NULL;
	uint64_t share_bytes;
	ssize_t at;

	if (new < 0 || package_layer_list(&all, err) < 0)
		return -1;
	sums = sum_tenants(all);
	if (!sums)
		return fail_memory(err, "packages");
	share_bytes = json_object_size(sums)
			      ? p->max_bytes / json_object_size(sums)
			      : p->max_bytes;
	while (add_sums(sums) > p->max_bytes &&
	       (at = choose_layer(all, sums, share_bytes)) >= 0) {
		json_t *row = json_array_get(all, (size_t)at);
		uint64_t in_use = p->in_use;

		if (remove_package_layer(p, package_layers, new, row, err) < 0)
			return -1;
		if (p->in_use > in_use) {
			json_object_set_new(row, "in_use", json_true());
			continue;
		}
		json_array_remove(all, (size_t)at);
		json_decref(sums);
		sums = sum_tenants(all);
	}
	remove_traces(package_layers);
	return 0;
}

/*
 * package_layer_key: a request for packages, as a hash. Two requests with the
 * same hash are served by the same package layer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "jail/probe/discover.h"
#include "keeper/packages/package_layer.h"
#include "policy/rules/package_rule.h"

/* Must change when package layers are made in a different way. */
#define FORM "remit packages 1"
/* Further files in a directory of packages are ignored. */
#define LINKS_MAX 10000

static void
add_text(struct sha256 *h, const char *text)
{
	sha256_add(h, text, strlen(text) + 1);
}

static void
add_number(struct sha256 *h, uint64_t n)
{
	sha256_add(h, &n, sizeof(n));
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, so that the sequence in the policy does not matter. */
static void
add_sorted(struct sha256 *h, struct list *l)
{
	if (l->count)
		qsort(l->items, l->count, sizeof(l->items[0]), by_text);
	add_number(h, l->count);
	for (size_t i = 0; i < l->count; i++)
		add_text(h, l->items[i]);
}

static int
add_packages(struct sha256 *h, const struct list *l, struct remit_error *err)
{
	own(list) struct list texts = { 0 };
	struct package_rule r;

	for (size_t i = 0; i < l->count; i++) {
		if (package_rule_read(l->items[i], &r, err) < 0)
			return -1;
		if (list_add(&texts, r.text) < 0)
			return fail_memory(err, "packages");
	}
	add_sorted(h, &texts);
	return 0;
}

static int
add_list(struct sha256 *h, const struct list *l, struct remit_error *err)
{
	own(list) struct list copy = { 0 };

	if (list_copy(&copy, l) < 0)
		return fail_memory(err, "packages");
	add_sorted(h, &copy);
	return 0;
}

/* A package file of the host counts as another package when it changes. */
static int
stat_line(struct list *out, int at, const char *name)
{
	struct stat st = { 0 };
	char line[512];

	if (fstatat(at, name, &st, 0) < 0)
		st = (struct stat){ 0 };
	snprintf(line, sizeof(line), "%.300s %llu %lld.%09ld", name,
		 (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
	return list_add(out, line);
}

static int
add_directory(struct sha256 *h, const char *path, struct remit_error *err)
{
	own(list) struct list lines = { 0 };
	DIR *d = opendir(path);
	struct dirent *e;
	int added = 0;

	while (d && added == 0 && lines.count < LINKS_MAX && (e = readdir(d)))
		if (e->d_name[0] != '.')
			added = stat_line(&lines, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	if (added < 0)
		return fail_memory(err, "packages");
	add_sorted(h, &lines);
	return 0;
}

static int
add_files(struct sha256 *h, const struct policy *p, struct remit_error *err)
{
	own(list) struct list lines = { 0 };

	for (size_t i = 0; i < p->package_direct.count; i++)
		if (!package_is_url(p->package_direct.items[i]) &&
		    stat_line(&lines, AT_FDCWD, p->package_direct.items[i]) < 0)
			return fail_memory(err, "packages");
	add_sorted(h, &lines);
	for (size_t i = 0; i < p->package_links.count; i++)
		if (add_directory(h, p->package_links.items[i], err) < 0)
			return -1;
	return 0;
}

static void
add_interpreter(struct sha256 *h, const struct interpreter *in)
{
	struct utsname u = { 0 };

	uname(&u);
	add_text(h, u.sysname);
	add_text(h, u.machine);
	add_text(h, in->real);
	add_text(h, in->executable);
	add_number(h, (uint64_t)in->major << 32 | (uint64_t)in->minor << 16 |
			      (uint64_t)in->micro);
	add_number(h, discover_identity(in));
}

int
package_layer_key(char out[SHA256_TEXT], const struct policy *p,
		  const struct interpreter *in, struct remit_error *err)
{
	struct sha256 h = SHA256_INIT;

	add_text(&h, FORM);
	add_interpreter(&h, in);
	add_text(&h, p->package_index);
	add_number(&h, p->package_offline);
	add_number(&h, p->package_build);
	add_number(&h, p->package_bytes);
	if (add_packages(&h, &p->packages, err) < 0 ||
	    add_list(&h, &p->package_direct, err) < 0 ||
	    add_list(&h, &p->package_hosts, err) < 0 ||
	    add_list(&h, &p->package_links, err) < 0 ||
	    add_files(&h, p, err) < 0)
		return -1;
	sha256_end(&h, out);
	return 0;
}

void
package_layer_key_add(char key[SHA256_TEXT], const char *tenant,
		      struct list *have)
{
	struct sha256 h = SHA256_INIT;

	if (!have->count && !tenant)
		return;
	add_text(&h, key);
	add_text(&h, tenant ? tenant : "");
	add_sorted(&h, have);
	sha256_end(&h, key);
}

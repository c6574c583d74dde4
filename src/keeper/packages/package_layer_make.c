#include "keeper/packages/package_layer_make.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file/beneath.h"
#include "base/file/io.h"
#include "base/file/path.h"
#include "base/number.h"
#include "keeper/packages/package_layer.h"
#include "wire/record.h"

/* How often to try again if another process removes the new directory as a
   left-over. */
#define TRIES 8

static int
fail_content(struct remit_error *err, const char *what)
{
	return fail(err, REMIT_E_INSTALL,
		    "the installed files cannot be stored: %s", what);
}

/* ---- the directory ---- */

/* Returns -1 with EAGAIN if another process removed it as a left-over. */
static int
make_locked(int at, const char *name)
{
	own_fd int fd = -1;
	struct stat st;

	if (mkdirat(at, name, 0700) < 0)
		return -1;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    !st.st_nlink) {
		errno = EAGAIN;
		return -1;
	}
	return take_fd(&fd);
}

int
package_layer_make_open(struct package_layer_make *m, struct remit_error *err)
{
	own_fd int at = package_layer_directory("new", err);
	uint64_t noise = 0;

	if (at < 0)
		return -1;
	package_layer_clean();
	for (int i = 0; i < TRIES && m->directory < 0; i++) {
		if (getrandom(&noise, sizeof(noise), 0) < 0)
			return fail_sys(err, REMIT_E_KERNEL, "getrandom");
		snprintf(m->name, sizeof(m->name), "%016llx",
			 (unsigned long long)noise);
		m->directory = make_locked(at, m->name);
	}
	if (m->directory < 0 || mkdirat(m->directory, "raw", 0700) < 0 ||
	    mkdirat(m->directory, "site", 0700) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"make a folder for packages");
	m->raw =
		openat(m->directory, "raw", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->raw < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"open the folder for packages");
	return 0;
}

void
package_layer_make_free(struct package_layer_make *m)
{
	struct remit_error err;
	own_fd int at =
		m->directory < 0 ? -1 : package_layer_directory("new", &err);

	own_fd_close(&m->file);
	own_fd_close(&m->raw);
	if (at >= 0 && package_layer_remove(at, m->name) < 0)
		errno = 0; /* another process will remove it */
	own_fd_close(&m->directory);
	buf_free(&m->about);
	*m = (struct package_layer_make)PACKAGE_LAYER_MAKE_INIT;
}

/* ---- incoming files ---- */

int
package_layer_make_file(struct package_layer_make *m, const char *path,
			uint64_t size, struct remit_error *err)
{
	static const char top[] = "out/";
	const char *name = path + sizeof(top) - 1;
	uint64_t number;

	own_fd_close(&m->file);
	m->file = -1;
	if (m->left_bytes)
		return fail_content(err, "a file is shorter than announced");
	if (strncmp(path, top, sizeof(top) - 1) != 0)
		return fail_content(err, "a file outside the output folder");
	m->left_bytes = size;
	m->is_about = !strcmp(name, "about");
	if (m->is_about)
		return 0;
	if (number_parse(&number, name) < 0)
		return fail_content(err, "a file name that is not a number");
	if (number >= PACKAGE_LAYER_FILES_MAX)
		return fail_content(err, "too many files");
	m->file = openat(m->raw, name,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	if (m->file < 0)
		return fail_sys(err, REMIT_E_KERNEL, "store a file");
	return 0;
}

int
package_layer_make_add(struct package_layer_make *m, const char *bytes,
		       size_t len, struct remit_error *err)
{
	if (len > m->left_bytes)
		return fail_content(err, "a file is longer than announced");
	m->left_bytes -= len;
	if (m->is_about && buf_add(&m->about, bytes, len) < 0)
		return fail_content(err, "the list of names is too long");
	if (!m->is_about && io_write_all(m->file, bytes, len) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "store a file");
	return 0;
}

/* ---- names ---- */

static int
add_content(struct sha256 *sum, int fd)
{
	struct sha256 own = SHA256_INIT;
	char piece[64 * 1024], text[SHA256_TEXT];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		sha256_add(&own, piece, (size_t)n);
	if (n < 0)
		return -1;
	sha256_end(&own, text);
	sha256_add(sum, text, sizeof(text));
	return 0;
}

struct totals {
	struct sha256 sum;
	uint64_t count, bytes;
};

static int
name_one(struct package_layer_make *m, int site, const struct record *r,
	 struct totals *t, struct remit_error *err)
{
	bool is_program = !strcmp(r->key, "program");
	own_fd int parent = -1, fd = -1;
	const char *name;
	char number[24];
	struct stat st;

	if (!plain_path(r->value))
		return fail_content(
			err, "a name has characters that are not allowed");
	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)t->count++);
	fd = openat(m->raw, number, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_content(err, "a listed file did not arrive");
	t->bytes += (uint64_t)st.st_size;
	sha256_add(&t->sum, r->key, strlen(r->key) + 1);
	sha256_add(&t->sum, r->value, strlen(r->value) + 1);
	parent = beneath_make_parent(site, r->value, 0700, &name);
	if (parent < 0 || add_content(&t->sum, fd) < 0 ||
	    fchmod(fd, is_program ? 0555 : 0444) < 0 ||
	    syscall(SYS_renameat2, m->raw, number, parent, name,
		    1 /* RENAME_NOREPLACE */) < 0)
		return fail_sys(err, REMIT_E_INSTALL,
				"the installed files cannot be stored: %.300s",
				r->value);
	return 0;
}

static bool
is_wheel(const struct record *r)
{
	return !strcmp(r->key, "wheel");
}

/* Allow only names in a plain form: they are shown to people, and hashed into
   the layer's id. */
static bool
is_described(const char *wheel)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_+!= ";

	return strlen(wheel) < 512 && !wheel[strspn(wheel, plain)];
}

static int
name_all(struct package_layer_make *m, int site, struct totals *t,
	 struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	while (record_next(m->about.data, m->about.len, &at, &r)) {
		if (is_wheel(&r) && is_described(r.value))
			sha256_add(&t->sum, r.value, strlen(r.value) + 1);
		else if (is_wheel(&r))
			return fail_content(err, "a wheel name has characters "
						 "that are not allowed");
		else if (name_one(m, site, &r, t, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the end ---- */

static int
write_small(int at, const char *name, const char *bytes, size_t len)
{
	own_fd int fd = openat(
		at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		0600);

	return fd < 0 ? -1 : io_write_all(fd, bytes, len);
}

static int
write_about(const struct package_layer_make *m, const char *key,
	    const char *tenant, const struct policy *p,
	    const struct interpreter *in, const struct totals *t,
	    struct remit_error *err)
{
	own(buf) struct buf b = BUF_INIT(PACKAGE_LAYER_ABOUT_MAX);
	char number[24];
	struct record r;
	size_t at = 0;
	int bad = record_add(&b, "key", key) < 0 ||
		  record_add(&b, "python", in->executable) < 0;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)t->bytes);
	bad |= record_add(&b, "bytes", number) < 0;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)t->count);
	bad |= record_add(&b, "files", number) < 0;
	if (tenant)
		bad |= record_add(&b, "tenant", tenant) < 0;
	for (size_t i = 0; i < p->packages.count; i++)
		bad |= record_add(&b, "package", p->packages.items[i]) < 0;
	for (size_t i = 0; i < p->package_direct.count; i++)
		bad |= record_add(&b, "package", p->package_direct.items[i]) <
		       0;
	while (record_next(m->about.data, m->about.len, &at, &r))
		if (is_wheel(&r))
			bad |= record_add(&b, r.key, r.value) < 0;
	if (bad || write_small(m->directory, "about", b.data, b.len) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "describe the packages");
	return 0;
}

static int
seal_layer(const struct package_layer_make *m, int site,
	   struct remit_error *err)
{
	char text[SHA256_TEXT];

	if (package_layer_seal_directories(site) < 0 ||
	    package_layer_seal(site, text) < 0 ||
	    write_small(m->directory, "seal", text, SHA256_TEXT - 1) < 0 ||
	    unlinkat(m->directory, "raw", AT_REMOVEDIR) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "seal the packages");
	/* With syncfs(), a power failure leaves a complete layer or none. */
	if (syncfs(m->directory) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "sync the packages");
	return 0;
}

/* An existing layer with this id is broken, or it would have been found. */
static int
replace_layer(struct package_layer_make *m, const char *id,
	      struct remit_error *err)
{
	own_fd int from = package_layer_directory("new", err);
	own_fd int to = from < 0 ? -1 : package_layer_directory("layers", err);
	char old[32];

	if (to < 0)
		return -1;
	snprintf(old, sizeof(old), "%s.old", m->name);
	if (renameat(to, id, from, old) == 0 &&
	    package_layer_remove(from, old) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "remove old packages");
	if (renameat(from, m->name, to, id) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "put packages in place");
	own_fd_close(&m->directory);
	m->directory = -1;
	return 0;
}

static int
write_want(const char *key, const char *id, struct remit_error *err)
{
	own_fd int wants = package_layer_directory("wants", err);
	char next[SHA256_TEXT + 8];

	if (wants < 0)
		return -1;
	snprintf(next, sizeof(next), "%s.new", key);
	if (write_small(wants, next, id, SHA256_TEXT - 1) < 0 ||
	    renameat(wants, next, wants, key) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"record which layer has the packages");
	return 0;
}

int
package_layer_make_finish(struct package_layer_make *m, const char *key,
			  const char *tenant, const struct policy *p,
			  const struct interpreter *in, struct remit_error *err)
{
	struct totals t = { .sum = SHA256_INIT };
	own_fd int site = openat(m->directory, "site",
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char id[SHA256_TEXT];

	if (site < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open the packages");
	if (m->left_bytes || !m->about.len ||
	    record_check(m->about.data, m->about.len, err) < 0)
		return fail_content(err, "the list of files is incomplete");
	sha256_add(&t.sum, key, SHA256_TEXT);
	if (name_all(m, site, &t, err) < 0)
		return -1;
	sha256_end(&t.sum, id);
	if (write_about(m, key, tenant, p, in, &t, err) < 0 ||
	    seal_layer(m, site, err) < 0 || replace_layer(m, id, err) < 0)
		return -1;
	return write_want(key, id, err);
}

#include "proxy/credential/tls_ends.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file/io.h"
#include "http/tls.h"
#include "proxy/credential/authority.h"

/* 128 relays with two connections of 33 KiB of buffers each, doubled. */
#define HEAP_BYTES (32 * 1024 * 1024)

/* ---- which hosts ---- */

static bool
is_for_row(const struct vault_row *v, const struct host_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *r = &rules->rows[i];

		if (r->kind == HOST_TLS && !r->is_below &&
		    (!v->port || v->port == r->port) &&
		    !strcmp(r->name, v->host))
			return true;
	}
	return false;
}

bool
tls_ends_wanted(const struct vault *v, const struct host_rules *rules)
{
	for (size_t i = 0; i < v->count; i++)
		if (is_for_row(&v->rows[i], rules))
			return true;
	return false;
}

/* ---- their configuration ---- */

static int
make_row(struct tls_ends *t, struct tls_end *e, struct authority *a,
	 const char *host)
{
	e->is_used = true;
	mbedtls_x509_crt_init(&e->certificate);
	if (authority_sign(a, host, &e->certificate) < 0 ||
	    tls_configure(&e->to_code, MBEDTLS_SSL_IS_SERVER) < 0)
		return -1;
	return mbedtls_ssl_conf_own_cert(&e->to_code, &e->certificate,
					 &t->key) == 0
		       ? 0
		       : -1;
}

/* Verify the chain to a trusted authority, and (in tls_to_host) the host
   name. */
static int
make_host_end(struct tls_ends *t, const char *trusted, size_t len)
{
	mbedtls_x509_crt_init(&t->trusted);
	/* The parser wants the terminating NUL as well. It skips certificates
	   that it cannot read. */
	if (mbedtls_x509_crt_parse(&t->trusted, (const unsigned char *)trusted,
				   len + 1) < 0 ||
	    tls_configure(&t->to_host, MBEDTLS_SSL_IS_CLIENT) < 0)
		return -1;
	mbedtls_ssl_conf_authmode(&t->to_host, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_ca_chain(&t->to_host, &t->trusted, NULL);
	return 0;
}

static int
write_trust_file(const char *trusted, size_t len, const struct authority *a)
{
	own_fd int fd = memfd_create("remit-trust", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, trusted, len) < 0 ||
	    io_write_all(fd, "\n", 1) < 0 ||
	    io_write_all(fd, a->root, strlen(a->root)) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return take_fd(&fd);
}

static int
make_code_ends(struct tls_ends *t, struct authority *a, const struct vault *v,
	       const struct host_rules *rules)
{
	if (authority_make(a) < 0)
		return -1;
	t->key = a->key;
	for (size_t i = 0; i < v->count; i++)
		if (is_for_row(&v->rows[i], rules) &&
		    make_row(t, &t->rows[i], a, v->rows[i].host) < 0)
			return -1;
	return 0;
}

/*
 * The filter allows no call that gets memory. So the heap gets all that it will
 * ever need now, which costs nothing until it is used.
 */
static int
reserve_heap(void)
{
	void *first;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
	mallopt(M_TOP_PAD, HEAP_BYTES);
	/* Extend the heap now, by M_TOP_PAD: the filter refuses it later. */
	first = malloc(HEAP_BYTES / 8);
	free(first);
	mallopt(M_TOP_PAD, 0);
	return first ? 0 : -1;
}

struct tls_ends *
tls_ends_make(const struct vault *v, const struct host_rules *rules, int *file)
{
	size_t len;
	own_mem char *trusted = trust_read(&len);
	own_mem struct tls_ends *t = calloc(1, sizeof(*t));
	struct authority a = { 0 };
	int made = -1;

	if (!trusted || !t)
		return NULL;
	if (make_code_ends(t, &a, v, rules) == 0 &&
	    make_host_end(t, trusted, len) == 0) {
		*file = write_trust_file(trusted, len, &a);
		made = *file < 0 ? -1 : 0;
	}
	authority_close(&a);
	return made == 0 && reserve_heap() == 0 ? take_ptr(&t) : NULL;
}

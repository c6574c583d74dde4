#include "http/certificate.h"

#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file/path.h"
#include "http/tls.h"
#include "http/tls_library.h"

/* A chain of four certificates takes about 8 KiB. */
#define FILE_MAX ((size_t)256 * 1024)

struct certificate *
certificate_ref(struct certificate *c)
{
	refcount_inc(&c->refs);
	return c;
}

void
certificate_unref(struct certificate *c)
{
	if (!c || !refcount_dec_and_test(&c->refs))
		return;
	mbedtls_ssl_config_free(&c->config);
	mbedtls_pk_free(&c->key);
	mbedtls_x509_crt_free(&c->chain);
	free(c);
}

static int
read_chain(mbedtls_x509_crt *out, const char *path, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(FILE_MAX);
	int bad;

	if (path_read_file(&text, path, err) < 0)
		return fail_within(err, "--tls-certificate");
	/* Mbed TLS wants a length that includes the terminating NUL for PEM. */
	bad = mbedtls_x509_crt_parse(
		out, (const unsigned char *)buf_text(&text), text.len + 1);
	if (bad < 0)
		return fail(err, REMIT_E_INPUT,
			    "--tls-certificate %s: contains no readable PEM "
			    "certificate (-0x%04x)",
			    path, (unsigned)-bad);
	if (bad)
		return fail(err, REMIT_E_INPUT,
			    "--tls-certificate %s: %d of its certificates "
			    "cannot be read",
			    path, bad);
	return 0;
}

/* Same rule as other servers: a key file that root owns may be readable by
   its group, which is how a machine shares it with its servers. */
static int
check_key_mode(const char *path, struct remit_error *err)
{
	struct stat st;
	mode_t others = S_IRWXO;

	if (stat(path, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "--tls-key %s", path);
	others |= st.st_uid ? S_IRWXG : S_IWGRP;
	if (st.st_mode & others)
		return fail_refused(
			err, "", "Restrict it to its owner with \"chmod 600\".",
			"--tls-key %s: other users can read or change this key "
			"(mode %04o)",
			path, st.st_mode & 07777);
	return 0;
}

static int
read_key(mbedtls_pk_context *out, const char *path, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(FILE_MAX);
	int bad;

	if (check_key_mode(path, err) < 0)
		return -1;
	if (path_read_file(&text, path, err) < 0)
		return fail_within(err, "--tls-key");
	bad = tls_library_parse_key(out, (const unsigned char *)buf_text(&text),
				    text.len + 1);
	if (text.len)
		explicit_bzero(text.data, text.len);
	if (bad == MBEDTLS_ERR_PK_PASSWORD_REQUIRED)
		return fail(err, REMIT_E_INPUT,
			    "--tls-key %s: the key is encrypted, and the "
			    "server cannot ask for its password",
			    path);
	if (bad)
		return fail(err, REMIT_E_INPUT,
			    "--tls-key %s: contains no readable PEM key of "
			    "type RSA or elliptic curve (-0x%04x)",
			    path, (unsigned)-bad);
	return 0;
}

static int
load_pair(struct certificate *c, const char *chain_path, const char *key_path,
	  struct remit_error *err)
{
	if (read_chain(&c->chain, chain_path, err) < 0 ||
	    read_key(&c->key, key_path, err) < 0)
		return -1;
	if (tls_library_check_pair(&c->chain.pk, &c->key) != 0)
		return fail(err, REMIT_E_INPUT,
			    "--tls-key %s: is not the key of the first "
			    "certificate in %s",
			    key_path, chain_path);
	if (tls_configure(&c->config, MBEDTLS_SSL_IS_SERVER) < 0 ||
	    mbedtls_ssl_conf_own_cert(&c->config, &c->chain, &c->key) != 0)
		return fail_memory(err, "TLS");
	return 0;
}

int
certificate_read(struct certificate **out, const char *chain_path,
		 const char *key_path, struct remit_error *err)
{
	struct certificate *c = calloc(1, sizeof(*c));

	if (!c)
		return fail_memory(err, "TLS");
	c->refs = (struct refcount)REFCOUNT_INIT(1);
	mbedtls_x509_crt_init(&c->chain);
	mbedtls_pk_init(&c->key);
	mbedtls_ssl_config_init(&c->config);
	if (load_pair(c, chain_path, key_path, err) < 0) {
		certificate_unref(c);
		return -1;
	}
	*out = c;
	return 0;
}

const char *
certificate_flaw(const struct certificate *c)
{
	if (mbedtls_x509_time_is_past(&c->chain.valid_to))
		return "it has expired";
	return mbedtls_x509_time_is_future(&c->chain.valid_from)
		       ? "it is not valid yet"
		       : NULL;
}

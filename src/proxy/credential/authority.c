#include "proxy/credential/authority.h"

#include <fcntl.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/net/host_name.h"
#include "base/own.h"
#include "http/tls_library.h"

/* Allow for clocks that differ a little. Jails do not live for a month. */
#define VALID_BEFORE_S (24 * 3600)
#define VALID_AFTER_S  (30 * 24 * 3600)
#define ROOT_SUBJECT   "CN=Remit, for one jail only"
/* The host's list, which has about 200 KiB today. */
#define TRUST_TEXT_MAX (4 * 1024 * 1024)

static int
make_key(mbedtls_pk_context *key)
{
	mbedtls_pk_init(key);
	if (mbedtls_pk_setup(key,
			     mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)) != 0)
		return -1;
	return mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1,
				   mbedtls_pk_ec(*key), tls_library_random,
				   NULL) == 0
		       ? 0
		       : -1;
}

static int
write_time(char out[16], time_t at)
{
	struct tm t;

	return gmtime_r(&at, &t) && strftime(out, 16, "%Y%m%d%H%M%S", &t) == 14
		       ? 0
		       : -1;
}

static int
certificate_set_serial(mbedtls_x509write_cert *w)
{
	unsigned char bytes[15];

	if (tls_library_random(NULL, bytes, sizeof(bytes)) != 0)
		return -1;
	/* Positive, and not zero. */
	bytes[0] = (bytes[0] & 0x7f) | 1;
	return tls_library_set_serial(w, bytes, sizeof(bytes));
}

/* Fill in what both kinds of certificate have. */
static int
certificate_begin(mbedtls_x509write_cert *w, const char *subject,
		  mbedtls_pk_context *of, mbedtls_pk_context *by, bool is_root)
{
	time_t now = time(NULL);
	char from[16], until[16];

	mbedtls_x509write_crt_init(w);
	mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(w, of);
	mbedtls_x509write_crt_set_issuer_key(w, by);
	if (write_time(from, now - VALID_BEFORE_S) < 0 ||
	    write_time(until, now + VALID_AFTER_S) < 0 ||
	    certificate_set_serial(w) != 0 ||
	    mbedtls_x509write_crt_set_validity(w, from, until) != 0 ||
	    mbedtls_x509write_crt_set_subject_name(w, subject) != 0 ||
	    mbedtls_x509write_crt_set_issuer_name(w, ROOT_SUBJECT) != 0 ||
	    mbedtls_x509write_crt_set_subject_key_identifier(w) != 0 ||
	    mbedtls_x509write_crt_set_authority_key_identifier(w) != 0 ||
	    mbedtls_x509write_crt_set_basic_constraints(w, is_root,
							is_root ? 0 : -1) != 0)
		return -1;
	return mbedtls_x509write_crt_set_key_usage(
		       w, is_root ? MBEDTLS_X509_KU_KEY_CERT_SIGN
				  : MBEDTLS_X509_KU_DIGITAL_SIGNATURE) == 0
		       ? 0
		       : -1;
}

int
authority_make(struct authority *a)
{
	mbedtls_x509write_cert w;
	int made = -1;

	if (make_key(&a->key) < 0 || make_key(&a->root_key) < 0)
		return -1;
	if (certificate_begin(&w, ROOT_SUBJECT, &a->root_key, &a->root_key,
			      true) == 0)
		made = mbedtls_x509write_crt_pem(&w, (unsigned char *)a->root,
						 sizeof(a->root),
						 tls_library_random, NULL) == 0
			       ? 0
			       : -1;
	mbedtls_x509write_crt_free(&w);
	return made;
}

/* GeneralNames with one DNS name (RFC 5280, 4.2.1.6), written from its end. */
static int
certificate_set_name(mbedtls_x509write_cert *w, const char *host)
{
	unsigned char der[HOST_NAME_SIZE + 16] = { 0 }, *at = der + sizeof(der);
	size_t n = strlen(host), len;

	mbedtls_asn1_write_raw_buffer(&at, der, (const unsigned char *)host, n);
	mbedtls_asn1_write_len(&at, der, n);
	mbedtls_asn1_write_tag(&at, der, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2);
	mbedtls_asn1_write_len(&at, der, (size_t)(der + sizeof(der) - at));
	if (mbedtls_asn1_write_tag(&at, der,
				   MBEDTLS_ASN1_CONSTRUCTED |
					   MBEDTLS_ASN1_SEQUENCE) < 0)
		return -1;
	len = (size_t)(der + sizeof(der) - at);
	return mbedtls_x509write_crt_set_extension(
		w, MBEDTLS_OID_SUBJECT_ALT_NAME,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, at, len);
}

/* Only for servers (serverAuth). */
static int
certificate_set_purpose(mbedtls_x509write_cert *w)
{
	static const unsigned char der[] = { 0x30, 10, 0x06, 8, 0x2b, 6,
					     1,	   5,  5,    7, 3,    1 };

	return mbedtls_x509write_crt_set_extension(
		w, MBEDTLS_OID_EXTENDED_KEY_USAGE,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, der,
		sizeof(der));
}

int
authority_sign(struct authority *a, const char *host, mbedtls_x509_crt *out)
{
	mbedtls_x509write_cert w;
	unsigned char der[AUTHORITY_PEM];
	int n = -1;

	/* The name is only in the extension: a subject is limited to 64
	   bytes. */
	if (certificate_begin(&w, "O=Remit", &a->key, &a->root_key, false) ==
		    0 &&
	    certificate_set_name(&w, host) == 0 &&
	    certificate_set_purpose(&w) == 0)
		n = mbedtls_x509write_crt_der(&w, der, sizeof(der),
					      tls_library_random, NULL);
	mbedtls_x509write_crt_free(&w);
	/* The certificate is at the end of the buffer. */
	return n > 0 && mbedtls_x509_crt_parse_der(out, der + sizeof(der) - n,
						   (size_t)n) == 0
		       ? 0
		       : -1;
}

void
authority_close(struct authority *a)
{
	mbedtls_pk_free(&a->root_key);
}

/* ---- the authorities that the host trusts ---- */

const char *
trust_path(void)
{
	static const char *const paths[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/ssl/ca-bundle.pem",	      /* SUSE */
		"/etc/ssl/cert.pem",		      /* Alpine */
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (access(paths[i], R_OK) == 0)
			return paths[i];
	return NULL;
}

char *
trust_read(size_t *len)
{
	const char *path = trust_path();
	own_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	own_mem char *text = calloc(1, TRUST_TEXT_MAX + 1);
	ssize_t n = 1;

	for (*len = 0; fd >= 0 && text && n > 0 && *len < TRUST_TEXT_MAX;
	     *len += n > 0 ? (size_t)n : 0)
		n = read(fd, text + *len, TRUST_TEXT_MAX - *len);
	/* A truncated list would trust other authorities than the host does. */
	if (fd < 0 || !text || n < 0 || *len == TRUST_TEXT_MAX)
		return NULL;
	return take_ptr(&text);
}

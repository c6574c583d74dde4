#include "http/tls_library.h"

#include <mbedtls/version.h>
#include <sys/random.h>

#ifdef MBEDTLS_SSL_PROTO_TLS1_3
#define VERSIONS "TLS 1.2 and 1.3"
#else
#define VERSIONS "TLS 1.2"
#endif

const char *
tls_library_version(void)
{
	return VERSIONS " by Mbed TLS " MBEDTLS_VERSION_STRING;
}

int
tls_library_random(void *unused, unsigned char *out, size_t len)
{
	(void)unused;
	while (len) {
		ssize_t n = getrandom(out, len, 0);

		if (n <= 0)
			return -1;
		out += n;
		len -= (size_t)n;
	}
	return 0;
}

#if MBEDTLS_VERSION_MAJOR >= 3

#include <psa/crypto.h>

/* The library would prefer the strongest group; this order prefers the
   fastest. */
static const uint16_t groups[] = {
	MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
	MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
	MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1,
	MBEDTLS_SSL_IANA_TLS_GROUP_SECP521R1,
	MBEDTLS_SSL_IANA_TLS_GROUP_NONE,
};

int
tls_library_start(void)
{
	return psa_crypto_init() == PSA_SUCCESS ? 0 : -1;
}

void
tls_library_restrict(mbedtls_ssl_config *c)
{
	mbedtls_ssl_conf_min_tls_version(c, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_groups(c, groups);
}

int
tls_library_set_serial(mbedtls_x509write_cert *w, unsigned char *bytes,
		       size_t len)
{
	return mbedtls_x509write_crt_set_serial_raw(w, bytes, len);
}

int
tls_library_parse_key(mbedtls_pk_context *out, const unsigned char *pem,
		      size_t size)
{
	return mbedtls_pk_parse_key(out, pem, size, NULL, 0, tls_library_random,
				    NULL);
}

int
tls_library_check_pair(const mbedtls_pk_context *public_key,
		       const mbedtls_pk_context *key)
{
	return mbedtls_pk_check_pair(public_key, key, tls_library_random, NULL);
}

#else

/* The library would prefer the strongest curve; this order prefers the
   fastest. */
static const mbedtls_ecp_group_id curves[] = {
	MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
	MBEDTLS_ECP_DP_SECP384R1,  MBEDTLS_ECP_DP_SECP521R1,
	MBEDTLS_ECP_DP_NONE,
};

int
tls_library_start(void)
{
	return 0;
}

void
tls_library_restrict(mbedtls_ssl_config *c)
{
	mbedtls_ssl_conf_min_version(c, MBEDTLS_SSL_MAJOR_VERSION_3,
				     MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_curves(c, curves);
}

int
tls_library_set_serial(mbedtls_x509write_cert *w, unsigned char *bytes,
		       size_t len)
{
	mbedtls_mpi serial;
	int bad;

	mbedtls_mpi_init(&serial);
	bad = mbedtls_mpi_read_binary(&serial, bytes, len);
	if (bad == 0)
		bad = mbedtls_x509write_crt_set_serial(w, &serial);
	mbedtls_mpi_free(&serial);
	return bad;
}

int
tls_library_parse_key(mbedtls_pk_context *out, const unsigned char *pem,
		      size_t size)
{
	return mbedtls_pk_parse_key(out, pem, size, NULL, 0);
}

int
tls_library_check_pair(const mbedtls_pk_context *public_key,
		       const mbedtls_pk_context *key)
{
	return mbedtls_pk_check_pair(public_key, key);
}

#endif

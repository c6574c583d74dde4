#include "tls_form.h"

#include "authority.h"

/* Keys for one connection alone, and ciphers that see a changed byte. */
static const int ciphers[] = {
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	0,
};

/* The quick ones first: the library would begin with the strongest. */
static const mbedtls_ecp_group_id curves[] = {
	MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
	MBEDTLS_ECP_DP_SECP384R1,  MBEDTLS_ECP_DP_SECP521R1,
	MBEDTLS_ECP_DP_NONE,
};

/* No frames. */
static const char *protocols[] = { "http/1.1", NULL };

int
tls_form(mbedtls_ssl_config *c, int end)
{
	mbedtls_ssl_config_init(c);
	if (mbedtls_ssl_config_defaults(c, end, MBEDTLS_SSL_TRANSPORT_STREAM,
					MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
	    mbedtls_ssl_conf_alpn_protocols(c, protocols) != 0)
		return -1;
	mbedtls_ssl_conf_min_version(c, MBEDTLS_SSL_MAJOR_VERSION_3,
				     MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_ciphersuites(c, ciphers);
	mbedtls_ssl_conf_curves(c, curves);
	mbedtls_ssl_conf_rng(c, authority_random, NULL);
	return 0;
}

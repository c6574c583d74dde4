#include "http/tls_form.h"

#include "http/tls_library.h"

/* Keys for one connection alone, and ciphers that see a changed byte. */
static const int ciphers[] = {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
	MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
	MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
	MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
#endif
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	0,
};

/* No frames. */
static const char *protocols[] = { "http/1.1", NULL };

int
tls_form(mbedtls_ssl_config *c, int end)
{
	mbedtls_ssl_config_init(c);
	if (tls_library_start() < 0 ||
	    mbedtls_ssl_config_defaults(c, end, MBEDTLS_SSL_TRANSPORT_STREAM,
					MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
	    mbedtls_ssl_conf_alpn_protocols(c, protocols) != 0)
		return -1;
	mbedtls_ssl_conf_ciphersuites(c, ciphers);
	tls_library_restrict(c);
	mbedtls_ssl_conf_rng(c, tls_library_random, NULL);
	return 0;
}

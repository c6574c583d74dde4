#include "http/tls.h"

#include <string.h>
#include <sys/socket.h>

#include "http/tls_library.h"

/* What one call takes from the socket at most: records that hold nothing
   (warnings) are read over, and there may be no end of them. */
#define RECEIVE_MAX ((size_t)128 * 1024)

struct tls {
	mbedtls_ssl_context s;
	int fd;
	size_t received; /* by this call */
	bool is_established, is_truncated;
	size_t unsent; /* a record of so many bytes is on its way */
	size_t early_at, early_len;
	char early[];
};

/* ---- the socket ---- */

static int
tls_send_raw(void *owner, const unsigned char *bytes, size_t len)
{
	struct tls *t = owner;
	ssize_t n = sendto(t->fd, bytes, len, MSG_NOSIGNAL, NULL, 0);

	if (n >= 0)
		return (int)n;
	return errno == EAGAIN || errno == EINTR
		       ? MBEDTLS_ERR_SSL_WANT_WRITE
		       : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int
read_early(struct tls *t, unsigned char *out, size_t size)
{
	size_t n = t->early_len - t->early_at;

	n = n < size ? n : size;
	memcpy(out, t->early + t->early_at, n);
	t->early_at += n;
	return (int)n;
}

static int
tls_recv_raw(void *owner, unsigned char *out, size_t size)
{
	struct tls *t = owner;
	ssize_t n;

	if (t->early_at < t->early_len)
		return read_early(t, out, size);
	if (t->received >= RECEIVE_MAX)
		return MBEDTLS_ERR_SSL_WANT_READ; /* an event tells of it */
	n = recvfrom(t->fd, out, size, 0, NULL, NULL);
	if (n >= 0) {
		t->received += (size_t)n;
		return (int)n;
	}
	return errno == EAGAIN || errno == EINTR
		       ? MBEDTLS_ERR_SSL_WANT_READ
		       : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

/* ---- beginning and end ---- */

static struct tls *
tls_new(const mbedtls_ssl_config *c, int fd, const char *early, size_t len)
{
	struct tls *t = calloc(1, sizeof(*t) + len);

	if (!t)
		return NULL;
	mbedtls_ssl_init(&t->s);
	if (mbedtls_ssl_setup(&t->s, c) != 0) {
		tls_free(t);
		return NULL;
	}
	t->fd = fd;
	t->early_len = len;
	if (len)
		memcpy(t->early, early, len);
	mbedtls_ssl_set_bio(&t->s, t, tls_send_raw, tls_recv_raw, NULL);
	return t;
}

struct tls *
tls_to_code(const mbedtls_ssl_config *c, int fd, const char *early, size_t len)
{
	return tls_new(c, fd, early, len);
}

struct tls *
tls_to_host(const mbedtls_ssl_config *c, int fd, const char *host)
{
	struct tls *t = tls_new(c, fd, NULL, 0);

	/* Both asked for and compared with what the host shows. */
	if (t && mbedtls_ssl_set_hostname(&t->s, host) != 0) {
		tls_free(t);
		return NULL;
	}
	return t;
}

struct tls *
tls_to_client(const mbedtls_ssl_config *c, int fd)
{
	return tls_new(c, fd, NULL, 0);
}

void
tls_free(struct tls *t)
{
	if (!t)
		return;
	mbedtls_ssl_free(&t->s);
	free(t);
}

int
tls_handshake(struct tls *t)
{
	int done;

	t->received = 0;
	done = mbedtls_ssl_handshake(&t->s);
	if (done == 0) {
		t->is_established = true;
		return 0;
	}
	errno = done == MBEDTLS_ERR_SSL_WANT_READ    ? EAGAIN
		: done == MBEDTLS_ERR_SSL_WANT_WRITE ? EALREADY
						     : EPROTO;
	return -1;
}

bool
tls_is_established(const struct tls *t)
{
	return t->is_established;
}

/* ---- bytes ---- */

/* A host that speaks TLS 1.3 sends tickets for later connections; no use is
   made of them. TAKEN_MAX ends the loop. */
static int
read_record(struct tls *t, char *out, size_t size)
{
	int n;

	do
		n = mbedtls_ssl_read(&t->s, (unsigned char *)out, size);
	while (n == TLS_LIBRARY_TICKET);
	return n;
}

ssize_t
tls_read(struct tls *t, char *out, size_t size)
{
	int n;

	t->received = 0;
	n = read_record(t, out, size);
	if (n > 0)
		return n;
	if (n == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
		return 0;
	if (n == 0 || n == MBEDTLS_ERR_SSL_CONN_EOF) {
		t->is_truncated = true;
		return 0;
	}
	/* Who has us answer and reads nothing of it (WANT_WRITE) is left: no
	   event would tell when to go on. */
	errno = n == MBEDTLS_ERR_SSL_WANT_READ ? EAGAIN : EPROTO;
	return -1;
}

ssize_t
tls_write(struct tls *t, const char *bytes, size_t len)
{
	int n;

	/* A record that waits must be named by the same length again. */
	if (t->unsent)
		len = t->unsent;
	n = mbedtls_ssl_write(&t->s, (const unsigned char *)bytes, len);
	if (n > 0) {
		t->unsent = 0;
		return n;
	}
	if (n == MBEDTLS_ERR_SSL_WANT_WRITE)
		t->unsent = len;
	errno = n == MBEDTLS_ERR_SSL_WANT_WRITE ||
				n == MBEDTLS_ERR_SSL_WANT_READ
			? EAGAIN
			: EPROTO;
	return -1;
}

bool
tls_has_more(const struct tls *t)
{
	return t->early_at < t->early_len || mbedtls_ssl_check_pending(&t->s);
}

bool
tls_is_truncated(const struct tls *t)
{
	return t->is_truncated;
}

void
tls_close_notify(struct tls *t)
{
	/* If it does not fit, the end comes without. */
	if (mbedtls_ssl_close_notify(&t->s) != 0)
		t->is_truncated = true;
}

/* ---- the one form of TLS ---- */

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
tls_configure(mbedtls_ssl_config *c, int end)
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

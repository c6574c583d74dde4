#include "http/tls.h"

#include <string.h>
#include <sys/socket.h>

#include "http/tls_library.h"

/* How many bytes one call reads from the socket at most: a peer could send
   empty records (warnings), which are skipped, without end. */
#define RECEIVE_MAX ((size_t)128 * 1024)

struct tls {
	mbedtls_ssl_context s;
	int fd;
	size_t received; /* bytes read by this call */
	bool is_established, is_truncated;
	size_t unsent; /* length of the record that is partly sent */
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
		return MBEDTLS_ERR_SSL_WANT_READ; /* epoll reports the rest */
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

	/* Used for SNI, and compared with the host's certificate. */
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

/* A host that uses TLS 1.3 sends session tickets, which are ignored.
   RECEIVE_MAX bounds the loop. */
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
	/* WANT_WRITE here means that the library must reply first and the
	   peer does not read the reply. This is an error, since no event
	   would wake the caller. */
	errno = n == MBEDTLS_ERR_SSL_WANT_READ ? EAGAIN : EPROTO;
	return -1;
}

ssize_t
tls_write(struct tls *t, const char *bytes, size_t len)
{
	int n;

	/* A partly sent record must be passed again with the same length. */
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
	/* If the socket is full, the connection ends without close_notify. */
	if (mbedtls_ssl_close_notify(&t->s) != 0)
		t->is_truncated = true;
}

/* ---- configuration ---- */

/* The accepted cipher suites: those with ephemeral keys and authenticated
   encryption. */
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

/* HTTP/2 is not offered. */
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

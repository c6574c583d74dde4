/* tls: both ends of a proxy, and the certificates that it shows to code. */
#include "http/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "proxy/credential/tls_ends.h"
/* Included after error.h: cmocka defines fail() as well. */
#include <cmocka.h>

#include "proxy/credential/authority.h"

#define HOST "api.example.com"

/* One credential for a host with a TLS rule, and a second host without one. */
static const struct vault vault = { .rows = { { .host = HOST } }, .count = 1 };
static const struct host_rules rules = {
	.rows = { { .name = HOST, .port = 443, .kind = HOST_TLS },
		  { .name = "b.example.com", .port = 443, .kind = HOST_TLS } },
	.count = 2,
};

static uint32_t
verify_flags(mbedtls_x509_crt *of, mbedtls_x509_crt *by, const char *host)
{
	uint32_t flags = 0;

	mbedtls_x509_crt_verify(of, by, NULL, host, &flags, NULL, NULL);
	return flags;
}

static void
certificate_is_valid_for_its_host_and_its_jail_only(void **state)
{
	struct authority a = { 0 }, b = { 0 };
	mbedtls_x509_crt leaf, root, other;

	(void)state;
	mbedtls_x509_crt_init(&leaf);
	mbedtls_x509_crt_init(&root);
	mbedtls_x509_crt_init(&other);
	assert_int_equal(authority_make(&a), 0);
	assert_int_equal(authority_make(&b), 0);
	assert_int_equal(authority_sign(&a, HOST, &leaf), 0);
	assert_int_equal(mbedtls_x509_crt_parse(&root, (void *)a.root,
						strlen(a.root) + 1),
			 0);
	assert_int_equal(mbedtls_x509_crt_parse(&other, (void *)b.root,
						strlen(b.root) + 1),
			 0);
	assert_int_equal(verify_flags(&leaf, &root, HOST), 0);
	assert_int_not_equal(verify_flags(&leaf, &root, "b.example.com"), 0);
	assert_int_not_equal(verify_flags(&leaf, &root, "x." HOST), 0);
	assert_int_not_equal(verify_flags(&leaf, &other, HOST), 0);
	/* The leaf certificate must not be able to sign others. */
	assert_int_not_equal(verify_flags(&root, &leaf, NULL), 0);
	authority_close(&a);
	authority_close(&b);
	mbedtls_pk_free(&a.key);
	mbedtls_pk_free(&b.key);
	mbedtls_x509_crt_free(&leaf);
	mbedtls_x509_crt_free(&root);
	mbedtls_x509_crt_free(&other);
}

static void
tls_is_terminated_only_for_hosts_with_credential_and_tls_rule(void **state)
{
	const struct vault none = { 0 };
	const struct vault elsewhere = { .rows = { { .host = "c.example" } },
					 .count = 1 };

	(void)state;
	assert_true(tls_ends_wanted(&vault, &rules));
	assert_false(tls_ends_wanted(&none, &rules));
	assert_false(tls_ends_wanted(&elsewhere, &rules));
}

/* Lets both ends continue in turn until both are done or one fails. */
static int
shake_both(struct tls *code, struct tls *host)
{
	int a = -1, b = -1;

	for (int i = 0; i < 20 && (a < 0 || b < 0); i++) {
		a = tls_handshake(host);
		if (a < 0 && errno != EAGAIN)
			return -1;
		b = tls_handshake(code);
		if (b < 0 && errno != EAGAIN)
			return -1;
	}
	return a == 0 && b == 0 ? 0 : -1;
}

/* The ends as a proxy has them, and the authorities that it trusts by
   default. */
static struct tls_ends *ends;
static mbedtls_x509_crt usual, own;

/* Reads the last certificate in the bundle for code: the proxy's own
   authority. */
static void
read_own(int file)
{
	char text[AUTHORITY_PEM + 1] = { 0 }, *last = NULL;

	assert_true(lseek(file, -AUTHORITY_PEM, SEEK_END) > 0);
	assert_int_equal(read(file, text, AUTHORITY_PEM), AUTHORITY_PEM);
	for (char *at = text; (at = strstr(at, "-----BEGIN")); at++)
		last = at;
	assert_non_null(last);
	mbedtls_x509_crt_init(&own);
	assert_int_equal(
		mbedtls_x509_crt_parse(&own, (void *)last, strlen(last) + 1),
		0);
}

static int
make_ends(void **state)
{
	int file = -1;

	(void)state;
	ends = tls_ends_make(&vault, &rules, &file);
	assert_non_null(ends);
	assert_true(ends->rows[0].is_used && !ends->rows[1].is_used);
	read_own(file);
	close(file);
	usual = ends->trusted;
	return 0;
}

struct both {
	struct tls *code, *host;
	int fds[2];
};

/* Connects a TLS client to a TLS server, both configured like the proxy's.
   The client trusts the server's authority or does not. */
static struct both
connect_both(const char *name, bool is_trusted)
{
	struct both b = { 0 };

	ends->trusted = is_trusted ? own : usual;
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, b.fds),
			 0);
	b.code = tls_to_code(&ends->rows[0].to_code, b.fds[0], NULL, 0);
	b.host = tls_to_host(&ends->to_host, b.fds[1], name);
	assert_true(b.code && b.host);
	return b;
}

static void
close_both(struct both *b)
{
	tls_free(b->code);
	tls_free(b->host);
	close(b->fds[0]);
	close(b->fds[1]);
}

static void
untrusted_host_fails_the_handshake(void **state)
{
	struct both b = connect_both(HOST, false);

	(void)state;
	assert_int_equal(shake_both(b.code, b.host), -1);
	assert_int_equal(errno, EPROTO);
	assert_false(tls_is_established(b.host));
	close_both(&b);
}

static void
host_with_another_name_fails_the_handshake(void **state)
{
	struct both b = connect_both("b.example.com", true);

	(void)state;
	assert_int_equal(shake_both(b.code, b.host), -1);
	assert_false(tls_is_established(b.host));
	close_both(&b);
}

static void
bytes_arrive_and_close_is_distinguished_from_truncation(void **state)
{
	struct both b = connect_both(HOST, true),
		    cut = connect_both(HOST, true);
	static char sent[40000], got[40000];
	size_t n = 0, m = 0;

	(void)state;
	memset(sent, 'x', sizeof(sent));
	assert_int_equal(shake_both(b.code, b.host), 0);
	assert_int_equal(tls_read(b.code, got, 10), -1);
	assert_int_equal(errno, EAGAIN);
	while (m < sizeof(got)) {
		ssize_t k = n < sizeof(sent) ? tls_write(b.host, sent + n,
							 sizeof(sent) - n)
					     : 0;

		n += k > 0 ? (size_t)k : 0;
		/* Reads in parts: decrypted bytes wait in the buffer. */
		k = tls_read(b.code, got + m,
			     sizeof(got) - m < 1000 ? sizeof(got) - m : 1000);
		assert_true(k > 0 || errno == EAGAIN);
		m += k > 0 ? (size_t)k : 0;
	}
	assert_memory_equal(sent, got, sizeof(sent));
	assert_false(tls_has_more(b.code));
	tls_close_notify(b.host);
	assert_int_equal(tls_read(b.code, got, 10), 0);
	assert_false(tls_is_truncated(b.code));
	close_both(&b);
	assert_int_equal(shake_both(cut.code, cut.host), 0);
	shutdown(cut.fds[1], SHUT_WR);
	assert_int_equal(tls_read(cut.code, got, 10), 0);
	assert_true(tls_is_truncated(cut.code));
	close_both(&cut);
}

static void
bytes_that_are_not_tls_are_an_error(void **state)
{
	struct both b = connect_both(HOST, false);

	(void)state;
	assert_int_equal(write(b.fds[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(tls_handshake(b.code), -1);
	assert_int_equal(errno, EPROTO);
	close_both(&b);
}

/* TLS 1.2 ignores each warning, so the call must end at its limit and leave
   the rest in the socket. TLS 1.3 accepts no unencrypted alert at this
   point. */
static void
endless_warnings_end_one_call_at_its_limit(void **state)
{
	static const char warning[] = { 21, 3, 3, 0, 2, 1, 90 };
	struct both b = connect_both(HOST, false);
	char many[sizeof(warning) * 1000];
	int left = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = warning[i % sizeof(warning)];
	/* After this, both ends have sent their hello. */
	assert_int_equal(tls_handshake(b.host), -1);
	assert_int_equal(tls_handshake(b.code), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 25; i++)
		assert_int_equal(write(b.fds[1], many, sizeof(many)),
				 sizeof(many));
	assert_int_equal(tls_handshake(b.code), -1);
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
	assert_int_equal(errno, EPROTO);
#else
	assert_int_equal(errno, EAGAIN);
#endif
	assert_int_equal(ioctl(b.fds[0], FIONREAD, &left), 0);
	assert_true(left > 0);
	close_both(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			certificate_is_valid_for_its_host_and_its_jail_only),
		cmocka_unit_test(
			tls_is_terminated_only_for_hosts_with_credential_and_tls_rule),
		cmocka_unit_test(untrusted_host_fails_the_handshake),
		cmocka_unit_test(host_with_another_name_fails_the_handshake),
		cmocka_unit_test(
			bytes_arrive_and_close_is_distinguished_from_truncation),
		cmocka_unit_test(bytes_that_are_not_tls_are_an_error),
		cmocka_unit_test(endless_warnings_end_one_call_at_its_limit),
	};

	return cmocka_run_group_tests(tests, make_ends, NULL);
}

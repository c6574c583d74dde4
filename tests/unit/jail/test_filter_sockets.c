/*
 * Which sockets code and the keeper may create, by family, type and protocol,
 * and which socket options may be set.
 */
#include "base/own.h"
#include "filter_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#include <cmocka.h>

static void
socket_of_any_family_is_refused_without_network(void **state)
{
	static const char *const others[] = { "bind",	 "listen",
					      "accept",	 "accept4",
					      "connect", "setsockopt",
					      "recvmmsg" };

	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		if (v & FILTER_NETWORK)
			continue;
		for (uint64_t family = 0; family <= 45; family++)
			for (uint64_t type = 0; type < 16; type++)
				expect(v, "socket", REFUSE(EPERM), family,
				       type);
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			expect(v, others[i], REFUSE(EPERM), 0);
		expect(v, "sendto", ALLOW, 3, 0x1000, 1, 0, 0, 0);
		for (unsigned bit = 0; bit < 64; bit++)
			expect(v, "sendto", REFUSE(EPERM), 3, 0x1000, 1, 0,
			       BIT(bit));
	}
}

/* The filter does not see whether a socket is a unix socket. */
static void
urgent_data_is_refused_to_all_code(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			uint32_t want = BIT(bit) == MSG_OOB ? REFUSE(EOPNOTSUPP)
							    : ALLOW;

			expect(v, "sendto", want, 3, 0x1000, 1, BIT(bit), 0, 0);
			expect(v, "sendmsg", want, 3, 0x1000, BIT(bit));
			if (v & FILTER_NETWORK)
				expect(v, "sendmmsg", want, 3, 0x1000, 1,
				       BIT(bit));
		}
		expect(v, "sendto", REFUSE(EOPNOTSUPP), 3, 0x1000, 1,
		       MSG_OOB | MSG_DONTWAIT, 0x1000, 16);
	}
}

/* Other lengths could be names of unix sockets: 16 is sockaddr_in, 28
   sockaddr_in6, and unix addresses are shorter than sockaddr_storage. */
static void
bind_accepts_only_internet_addresses_with_network(void **state)
{
	static const uint64_t sizes[] = { 16, 28, 128 };

	(void)state;
	for (unsigned v = 0; v <= FILTER_BARE_NETWORK; v++) {
		bool is_code = v < FILTER_INIT && v & FILTER_NETWORK;

		if (!is_code && v != FILTER_BARE_NETWORK)
			continue;
		for (uint64_t size = 0; size < 256; size++) {
			uint32_t want =
				IS_ONE_OF(size, sizes) ? ALLOW : REFUSE(EINVAL);

			expect(v, "bind", want, 3, 0x1000, size);
			expect(v, "bind", want, 3, 0x1000, size | HIGH);
		}
	}
}

static bool
is_tcp_or_udp(uint64_t family, uint64_t type, uint64_t protocol)
{
	if (family != AF_INET && family != AF_INET6)
		return false;
	if (type == SOCK_STREAM)
		return protocol == 0 || protocol == 6;
	return type == SOCK_DGRAM && (protocol == 0 || protocol == 17);
}

static void
socket_allows_only_tcp_and_udp_with_network(void **state)
{
	static const uint64_t protocols[] = { 0,  1,   2,   6,	 17, 33,
					      58, 132, 136, 255, 262 };

	(void)state;
	for (uint64_t family = 0; family <= 45; family++)
		for (uint64_t type = 0; type < 16; type++)
			for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
				uint64_t p = protocols[i];
				uint32_t want = REFUSE(EAFNOSUPPORT);

				if (family == AF_UNSPEC)
					want = REFUSE(ENOSYS);
				if (family == AF_UNIX)
					want = REFUSE(EPERM);
				if (is_tcp_or_udp(family, type, p))
					want = ALLOW;
				expect(FILTER_NETWORK, "socket", want, family,
				       type, p);
				expect(FILTER_NETWORK, "socket", want,
				       family | HIGH,
				       type | SOCK_NONBLOCK | SOCK_CLOEXEC,
				       p | HIGH);
			}
	for (unsigned bit = 4; bit < 32; bit++)
		if (BIT(bit) != SOCK_NONBLOCK && BIT(bit) != SOCK_CLOEXEC)
			expect(FILTER_NETWORK, "socket", REFUSE(EAFNOSUPPORT),
			       AF_INET, SOCK_STREAM | BIT(bit), 0);
}

static void
socketpair_allows_only_unix(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (uint64_t family = 0; family <= 45; family++)
			expect(v, "socketpair",
			       family == AF_UNIX ? ALLOW : REFUSE(EAFNOSUPPORT),
			       family, SOCK_STREAM);
}

/* Numbers instead of names, so that the test does not repeat the list it
   checks. */
static bool
is_plain_option(int level, int option)
{
	static const uint64_t socket_level[] = { 2, 6, 7, 8, 9, 13, 20, 21 };
	static const uint64_t tcp[] = { 1, 4, 5, 6, 9, 18 };
	static const uint64_t ip[] = { 1, 11 };
	static const uint64_t ipv6[] = { 25, 26 };
	uint64_t o = (uint64_t)option;

	switch (level) {
	case 1:
		return IS_ONE_OF(o, socket_level);
	case 6:
		return IS_ONE_OF(o, tcp);
	case 0:
		return IS_ONE_OF(o, ip);
	case 41:
		return IS_ONE_OF(o, ipv6);
	default:
		return false;
	}
}

static void
setsockopt_allows_only_plain_options_with_network(void **state)
{
	(void)state;
	for (int level = 0; level < 300; level++)
		for (int option = 0; option < 120; option++) {
			uint32_t want = is_plain_option(level, option)
						? ALLOW
						: REFUSE(EPERM);

			expect(FILTER_NETWORK, "setsockopt", want, 3,
			       (uint64_t)level, (uint64_t)option);
			expect(FILTER_NETWORK, "setsockopt", want, 3,
			       (uint64_t)level | HIGH, (uint64_t)option | HIGH);
		}
	expect(FILTER_NETWORK, "setsockopt", REFUSE(EPERM), 3, 6, 31); /* ULP */
}

/* SO_REUSEPORT is 15 of the socket level, SO_OOBINLINE 10. 49, 51 and 66 of
   IPv6 deliver what the kernel knows of a datagram. Without a private network,
   a port could be shared with the user's other processes. */
static void
setsockopt_allows_shared_ports_only_in_private_networks(void **state)
{
	static const uint64_t ipv6[] = { 49, 51, 66 };

	(void)state;
	for (int level = 0; level < 300; level++)
		for (int option = 0; option < 120; option++) {
			bool is_private = (level == 1 &&
					   (option == 15 || option == 10)) ||
					  (level == 41 &&
					   IS_ONE_OF((uint64_t)option, ipv6));
			bool is_plain = is_plain_option(level, option);

			expect(FILTER_LOCAL_NETWORK, "setsockopt",
			       is_plain || is_private ? ALLOW : REFUSE(EPERM),
			       3, (uint64_t)level, (uint64_t)option);
			expect(FILTER_LOCAL, "setsockopt",
			       is_plain ? ALLOW : REFUSE(EPERM), 3,
			       (uint64_t)level, (uint64_t)option);
			expect(FILTER_NETWORK | FILTER_SUBPROCESS, "setsockopt",
			       is_plain ? ALLOW : REFUSE(EPERM), 3,
			       (uint64_t)level, (uint64_t)option);
		}
}

static void
keeper_gets_internet_sockets_only_for_policies_with_network(void **state)
{
	(void)state;
	for (uint64_t family = 0; family <= 45; family++)
		for (uint64_t type = 0; type < 16; type++) {
			bool is_unix = family == AF_UNIX;
			bool is_net = is_tcp_or_udp(family, type, 0);

			expect(FILTER_KEEPER, "socket",
			       is_unix ? ALLOW : REFUSE(EAFNOSUPPORT), family,
			       type);
			expect(FILTER_KEEPER_NETWORK, "socket",
			       is_unix || is_net ? ALLOW : REFUSE(EAFNOSUPPORT),
			       family, type);
		}
}

static void
unix_sockets_come_in_two_variants(void **state)
{
	(void)state;
	for (uint64_t family = 0; family <= 45; family++)
		for (uint64_t type = 0; type < 16; type++) {
			bool is_unix =
				family == AF_UNIX &&
				(type == SOCK_STREAM || type == SOCK_DGRAM ||
				 type == SOCK_SEQPACKET);
			bool is_net = is_tcp_or_udp(family, type, 0);
			uint32_t other = family == AF_UNSPEC
						 ? REFUSE(ENOSYS)
						 : REFUSE(EAFNOSUPPORT);

			expect(FILTER_LOCAL, "socket",
			       is_unix ? ALLOW : REFUSE(EPERM), family, type);
			expect(FILTER_LOCAL_NETWORK, "socket",
			       is_unix || is_net ? ALLOW : other, family, type);
		}
	for (uint64_t size = 0; size < 256; size++) {
		expect(FILTER_LOCAL, "bind", ALLOW, 3, 0x1000, size);
		expect(FILTER_LOCAL_NETWORK, "bind", ALLOW, 3, 0x1000, size);
	}
}

/* 0010000 is S_IFIFO. A socket without a process, a device or a file must be
   made by other calls, if at all. */
static void
mknod_makes_only_fifos_and_only_with_unix_sockets(void **state)
{
	(void)state;
	for (uint64_t kind = 0; kind < 16; kind++) {
		uint64_t mode = kind << 12;

		expect(FILTER_LOCAL, "mknod", kind == 1 ? ALLOW : REFUSE(EPERM),
		       0x1000, mode | 0644);
		expect(FILTER_LOCAL, "mknodat",
		       kind == 1 ? ALLOW : REFUSE(EPERM), 3, 0x1000,
		       mode | 0644);
		expect(FILTER_LOCAL, "mknodat", REFUSE(EPERM), 3, 0x1000,
		       mode | 04644);
		expect(FILTER_SUBPROCESS, "mknodat", REFUSE(EPERM), 3, 0x1000,
		       mode | 0644);
	}
}

/* One end of a datagram pair can send to any socket of the host that is a file
   in a mounted directory. */
static void
closing_filter_for_host_directories_allows_only_connected_pairs(void **state)
{
	static const uint64_t connected[] = { SOCK_STREAM, SOCK_SEQPACKET };
	const unsigned v = FILTER_CLOSING + CLOSING_STREAMS;

	(void)state;
	for (uint64_t family = 0; family <= 45; family++)
		for (uint64_t type = 0; type < 16; type++) {
			uint32_t want =
				family == AF_UNIX && IS_ONE_OF(type, connected)
					? ALLOW
					: REFUSE(EAFNOSUPPORT);

			expect(v, "socketpair", want, family, type);
			expect(v, "socketpair", want, family,
			       type | SOCK_CLOEXEC | SOCK_NONBLOCK);
		}
	expect(FILTER_CLOSING, "socketpair", ALLOW, AF_UNIX, SOCK_DGRAM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_data_is_refused_to_all_code),
		cmocka_unit_test(unix_sockets_come_in_two_variants),
		cmocka_unit_test(
			mknod_makes_only_fifos_and_only_with_unix_sockets),
		cmocka_unit_test(
			closing_filter_for_host_directories_allows_only_connected_pairs),
		cmocka_unit_test(
			socket_of_any_family_is_refused_without_network),
		cmocka_unit_test(
			bind_accepts_only_internet_addresses_with_network),
		cmocka_unit_test(socket_allows_only_tcp_and_udp_with_network),
		cmocka_unit_test(socketpair_allows_only_unix),
		cmocka_unit_test(
			setsockopt_allows_only_plain_options_with_network),
		cmocka_unit_test(
			setsockopt_allows_shared_ports_only_in_private_networks),
		cmocka_unit_test(
			keeper_gets_internet_sockets_only_for_policies_with_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * FILTER_STRICT_MEMORY refuses kernel memory that no limit of a process counts,
 * and other variants do not.
 */
#include "base/own.h"
#include "filter_query.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

static void
strict_memory_refuses_memory_outside_the_address_space(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		bool strict = v & FILTER_STRICT_MEMORY;
		uint32_t shared = strict ? REFUSE(ENOMEM) : ALLOW;
		uint32_t other = strict ? REFUSE(EPERM) : ALLOW;

		expect(v, "mmap", shared, 0, 4096, 3,
		       MAP_SHARED | MAP_ANONYMOUS);
		expect(v, "mmap", shared, 0, 4096, 3,
		       MAP_SHARED_VALIDATE | MAP_ANONYMOUS | MAP_NORESERVE);
		expect(v, "mmap", ALLOW, 0, 4096, 3,
		       MAP_PRIVATE | MAP_ANONYMOUS);
		expect(v, "memfd_create", other, 0);
		expect(v, "recvmsg", ALLOW, 0);
	}
}

/* The runner needs sendmsg once, to send the listener. */
static void
strict_memory_refuses_sendmsg_after_closing(void **state)
{
	(void)state;
	expect(FILTER_STRICT_MEMORY, "sendmsg", ALLOW, 3);
	expect(FILTER_CLOSING, "sendmsg", ALLOW, 3);
	expect(FILTER_CLOSING, "sendmmsg", ALLOW, 3);
	expect(FILTER_CLOSING_STRICT, "sendmsg", REFUSE(EPERM), 3);
	expect(FILTER_CLOSING_STRICT, "sendmmsg", REFUSE(EPERM), 3);
}

static void
strict_memory_refuses_epoll(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		bool strict = v & FILTER_STRICT_MEMORY;
		uint32_t want = strict ? REFUSE(ENOSYS) : ALLOW;

		expect(v, "epoll_create", want, 1);
		expect(v, "epoll_create1", want, 0);
		expect(v, "epoll_create1", want, O_CLOEXEC);
		/* asyncio uses this instead */
		expect(v, "poll", ALLOW, 0);
		expect(v, "ppoll", ALLOW, 0);
	}
	expect(FILTER_KEEPER, "epoll_create1", ALLOW, O_CLOEXEC);
}

static void
strict_memory_refuses_record_locks(void **state)
{
	static const uint64_t always[] = {
		F_DUPFD, F_GETFD,     F_SETFD,	       F_GETFL,	     F_SETFL,
		F_GETLK, F_OFD_GETLK, F_DUPFD_CLOEXEC, F_GETPIPE_SZ,
	};
	static const uint64_t locks[] = { F_SETLK, F_SETLKW, F_OFD_SETLK,
					  F_OFD_SETLKW };

	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (uint64_t command = 0; command < 1100; command++) {
			bool may = IS_ONE_OF(command, always) ||
				   (IS_ONE_OF(command, locks) &&
				    !(v & FILTER_STRICT_MEMORY));
			uint32_t want = may ? ALLOW : REFUSE(EPERM);

			expect(v, "fcntl", want, 3, command);
			expect(v, "fcntl", want, 3, command | HIGH);
		}
}

/* Add each of the two flags that do not change the type of socket. */
static void
expect_pairs(unsigned variant, uint64_t family, uint64_t type, uint32_t want)
{
	expect(variant, "socketpair", want, family, type);
	expect(variant, "socketpair", want, family, type | SOCK_CLOEXEC);
	expect(variant, "socketpair", want, family, type | SOCK_NONBLOCK);
	expect(variant, "socketpair", want, family | HIGH,
	       type | SOCK_CLOEXEC | SOCK_NONBLOCK | HIGH);
}

static void
strict_memory_allows_only_stream_socketpairs(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (uint64_t family = 0; family <= 45; family++)
			for (uint64_t type = 0; type < 16; type++) {
				bool strict = v & FILTER_STRICT_MEMORY;
				bool may = family == AF_UNIX &&
					   (type == SOCK_STREAM || !strict);

				expect_pairs(v, family, type,
					     may ? ALLOW
						 : REFUSE(EAFNOSUPPORT));
			}
}

static void
strict_memory_refuses_other_bits_in_a_socketpair_type(void **state)
{
	const uint64_t known = SOCK_NONBLOCK | SOCK_CLOEXEC;

	(void)state;
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t want = (BIT(bit) & (known | SOCK_STREAM))
					? ALLOW
					: REFUSE(EAFNOSUPPORT);

		expect(FILTER_STRICT_MEMORY, "socketpair", want, AF_UNIX,
		       SOCK_STREAM | BIT(bit));
		expect(FILTER_STRICT_MEMORY, "socketpair", want, AF_UNIX,
		       SOCK_STREAM | known | BIT(bit));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			strict_memory_refuses_memory_outside_the_address_space),
		cmocka_unit_test(strict_memory_refuses_sendmsg_after_closing),
		cmocka_unit_test(strict_memory_refuses_epoll),
		cmocka_unit_test(strict_memory_refuses_record_locks),
		cmocka_unit_test(strict_memory_allows_only_stream_socketpairs),
		cmocka_unit_test(
			strict_memory_refuses_other_bits_in_a_socketpair_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

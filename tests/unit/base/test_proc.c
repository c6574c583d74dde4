/*
 * proc: facts about a process from /proc.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/proc.h"

#include <cmocka.h>

static void
a_line_is_found_by_its_whole_key(void **state)
{
	static const char text[] = "Name:\tx\nUid:\t7\t8\nSeccomp:\t2\n"
				   "Seccomp_filters:\t3\nLast:\t9\n";

	(void)state;
	assert_memory_equal(proc_status_line(text, "Name"), "x\n", 2);
	assert_memory_equal(proc_status_line(text, "Uid"), "7\t8", 3);
	assert_memory_equal(proc_status_line(text, "Seccomp"), "2\n", 2);
	assert_memory_equal(proc_status_line(text, "Seccomp_filters"), "3\n",
			    2);
	assert_memory_equal(proc_status_line(text, "Last"), "9\n", 2);
	assert_null(proc_status_line(text, "Sec"));
	assert_null(proc_status_line(text, "id"));
	assert_null(proc_status_line("", "Name"));
}

static void
process_can_read_its_own_status(void **state)
{
	uint64_t pid = 0, threads = 0, nothing;

	(void)state;
	assert_int_equal(proc_status_number(getpid(), "Pid", &pid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(proc_status_number(getpid(), "Threads", &threads), 0);
	assert_int_equal(threads, 1);
	assert_int_equal(proc_status_number(getpid(), "Nothing", &nothing), -1);
}

static void
missing_process_is_an_error(void **state)
{
	char text[PROC_STATUS_SIZE];

	(void)state;
	errno = 0;
	assert_int_equal(proc_status(0x7ffffff0, text), -1);
	assert_int_equal(errno, ENOENT);
}

static void
pss_grows_with_touched_memory(void **state)
{
	size_t size = 16 << 20;
	uint64_t before = proc_pss_bytes(getpid()), after;
	char *touched;

	(void)state;
	assert_true(before > 0);
	touched = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(touched, MAP_FAILED);
	memset(touched, 1, size);
	after = proc_pss_bytes(getpid());
	munmap(touched, size);
	/* The result is in bytes, while the kernel reports KiB. */
	assert_in_range(after - before, size / 2, 4 * size);
}

static void
missing_process_has_no_memory(void **state)
{
	(void)state;
	assert_int_equal(proc_pss_bytes(0x7ffffff0), 0);
	assert_int_equal(proc_huge_bytes(0x7ffffff0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_found_by_its_whole_key),
		cmocka_unit_test(process_can_read_its_own_status),
		cmocka_unit_test(missing_process_is_an_error),
		cmocka_unit_test(pss_grows_with_touched_memory),
		cmocka_unit_test(missing_process_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * memory_bound: the sum of everything that can hold memory stays within
 * memory_bytes. Checked with the kernel's own costs as lower bounds, not with
 * the constants of the code.
 */
#include "field.h"
#include "memory_bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* struct shmem_inode_info and a dentry; a kernel stack and a task_struct. */
#define LEAST_INODE  UINT64_C(900)
#define LEAST_THREAD UINT64_C(24 * 1024)
/* struct file, its slot and an epoll item. */
#define LEAST_FILE UINT64_C(400)

static struct policy
ordinary(void)
{
	return (struct policy){
		.memory_bytes = 512 * MIB,
		.disk_bytes = 64 * MIB,
		.files = 1000,
		.open_files = 64,
		.processes = 16,
	};
}

static const struct host ordinary_host = {
	.page_bytes = 4096,
	.socket_buffer_bytes = 212992,
};

static struct memory_bound
compute(const struct policy *p, const struct host *h)
{
	struct memory_bound b;

	memory_bound_compute(&b, p, h);
	return b;
}

/* All levels: 8 bytes for each page of the level below. */
static uint64_t
page_tables(uint64_t mapped)
{
	uint64_t sum = 0;

	for (uint64_t level = mapped; level > 4096; level /= 512)
		sum += level / 512 + 8;
	return sum;
}

static void
check(const struct policy *p, const struct host *h)
{
	struct memory_bound b = compute(p, h);

	assert_true(b.files >= p->disk_bytes + p->files * LEAST_INODE);
	assert_true(b.kernel >=
		    p->open_files * (h->socket_buffer_bytes + LEAST_FILE) +
			    p->processes * LEAST_THREAD);
	if (!b.address_space)
		return;
	assert_true(b.address_space + page_tables(b.address_space) + b.files +
			    b.kernel <=
		    p->memory_bytes);
	assert_true(b.address_space % h->page_bytes == 0);
	assert_true(b.address_space >= 32 * MIB);
}

static void
the_parts_never_add_up_to_more_than_the_limit(void **state)
{
	static const uint64_t memory[] = {
		16 * MIB,      100 * MIB,  256 * MIB,
		512 * MIB + 1, 2048 * MIB, MIB * MIB
	};
	static const uint64_t disk[] = { 65536, 64 * MIB, 256 * MIB,
					 MIB * MIB };
	static const uint64_t files[] = { 16, 10000, 10 * 1000 * 1000 };
	static const uint64_t open_files[] = { 16, 256, 65536 };
	static const uint64_t processes[] = { 1, 64, 32768 };
	static const uint64_t pages[] = { 4096, 65536 };

	(void)state;
	for (unsigned n = 0; n < 6 * 4 * 3 * 3 * 3 * 2; n++) {
		struct host h = { .socket_buffer_bytes = 212992 };
		struct policy p = { 0 };
		unsigned i = n;

		p.memory_bytes = memory[i % 6], i /= 6;
		p.disk_bytes = disk[i % 4], i /= 4;
		p.files = files[i % 3], i /= 3;
		p.open_files = open_files[i % 3], i /= 3;
		p.processes = processes[i % 3], i /= 3;
		h.page_bytes = pages[i % 2];
		check(&p, &h);
	}
}

static void
what_is_left_is_not_wasted(void **state)
{
	struct policy p = ordinary();
	struct memory_bound b = compute(&p, &ordinary_host);

	(void)state;
	assert_true(b.address_space > 0);
	assert_true(b.address_space + b.files + b.kernel >
		    p.memory_bytes - p.memory_bytes / 100);
}

static void
every_part_of_the_policy_takes_its_share(void **state)
{
	uint64_t before;
	struct policy p = ordinary();
	struct host h = ordinary_host;

	(void)state;
	before = compute(&p, &h).address_space;
	p.disk_bytes += MIB;
	assert_true(compute(&p, &h).address_space <= before - MIB + 65536);
	p = ordinary();
	p.files += 10000;
	assert_true(compute(&p, &h).address_space <=
		    before - 10000 * LEAST_INODE + 65536);
	p = ordinary();
	p.open_files += 100;
	assert_true(compute(&p, &h).address_space <=
		    before - 100 * h.socket_buffer_bytes + 65536);
	p = ordinary();
	p.processes += 1000;
	assert_true(compute(&p, &h).address_space <=
		    before - 1000 * LEAST_THREAD + 65536);
	p = ordinary();
	h.socket_buffer_bytes *= 2;
	assert_true(compute(&p, &h).address_space < before);
}

static void
a_rest_too_small_for_an_interpreter_is_none(void **state)
{
	struct policy p = ordinary();
	struct memory_bound b = compute(&p, &ordinary_host);
	uint64_t fixed = b.files + b.kernel;

	(void)state;
	for (uint64_t rest = 0; rest < 40 * MIB; rest += MIB / 4) {
		p.memory_bytes = fixed + rest;
		assert_true(compute(&p, &ordinary_host).address_space == 0);
	}
	p.memory_bytes = 1;
	assert_true(compute(&p, &ordinary_host).address_space == 0);
	p.memory_bytes = fixed + 64 * MIB;
	assert_true(compute(&p, &ordinary_host).address_space > 0);
}

/* The largest values the field table lets through must not wrap around. */
static void
the_largest_values_of_the_table_do_not_overflow(void **state)
{
	struct policy p = {
		.memory_bytes = fields[F_MEMORY_BYTES].max,
		.disk_bytes = fields[F_DISK_BYTES].max,
		.files = fields[F_FILES].max,
		.open_files = fields[F_OPEN_FILES].max,
		.processes = fields[F_PROCESSES].max,
	};
	struct host h = ordinary_host;
	struct memory_bound b;

	(void)state;
	h.socket_buffer_bytes = UINT64_C(1) << 31;
	b = compute(&p, &h);
	assert_true(b.address_space == 0);
	assert_true(b.files > p.disk_bytes);
	assert_true(b.kernel > p.open_files << 31);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_never_add_up_to_more_than_the_limit),
		cmocka_unit_test(what_is_left_is_not_wasted),
		cmocka_unit_test(every_part_of_the_policy_takes_its_share),
		cmocka_unit_test(a_rest_too_small_for_an_interpreter_is_none),
		cmocka_unit_test(
			the_largest_values_of_the_table_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * memory_bound: the sum of everything that can use memory stays within
 * memory_bytes. Checked with the kernel's real costs as lower bounds, not with
 * the constants of the code.
 */
#include "policy/fields/field.h"
#include "policy/plan/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* struct shmem_inode_info and a dentry; a kernel stack and a task_struct. */
#define LEAST_INODE  UINT64_C(900)
#define LEAST_THREAD UINT64_C(24 * 1024)
/* struct file and its slot. */
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

/*
 * The worst case: every page needs a separate page table, a table above it (4
 * KiB each) and the kernel's structure of a mapping, up to vm.max_map_count
 * mappings.
 */
static uint64_t
worst_page_tables(uint64_t mapped, uint64_t page)
{
	uint64_t alone = mapped / page;

	return (alone < 65530 ? alone : 65530) * (4096 + 4096 + 512);
}

/* 256 MiB is the default, which may be reduced. */
static uint64_t
disk_of(const struct policy *p)
{
	if (p->disk_bytes == 256 * MIB && p->memory_bytes / 8 < 256 * MIB)
		return p->memory_bytes / 8;
	return p->disk_bytes;
}

static void
check(const struct policy *p, const struct host *h)
{
	struct memory_bound b = compute(p, h);
	uint64_t worst = worst_page_tables(b.address_space, h->page_bytes);
	uint64_t sum = b.address_space + worst + b.files + b.kernel;

	assert_true(b.files >= disk_of(p) + p->files * LEAST_INODE);
	assert_true(b.kernel >=
		    p->open_files * (h->socket_buffer_bytes + LEAST_FILE) +
			    p->processes * LEAST_THREAD);
	if (!b.address_space) {
		assert_true(b.page_tables == 0);
		return;
	}
	if (sum > p->memory_bytes)
		fail_msg("%llu bytes of memory, %llu in all",
			 (unsigned long long)p->memory_bytes,
			 (unsigned long long)sum);
	/* Two more pages would not fit. */
	assert_true(sum + 2 * (h->page_bytes + 8704) > p->memory_bytes);
	assert_true(b.page_tables >= worst);
	assert_true(b.address_space + b.page_tables + b.files + b.kernel ==
		    p->memory_bytes);
	assert_true(b.address_space % h->page_bytes == 0);
	assert_true(b.address_space >= 40 * MIB);
}

static const uint64_t pages[] = { 4096, 16384, 65536 };

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

	(void)state;
	for (unsigned n = 0; n < 6 * 4 * 3 * 3 * 3 * 3; n++) {
		struct host h = { .socket_buffer_bytes = 212992 };
		struct policy p = { 0 };
		unsigned i = n;

		p.memory_bytes = memory[i % 6], i /= 6;
		p.disk_bytes = disk[i % 4], i /= 4;
		p.files = files[i % 3], i /= 3;
		p.open_files = open_files[i % 3], i /= 3;
		p.processes = processes[i % 3], i /= 3;
		h.page_bytes = pages[i % 3];
		check(&p, &h);
	}
}

static void
every_size_of_memory_is_used_and_none_is_exceeded(void **state)
{
	static const uint64_t disk[] = { 1 * MIB, 64 * MIB, 256 * MIB };
	struct host h = ordinary_host;
	struct policy p = ordinary();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		for (size_t k = 0; k < ARRAY_LEN(disk); k++) {
			h.page_bytes = pages[i];
			p.disk_bytes = disk[k];
			p.memory_bytes = 16 * MIB;
			for (; p.memory_bytes < 16384 * MIB;
			     p.memory_bytes += MIB + 997)
				check(&p, &h);
		}
}

/* Above the limit, more pages need no more page tables. */
static void
memory_bound_holds_on_both_sides_of_the_mapping_limit(void **state)
{
	struct host h = ordinary_host;
	struct policy p = ordinary();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		uint64_t page = pages[i], last = 0, edge;
		struct memory_bound b = compute(&p, &h);

		h.page_bytes = page;
		edge = b.files + b.kernel + 65530 * (page + 8704);
		for (p.memory_bytes = edge - 40 * page;
		     p.memory_bytes <= edge + 40 * page;
		     p.memory_bytes += page / 8) {
			check(&p, &h);
			b = compute(&p, &h);
			assert_true(b.address_space >= last);
			last = b.address_space;
		}
		p.memory_bytes = edge - 1;
		check(&p, &h);
		assert_true(compute(&p, &h).address_space == 65529 * page);
		p.memory_bytes = edge;
		check(&p, &h);
		assert_true(compute(&p, &h).address_space == 65530 * page);
		p.memory_bytes = edge + page;
		check(&p, &h);
		assert_true(compute(&p, &h).address_space == 65531 * page);
		p = ordinary();
	}
}

/* The address space is reduced by what `now` needs; a page is 4096 of 12800
   bytes if each has separate tables. */
static void
takes(const struct policy *now, uint64_t before, uint64_t bytes)
{
	uint64_t space = compute(now, &ordinary_host).address_space;

	if (now->memory_bytes < 1024 * MIB)
		bytes = bytes / 12800 * 4096;
	assert_true(space > 0);
	assert_true(space <= before - bytes + 65536);
}

static void
memory_bound_subtracts_every_part_of_the_policy(void **state)
{
	static const uint64_t memory[] = { 512 * MIB, 4096 * MIB };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(memory); i++) {
		struct policy start = ordinary(), p;
		struct host h = ordinary_host;
		uint64_t before;

		start.memory_bytes = memory[i];
		before = compute(&start, &h).address_space;
		p = start;
		p.disk_bytes += MIB;
		takes(&p, before, MIB);
		p = start;
		p.files += 10000;
		takes(&p, before, 10000 * LEAST_INODE);
		p = start;
		p.open_files += 100;
		takes(&p, before, 100 * h.socket_buffer_bytes);
		p = start;
		p.processes += 1000;
		takes(&p, before, 1000 * LEAST_THREAD);
		h.socket_buffer_bytes *= 2;
		assert_true(compute(&start, &h).address_space < before);
	}
}

/* 40 MiB are 10240 pages, each with 8.5 KiB of overhead. */
static void
memory_bound_too_small_for_an_interpreter_is_zero(void **state)
{
	struct policy p = ordinary();
	struct memory_bound b = compute(&p, &ordinary_host);
	uint64_t fixed = b.files + b.kernel;

	(void)state;
	for (uint64_t rest = 0; rest < 125 * MIB; rest += MIB / 4) {
		p.memory_bytes = fixed + rest;
		b = compute(&p, &ordinary_host);
		assert_true(b.address_space == 0 && b.page_tables == 0);
	}
	p.memory_bytes = 1;
	assert_true(compute(&p, &ordinary_host).address_space == 0);
	p.memory_bytes = fixed + 125 * MIB - 1;
	assert_true(compute(&p, &ordinary_host).address_space == 0);
	p.memory_bytes = fixed + 125 * MIB;
	assert_true(compute(&p, &ordinary_host).address_space == 40 * MIB);
}

static void
the_default_disk_is_at_most_an_eighth_and_a_chosen_one_is_kept(void **state)
{
	static const struct {
		uint64_t memory, disk, want;
	} rows[] = {
		{ 512 * MIB, 256 * MIB, 64 * MIB },
		{ 100 * MIB, 256 * MIB, 100 * MIB / 8 },
		{ 2048 * MIB - 8, 256 * MIB, 256 * MIB - 1 },
		{ 2048 * MIB, 256 * MIB, 256 * MIB },
		{ 2048 * MIB + 8, 256 * MIB, 256 * MIB },
		{ MIB * MIB, 256 * MIB, 256 * MIB },
		/* chosen */
		{ 512 * MIB, 256 * MIB + 1, 256 * MIB + 1 },
		{ 512 * MIB, 256 * MIB - 1, 256 * MIB - 1 },
		{ 100 * MIB, 64 * MIB, 64 * MIB },
		{ 100 * MIB, 1024 * MIB, 1024 * MIB },
		{ 4096 * MIB, MIB, MIB },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy p = ordinary();
		uint64_t files;

		p.files = 0;
		p.memory_bytes = rows[i].memory;
		p.disk_bytes = rows[i].disk;
		if (memory_bound_disk(&p) != rows[i].want)
			fail_msg("row %zu: %llu", i,
				 (unsigned long long)memory_bound_disk(&p));
		files = compute(&p, &ordinary_host).files;
		assert_true(files == rows[i].want);
	}
}

/* The largest values of the field table must not overflow. */
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
		cmocka_unit_test(
			every_size_of_memory_is_used_and_none_is_exceeded),
		cmocka_unit_test(
			memory_bound_holds_on_both_sides_of_the_mapping_limit),
		cmocka_unit_test(
			memory_bound_subtracts_every_part_of_the_policy),
		cmocka_unit_test(
			memory_bound_too_small_for_an_interpreter_is_zero),
		cmocka_unit_test(
			the_default_disk_is_at_most_an_eighth_and_a_chosen_one_is_kept),
		cmocka_unit_test(
			the_largest_values_of_the_table_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

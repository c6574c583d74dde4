/*
 * assembler: classic BPF, written from its end to its start.
 *
 * BPF jumps only forward. When a program is written backward, the target of a
 * jump always exists already, so every instruction is complete when it is
 * written: no labels to patch, no second pass. A place is the number of
 * instructions that follow it.
 *
 * A conditional jump reaches 255 instructions. For a target further away, a
 * copy of the return or a long jump is put within reach; the caller need not
 * know.
 *
 * This is a build tool: a program that cannot be assembled ends the process.
 */
#ifndef REMIT_ASSEMBLER_H
#define REMIT_ASSEMBLER_H

#include "jail/seccomp/syscall_table.h"

#include <linux/filter.h>
#include <stdint.h>

typedef int place;

#define NOWHERE (-1)

struct assembler {
	struct sock_filter code[BPF_MAXINSNS]; /* the last one first */
	int count;
};

/* One of the two 32-bit halves of an argument, masked, as it is loaded into A.
 */
struct operand {
	uint32_t offset;
	uint32_t mask;
};

/* Returns a place within reach that returns `action`. */
place asm_return(struct assembler *as, uint32_t action);
/* Loads the word at offset into A, then continues at next. */
place asm_load(struct assembler *as, uint32_t offset, place next);
/* Compares A with value: jump is BPF_JEQ or BPF_JGE. */
place asm_branch(struct assembler *as, uint16_t jump, uint32_t value, place yes,
		 place no);
/* Chooses an action by the arguments of the call. */
place asm_check(struct assembler *as, const struct check *check);

/* The i-th instruction in the order of execution. */
const struct sock_filter *asm_at(const struct assembler *as, int i);

#endif

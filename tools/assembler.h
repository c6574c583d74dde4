/*
 * assembler: classic BPF, written from its end to its start.
 *
 * BPF jumps only forward. Written backward, the target of a jump always
 * exists already, so every instruction can be finished when it is written:
 * no labels to patch, no second pass. A place is the count of instructions
 * that follow it.
 *
 * A conditional jump reaches 255 instructions. For a target further away a
 * copy of the return, or a long jump, is put within reach; the caller does
 * not notice.
 *
 * It is a build tool: what cannot be assembled ends the program.
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

/* One of the two halves of an argument after a mask, as held in A. */
struct operand {
	uint32_t offset;
	uint32_t mask;
};

place asm_return(struct assembler *as, uint32_t action);
/* A = word at offset, then go on at next. */
place asm_load(struct assembler *as, uint32_t offset, place next);
/* jump is one of BPF_JEQ, BPF_JGE. */
place asm_branch(struct assembler *as, uint16_t jump, uint32_t value, place yes,
		 place no);
/* Decide by the arguments. */
place asm_check(struct assembler *as, const struct check *check);

/* The i-th instruction in the order of execution. */
const struct sock_filter *asm_at(const struct assembler *as, int i);

#endif

/*
 * trap_guest: what wabt's runtime calls when the guest traps. Included before
 * wasm-rt-impl.c, which knows nothing else of this program.
 */
#ifndef REMIT_TRAP_GUEST_H
#define REMIT_TRAP_GUEST_H

void __attribute__((noreturn)) trap_guest(int reason);

#endif

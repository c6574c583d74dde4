/*
 * guest_abi: the names in the C code that wasm2c makes of a guest. They differ
 * between releases of wabt: 1.0.32 (Debian 12) and 1.0.36 (Debian 13).
 */
#ifndef REMIT_GUEST_ABI_H
#define REMIT_GUEST_ABI_H

#include "guest.h" /* written by wasm2c -n guest */

#ifdef WASM_RT_USE_MMAP /* since 1.0.33 */

#define GUEST_INSTANCE w2c_guest
#define GUEST_INIT()   wasm_rt_init()
#define GUEST_INSTANTIATE(g, wasi, remit) \
	wasm2c_guest_instantiate(g, remit, wasi)
#define GUEST_MEMORY(g)	    w2c_guest_memory(g)
#define GUEST_INITIALIZE(g) w2c_guest_0x5Finitialize(g)
#define GUEST_START(g)	    w2c_guest_remit_start(g)
#define GUEST_STEP(g)	    w2c_guest_remit_step(g)
#define GUEST_INTERRUPT(g)  w2c_guest_remit_interrupt(g)

#define WASI_INSTANCE	   struct w2c_wasi__snapshot__preview1
#define WASI_IMPORT(name)  w2c_wasi__snapshot__preview1_##name
#define REMIT_INSTANCE	   struct w2c_remit
#define REMIT_IMPORT(name) w2c_remit_##name

#else

#define GUEST_INSTANCE Z_guest_instance_t
#define GUEST_INIT()                   \
	do {                           \
		wasm_rt_init();        \
		Z_guest_init_module(); \
	} while (0)
#define GUEST_INSTANTIATE(g, wasi, remit) Z_guest_instantiate(g, remit, wasi)
#define GUEST_MEMORY(g)			  Z_guestZ_memory(g)
#define GUEST_INITIALIZE(g)		  Z_guestZ__initialize(g)
#define GUEST_START(g)			  Z_guestZ_remit_start(g)
#define GUEST_STEP(g)			  Z_guestZ_remit_step(g)
#define GUEST_INTERRUPT(g)		  Z_guestZ_remit_interrupt(g)

#define WASI_INSTANCE	   struct Z_wasi_snapshot_preview1_instance_t
#define WASI_IMPORT(name)  Z_wasi_snapshot_preview1Z_##name
#define REMIT_INSTANCE	   struct Z_remit_instance_t
#define REMIT_IMPORT(name) Z_remitZ_##name

#endif

#endif

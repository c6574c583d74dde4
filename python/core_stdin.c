/*
 * core_stdin: defines a symbol with which a static libjansson can be linked
 * into a library.
 *
 * Debian compiles libjansson.a for programs: json_loadf(), which Remit never
 * calls, refers to the C library's stdin in a way that works only in a program.
 * This hidden symbol, which is never read, satisfies the linker.
 */
__attribute__((visibility("hidden"), used)) void *core_stdin __asm__("stdin");

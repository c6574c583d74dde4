/*
 * core_stdin: a name that lets a static libjansson be linked into a library.
 *
 * Debian compiles libjansson.a for programs: its json_loadf(), which nobody
 * here calls, reaches for the C library's stdin as only a program can. With a
 * stdin of our own, hidden and never read, the linker is content.
 */
__attribute__((visibility("hidden"), used)) void *core_stdin __asm__("stdin");

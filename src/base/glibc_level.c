/*
 * glibc_level: keeps the wheel compatible with manylinux_2_36 or older, even if
 * it is built with a newer C library.
 *
 * From glibc 2.38 on, headers redirect strtol() and similar functions to C23
 * variants, which older systems lack; these differ only in that they accept the
 * prefix "0b". Debian's static jansson calls them, too. A shared module that is
 * linked with this file calls the old functions.
 *
 * No header is included: it would rename the functions here as well.
 */
long old_strtol(const char *, char **, int) __asm__("strtol");
long long old_strtoll(const char *, char **, int) __asm__("strtoll");
unsigned long old_strtoul(const char *, char **, int) __asm__("strtoul");
unsigned long long old_strtoull(const char *, char **, int) __asm__("strtoull");

long __isoc23_strtol(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);
unsigned long __isoc23_strtoul(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);

long
__isoc23_strtol(const char *text, char **end, int base)
{
	return old_strtol(text, end, base);
}

long long
__isoc23_strtoll(const char *text, char **end, int base)
{
	return old_strtoll(text, end, base);
}

unsigned long
__isoc23_strtoul(const char *text, char **end, int base)
{
	return old_strtoul(text, end, base);
}

unsigned long long
__isoc23_strtoull(const char *text, char **end, int base)
{
	return old_strtoull(text, end, base);
}

#include "filter.h"

#include "filter_programs.h"

#if defined(__x86_64__)
#define NATIVE FILTER_X86_64
#elif defined(__aarch64__)
#define NATIVE FILTER_AARCH64
#else
#error "the tables know x86-64 and aarch64"
#endif

const struct filter *
filter_for(enum filter_arch arch, unsigned variant)
{
	if (arch >= FILTER_ARCHES || variant >= FILTER_VARIANTS)
		return NULL;
	return &programs[arch][variant];
}

const struct filter *
filter_native(unsigned variant)
{
	return filter_for(NATIVE, variant);
}

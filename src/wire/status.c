#include "wire/status.h"

#include <string.h>

#define OWN_CODE    (-1)
#define SIGNAL_CODE (-2)

const struct status_info statuses[STATUS_COUNT] = {
	[STATUS_OK] = { "ok", OWN_CODE, "the program ran to its end" },
	[STATUS_ERROR] = { "error", OWN_CODE, "an exception nobody caught" },
	[STATUS_EXIT] = { "exit", OWN_CODE, "the program left by itself" },
	[STATUS_TIMEOUT] = { "timeout", 124, "the wall clock ran out" },
	[STATUS_CPU_LIMIT] = { "cpu_limit", 124, "processor time ran out" },
	[STATUS_MEMORY_LIMIT] = { "memory_limit", 137,
				  "the kernel killed it for its memory" },
	[STATUS_OUTPUT_LIMIT] = { "output_limit", 141,
				  "it wrote more than the ceiling" },
	[STATUS_KILLED] = { "killed", SIGNAL_CODE, "a signal ended it" },
	[STATUS_INTERRUPTED] = { "interrupted", 130, "the caller stopped it" },
	[STATUS_REJECTED] = { "rejected", 126,
			      "the validator turned it away, nothing ran" },
	[STATUS_INSTALL_FAILED] = { "install_failed", 126,
				    "a package could not be installed" },
	[STATUS_REFUSED] = { "refused", 125,
			     "the policy cannot be kept here, nothing ran" },
	[STATUS_BUSY] = { "busy", 125, "too many runs are waiting" },
	[STATUS_INTERNAL] = { "internal", 125, "Remit or the machine failed" },
};

int
status_find(const char *name)
{
	for (int i = 0; i < STATUS_COUNT; i++)
		if (!strcmp(statuses[i].name, name))
			return i;
	return -1;
}

int
status_exit_code(enum status s, int program_exit_code, int signal)
{
	switch (statuses[s].exit_code) {
	case OWN_CODE:
		return program_exit_code;
	case SIGNAL_CODE:
		return 128 + signal;
	default:
		return statuses[s].exit_code;
	}
}

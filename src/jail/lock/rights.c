#include "jail/lock/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "jail/linux_abi.h"

int
rights_drop_own(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &head, none);
}

static int
empty_bounding_set(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break; /* beyond the kernel's last capability */
			return -1;
		}
	return 0;
}

int
rights_drop(bool bounding)
{
	if (bounding && empty_bounding_set() < 0)
		return -1;
	if (prctl(PR_SET_SECUREBITS, RIGHTS_SECUREBITS, 0, 0, 0) < 0)
		return -1;
	return rights_drop_own();
}

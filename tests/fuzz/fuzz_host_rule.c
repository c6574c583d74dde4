/*
 * An entry of network_allow: what is taken names a host and a port.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

/* What is called a name is one, in its one form. */
static void
check_name(const char *name)
{
	char again[HOST_NAME_SIZE];

	must(host_name_read(name, strlen(name), again) == 0);
	must(!strcmp(name, again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *text = calloc(1, size + 1);
	struct remit_error err = { 0 };
	struct host_rule r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (host_rule_read(text, &r, &err) < 0) {
		must(err.code == REMIT_E_REFUSED && err.message[0] &&
		     err.remedy[0]);
		return 0;
	}
	must(r.port != 0);
	must((r.name[0] != 0) != (r.address != 0));
	if (r.name[0])
		check_name(r.name);
	else
		must(r.kind == HOST_TCP && !r.may_be_private);
	return 0;
}

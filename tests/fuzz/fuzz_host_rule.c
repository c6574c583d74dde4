/*
 * An entry of network_allow: what is taken names a host and a port.
 */
#include "host_rule.h"
#include "names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

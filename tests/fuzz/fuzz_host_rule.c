/*
 * An entry of network_allow: an accepted entry names a host and a port.
 */
#include "fuzz.h"
#include "names.h"
#include "policy/rules/host_rule.h"

/* An accepted address has one form, and is not the unspecified address. */
static void
check_address(const struct address *a)
{
	static const struct address none = { 0 }, none6 = { .is_v6 = true };
	char text[ADDRESS_TEXT];
	struct address again;

	address_show(a, text);
	must(address_read(text, &again) == 0 && address_equal(a, &again));
	must(!address_equal(a, &none) && !address_equal(a, &none6));
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
	if (r.name[0]) {
		check_name(r.name);
	} else {
		must(r.kind != HOST_TLS && !r.may_be_private && !r.is_below);
		check_address(&r.address);
	}
	must(!r.methods || r.kind == HOST_PLAIN);
	must(r.methods < 1u << HOST_METHODS);
	return 0;
}

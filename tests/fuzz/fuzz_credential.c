/*
 * An entry of the field credentials: an accepted entry names a host, a header
 * that does not control the request itself, and the place of its value.
 */
#include <strings.h>

#include "fuzz.h"
#include "names.h"
#include "policy/rules/credential.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *text = calloc(1, size + 1);
	struct remit_error err = { 0 };
	struct credential c;
	struct address a;

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (credential_read(text, &c, &err) < 0) {
		must(err.code == REMIT_E_REFUSED && err.message[0] &&
		     err.remedy[0]);
		return 0;
	}
	if (address_read(c.host, &a) < 0)
		check_name(c.host);
	must(c.header[0] && !strpbrk(c.header, ": \r\n\t"));
	must(strcasecmp(c.header, "Host") &&
	     strcasecmp(c.header, "Connection"));
	must(c.place == CREDENTIAL_IN_FILE ? c.from[0] == '/'
					   : c.from[0] && !strchr(c.from, '='));
	return 0;
}

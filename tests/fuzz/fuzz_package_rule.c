/*
 * An entry of packages: an accepted entry has one form, which is accepted
 * again, and pip cannot read it as an option, a URL or a path.
 */
#include "fuzz.h"
#include "names.h"
#include "policy/rules/package_rule.h"

static void
check_url(const char *text)
{
	struct package_url u;
	struct remit_error err = { 0 };

	if (package_url_read("package_index", text, &u, &err) < 0) {
		must(err.code == REMIT_E_REFUSED && err.remedy[0]);
		return;
	}
	must(u.port != 0 && u.host[0] != '\0');
	if (!u.is_address)
		check_name(u.host);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *text = calloc(1, size + 1);
	struct remit_error err = { 0 };
	struct package_rule r, again;

	if (!text)
		return 0;
	memcpy(text, data, size);
	check_url(text);
	if (package_rule_read(text, &r, &err) < 0) {
		must(err.code == REMIT_E_REFUSED && err.message[0] &&
		     err.remedy[0]);
		return 0;
	}
	must(r.name[0] && r.name[0] != '-' && r.text[0] != '-');
	must(!strpbrk(r.text, "/\\@:; \t\n"));
	must(!strncmp(r.text, r.name, strlen(r.name)));
	must(package_rule_read(r.text, &again, &err) == 0);
	must(!strcmp(r.text, again.text) && !strcmp(r.name, again.name));
	return 0;
}

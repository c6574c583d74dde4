/* Every document that is a policy can be given one more grant. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/edit.h"

/* A list that is full already may refuse another entry. */
static bool
may_grant(const struct buf *document, enum field_id id, const char *text)
{
	own(policy) struct policy p;
	struct remit_error err;

	must(policy_init(&p) == 0);
	return policy_parse(&p, buf_text(document), document->len, "fuzz",
			    &err) == 0 &&
	       field_set_text(&p, &fields[id], text, &err) == 0;
}

static void
check_grant(const struct buf *document, enum field_id id, const char *text)
{
	own(buf) struct buf out = BUF_INIT(document->len + 4096);
	struct remit_error err;
	int failed = policy_edit_grant(document, &fields[id], text, &out, &err);

	must((failed == 0) == may_grant(document, id, text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(buf) struct buf document = BUF_INIT(size);

	if (size > 512 * 1024 || buf_add(&document, data, size) < 0)
		return 0;
	check_grant(&document, F_NETWORK_ACCESS, "true");
	check_grant(&document, F_FILESYSTEM_READ_ROOTS, "/srv/\"a\\\n");
	return 0;
}

/*
 * session_audit: a line about a session for the keeper's audit writer.
 */
#include <string.h>

#include "keeper/audit/audit_line.h"
#include "keeper/output/export.h"
#include "keeper/output/result.h"
#include "keeper/session/part.h"

void
session_fingerprint(struct session *s)
{
	if (s->keeper->audit_writer.fd >= 0)
		sha256_text(buf_text(&s->cell.code), s->cell.code.len,
			    s->cell.code_sha256);
}

/* What left the jail; the client knows where to, and is not asked. */
static json_t *
artifacts_of(const struct session *s)
{
	own(buf) struct buf list = BUF_INIT(2 << 20);

	if (!s->cell.export ||
	    buf_addf(&list, "[%s]", buf_text(&s->cell.export->given)) < 0)
		return json_array();
	return json_loads(list.data, 0, NULL);
}

static int
policy_sha256(const struct session *s, char out[SHA256_TEXT])
{
	if (!s->pool)
		return audit_line_policy_sha256(&s->policy, out);
	/* The key is the whole policy in one form. */
	sha256_text(s->pool->key, strlen(s->pool->key), out);
	return 0;
}

static int
write_line(const struct session *s, const struct buf *result, struct buf *out)
{
	char policy[SHA256_TEXT];
	json_auto_t *document = json_loads(buf_text(result), 0, NULL);
	struct audit_line_run run = {
		.uid = s->keeper->audit_writer.uid,
		.policy_sha256 = policy,
		.code_sha256 = s->cell.code_sha256,
		.code_bytes = s->cell.code_bytes ? s->cell.code_bytes
						 : s->cell.code.len,
		.result = document,
	};

	if (!document || policy_sha256(s, policy) < 0)
		return -1;
	/* The client's members of a result; which calls it answered, and with
	   what, only the client knows. */
	if (json_object_set_new(document, "artifacts", artifacts_of(s)) < 0 ||
	    json_object_set_new(document, "calls", json_array()) < 0 ||
	    json_object_set_new(document, "calls_left_out", json_integer(0)) <
		    0)
		return -1;
	return audit_line_write(out, &run);
}

void
session_audit(struct session *s, const struct buf *result)
{
	own(buf) struct buf line = BUF_INIT(frame_rules[FRAME_RESULT].max);
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_RESULT].max);

	if (s->keeper->audit_writer.fd < 0 || s->cell.was_audited)
		return;
	/* Who left before anything ran has no run. */
	if (!result && (!s->cell.began_us || result_write(&text, s) < 0))
		return;
	s->cell.was_audited = true;
	if (!s->cell.code_sha256[0])
		session_fingerprint(s);
	if (write_line(s, result ? result : &text, &line) == 0)
		audit_writer_add(&s->keeper->audit_writer, &line);
	else
		audit_writer_lose(&s->keeper->audit_writer);
}

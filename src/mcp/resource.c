#include "mcp/resource.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file/io.h"
#include "base/text.h"
#include "client/files/content_type.h"
#include "mcp/call.h"

#define SCHEME "remit://"
#define GUIDE  SCHEME "guide"

/* ---- addresses ---- */

static bool
stands_for_itself(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-._~/", c));
}

json_t *
mcp_resource_uri(const char *kind, const char *id, const char *path)
{
	own(buf) struct buf uri = BUF_INIT(64 * 1024);

	while (*path == '/')
		path++;
	if (buf_addf(&uri, SCHEME "%s/%s/", kind, id) < 0)
		return NULL;
	for (; *path; path++)
		if ((stands_for_itself(*path)
			     ? buf_add(&uri, path, 1)
			     : buf_addf(&uri, "%%%02X", (unsigned char)*path)) <
		    0)
			return NULL;
	return json_stringn(buf_text(&uri), uri.len);
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* Returns a new text; NULL if the encoding is invalid, or without memory. */
static char *
percent_decode(const char *text)
{
	char *out = malloc(strlen(text) + 1), *to = out;

	while (out && *text) {
		char c = *text++;

		if (c == '%') {
			int high = hex_digit(text[0]);
			int low = high < 0 ? -1 : hex_digit(text[1]);

			if (low < 0 || !(high | low)) {
				free(out);
				return NULL;
			}
			c = (char)(high << 4 | low);
			text += 2;
		}
		*to++ = c;
	}
	if (out)
		*to = '\0';
	return out;
}

int
mcp_resource_parse(const char *uri, char **kind, char **id, char **path)
{
	const char *at = uri + strlen(SCHEME), *slash, *second;

	if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return -1;
	slash = strchr(at, '/');
	second = slash ? strchr(slash + 1, '/') : NULL;
	if (!second || !second[1])
		return -1;
	*kind = strndup(at, (size_t)(slash - at));
	*id = strndup(slash + 1, (size_t)(second - slash - 1));
	*path = percent_decode(second + 1);
	if (*kind && *id && *path)
		return 0;
	free(*kind);
	free(*id);
	free(*path);
	*kind = *id = *path = NULL;
	return -1;
}

/* ---- lists ---- */

json_t *
mcp_resource_list(void)
{
	return json_pack("[{s:s, s:s, s:s, s:s}]", "uri", GUIDE, "name",
			 "guide", "description",
			 "What Python code may do here.", "mimeType",
			 "text/markdown");
}

json_t *
mcp_resource_templates(void)
{
	return json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "uriTemplate",
			 SCHEME "artifacts/{id}/{+path}", "name", "artifact",
			 "description",
			 "A file that a program exported; the answers of "
			 "run_python and close_session have these addresses.",
			 "uriTemplate", SCHEME "sessions/{session}/{+path}",
			 "name", "session file", "description",
			 "The current content of a file of a session.");
}

/* ---- reading ---- */

/* End the call with the content. */
static void
finish_read(struct mcp_call *c, const char *uri, const char *type,
	    const char *bytes, size_t len)
{
	bool is_text = text_valid_prefix(bytes, len) == len &&
		       !memchr(bytes, '\0', len);
	own_mem char *base64 = is_text ? NULL : base64_encode(bytes, len);
	json_t *content = json_pack("{s:s, s:s}", "uri", uri, "mimeType", type);
	json_t *result;

	json_object_set_new(content, is_text ? "text" : "blob",
			    is_text ? json_stringn(bytes, len)
				    : json_string(base64 ? base64 : ""));
	result = json_pack("{s:[o]}", "contents", content);
	if (c->version->stateless) {
		json_object_set_new(result, "ttlMs", json_integer(0));
		json_object_set_new(result, "cacheScope",
				    json_string("private"));
	}
	mcp_call_finish(c, is_text || base64 ? result : NULL);
}

static void
refuse_read(struct mcp_call *c, const char *uri, const char *why)
{
	struct mcp_fault fault = { 0 };

	mcp_fail(&fault, c->version->stateless ? MCP_E_PARAMS : MCP_E_RESOURCE,
		 "Resource not found: %s", why);
	fault.data = json_pack("{s:s}", "uri", uri);
	mcp_call_fail(c, &fault);
	mcp_fault_free(&fault);
}

static int
read_bytes(int fd, struct buf *out, struct remit_error *err)
{
	if (io_read_all(fd, out) == 0)
		return 0;
	if (errno == EFBIG || errno == ENOMEM)
		return fail_sys(err, REMIT_E_INPUT,
				"it is larger than %zu bytes",
				MCP_RESOURCE_MAX);
	return fail_sys(err, REMIT_E_KERNEL, "read");
}

static void
read_artifact(struct mcp_call *c, const char *uri, const char *id,
	      const char *path)
{
	own(buf) struct buf bytes = BUF_INIT(MCP_RESOURCE_MAX);
	struct remit_error err;
	own_fd int fd = -1;

	if (c->mcp->store)
		fd = artifact_store_read(c->mcp->store, c->mcp->owner, id,
					 path);
	if (fd < 0)
		refuse_read(c, uri,
			    "the artifact does not exist or was removed");
	else if (read_bytes(fd, &bytes, &err) < 0)
		refuse_read(c, uri, err.message);
	else
		finish_read(c, uri,
			    content_type(path, buf_text(&bytes), bytes.len),
			    buf_text(&bytes), bytes.len);
}

/* ---- files of a session ---- */

static void
on_file(void *user, const struct remit_file_answer *a)
{
	struct mcp_call *c = user;
	const char *uri =
		json_string_value(json_object_get(c->msg.params, "uri"));

	if (a->entry_count && a->entries[0].size > a->len)
		refuse_read(c, uri, "it is too large to read at once");
	else
		finish_read(
			c, uri,
			content_type(a->entry_count ? a->entries[0].path : uri,
				     a->bytes, a->len),
			a->bytes, a->len);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;

	(void)res;
	if (err)
		refuse_read(c,
			    json_string_value(
				    json_object_get(c->msg.params, "uri")),
			    err->message);
	mcp_call_unref(c);
}

static void
read_session(struct mcp_call *c, const char *uri, const char *id, char **path)
{
	static const struct hosted_events events = { .file = on_file,
						     .result = on_result };
	struct hosted *hosted =
		hosted_find(c->mcp->hosted_table, c->mcp->owner, id);
	struct remit_file_task task = {
		.op = REMIT_FILE_READ,
		.length = MCP_RESOURCE_MAX,
	};
	struct hosted_loan none = { 0 };
	struct remit_error err;

	if (!hosted) {
		refuse_read(c, uri, "the session does not exist or has ended");
		return;
	}
	mcp_call_enter(c, hosted);
	c->work = take_ptr(path);
	task.path = c->work;
	c->free_work = free;
	mcp_call_ref(c);
	if (hosted_file(hosted, &task, none, &events, c, &err) < 0) {
		refuse_read(c, uri, err.message);
		mcp_call_unref(c);
	}
	hosted_unref(hosted);
}

void
mcp_resource_read(struct mcp_call *c)
{
	const char *uri =
		json_string_value(json_object_get(c->msg.params, "uri"));
	own_mem char *kind = NULL, *id = NULL, *path = NULL;
	struct mcp_fault fault = { 0 };
	bool is_ours;

	if (!uri) {
		mcp_fail(&fault, MCP_E_PARAMS, "uri must be a string");
		mcp_call_fail(c, &fault);
		return;
	}
	if (!strcmp(uri, GUIDE)) {
		finish_read(c, uri, "text/markdown", c->mcp->guide,
			    strlen(c->mcp->guide));
		return;
	}
	is_ours = mcp_resource_parse(uri, &kind, &id, &path) == 0;
	if (is_ours && !strcmp(kind, "artifacts"))
		read_artifact(c, uri, id, path);
	else if (is_ours && !strcmp(kind, "sessions"))
		read_session(c, uri, id, &path);
	else
		refuse_read(c, uri, "not an address of this server");
}

/*
 * A multipart form from an untrusted client: its files lie within the body, one
 * after the other, or the form is refused.
 *
 * The input is the boundary up to a newline, then the body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/e2b/files/multipart.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct multipart form;
	const char *text = (const char *)data;
	const char *end = size ? memchr(text, '\n', size) : NULL;
	const char *body = end ? end + 1 : NULL, *last = body;
	char type[160] = "multipart/form-data; boundary=", boundary[80];
	size_t head = strlen(type), n;

	if (!end || (size_t)(end - text) > 100)
		return 0;
	n = (size_t)(end - text);
	memcpy(type + head, text, n);
	if (!multipart_boundary(type, head + n, boundary))
		return 0;
	must(boundary[0] && strlen(boundary) <= 70);
	n = size - n - 1;
	if (multipart_read(&form, body, n, boundary) == 0)
		for (size_t i = 0; i < form.count; i++) {
			must(form.files[i].bytes >= last);
			last = form.files[i].bytes + form.files[i].len;
			must(last <= body + n);
		}
	must(form.count <= MULTIPART_FILES_MAX);
	multipart_free(&form);
	return 0;
}

/*
 * A hostile session's answer about its files: bytes and records, as the keeper
 * passes them on. It becomes an answer that contains only what was received, or
 * an error that says why not.
 *
 * The input is the operation, a byte for the share of bytes in the rest, and
 * the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/files/file_task.h"
#include "fuzz.h"

static void
check_answer(const struct remit_file_answer *a, size_t size)
{
	must(a->len <= size);
	must(a->entry_count <= REMIT_FILE_LIST_MAX);
	for (size_t i = 0; i < a->entry_count; i++) {
		const struct remit_file_entry *e = &a->entries[i];

		must(strlen(e->path) <= size);
		must(!e->target || strlen(e->target) <= size);
		must(!e->resolved || strlen(e->resolved) <= size);
		must(e->type <= REMIT_FILE_IS_OTHER && e->mode <= 07777);
		must(e->resolved_type <= REMIT_FILE_IS_OTHER &&
		     e->resolved_mode <= 07777);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(file_answer) struct file_answer a = FILE_ANSWER_INIT;
	struct remit_file_task t = { .path = "x" };
	struct remit_file_answer *out = NULL;
	struct remit_error err = { 0 };
	struct frame f = { .type = FRAME_FILE_BYTES };

	if (size < 2 || size > 60000)
		return 0;
	t.op = (enum remit_file_op)(1 + data[0] % REMIT_FILE_REMOVE);
	f.payload = (const char *)data + 2;
	f.len = (uint32_t)((size - 2) * data[1] / 255);
	must(file_answer_add(&a, &f, &err) == 0 && !a.is_done);
	f.type = FRAME_FILE_ANSWER;
	f.payload += f.len;
	f.len = (uint32_t)(size - 2) - f.len;
	if (file_answer_add(&a, &f, &err) < 0)
		return 0;
	must(a.is_done);
	if (file_answer_finish(&a, &t, &out, &err) < 0) {
		must(err.message[0] && !out);
		return 0;
	}
	check_answer(out, size);
	remit_file_answer_free(out);
	return 0;
}

/*
 * Payloads of the frames about watched directories: a request of a client, read
 * by the watcher, and an event of the watcher, read by the client. What is
 * accepted contains no NUL, is within its bounds, and is written as it was
 * read.
 *
 * The first byte chooses which of the two the rest is.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wire/watch.h"

static void
check_text(const char *text, size_t len)
{
	must(len < WATCH_PATH_SIZE && !memchr(text, '\0', len));
}

static void
check_request(const char *bytes, size_t len)
{
	own(buf) struct buf again = BUF_INIT(64 * 1024);
	struct watch_request r;

	if (watch_request_read(&r, bytes, len) < 0)
		return;
	must(r.op >= WATCH_BEGIN && r.op <= WATCH_SYNC);
	must(!(r.flags & ~WATCH_FLAGS));
	check_text(r.path, r.path_len);
	must((r.op == WATCH_BEGIN) == (r.path_len > 0));
	must(watch_request_write(&again, &r) == 0);
	must(again.len == len && !memcmp(again.data, bytes, len));
}

static void
check_event(const char *bytes, size_t len)
{
	own(buf) struct buf again = BUF_INIT(64 * 1024);
	struct watch_event e;

	if (watch_event_read(&e, bytes, len) < 0)
		return;
	must(e.kind >= WATCH_CREATED && e.kind < WATCH_KINDS);
	check_text(e.name, e.name_len);
	check_text(e.target, e.target_len);
	must(e.has_entry || !e.target_len);
	if (watch_is_of_file(e.kind))
		must(e.name_len && e.name[0] != '/');
	must(watch_event_write(&again, &e) == 0);
	must(again.len == len && !memcmp(again.data, bytes, len));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *exact = NULL;

	if (size < 1)
		return 0;
	/* Separate memory, so that the sanitizer detects a read past the
	   end. */
	exact = malloc(size);
	must(exact);
	memcpy(exact, data + 1, size - 1);
	if (data[0] & 1)
		check_event(exact, size - 1);
	else
		check_request(exact, size - 1);
	return 0;
}

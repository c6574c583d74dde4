#include "secrets.h"

#include <string.h>
#include <sys/mman.h>

#include "credential.h"

/* As much as all credentials of a policy can be, with their names. */
#define ROOM ((size_t)CREDENTIALS_MAX * (CREDENTIAL_VALUE + 64))

/* NULL: err says why. */
static char *
make_room(struct remit_error *err)
{
	void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED) {
		fail_sys(err, REMIT_E_MEMORY, "secrets");
		return NULL;
	}
	/* Pid 1 of every jail begins as a copy of the keeper. */
	if (madvise(room, ROOM, MADV_DONTFORK) == 0)
		return room;
	fail_sys(err, REMIT_E_KERNEL, "madvise");
	munmap(room, ROOM);
	return NULL;
}

int
secrets_add(struct secrets *s, const char *text, struct remit_error *err)
{
	size_t n = strlen(text) + 1;
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return fail(err, REMIT_E_PROTOCOL, "a secret without a name");
	if (!s->room)
		s->room = make_room(err);
	if (!s->room)
		return -1;
	if (n > ROOM - s->used)
		return fail(err, REMIT_E_INPUT,
			    "secrets: at most %d, of less than %d bytes each",
			    CREDENTIALS_MAX, CREDENTIAL_VALUE);
	memcpy(s->room + s->used, text, n);
	s->used += n;
	return 0;
}

const char *
secrets_find(const struct secrets *s, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < s->used; at += strlen(s->room + at) + 1)
		if (!strncmp(s->room + at, name, len) &&
		    s->room[at + len] == '=')
			return s->room + at + len + 1;
	return NULL;
}

void
secrets_free(struct secrets *s)
{
	if (!s->room)
		return;
	explicit_bzero(s->room, s->used);
	munmap(s->room, ROOM);
	*s = (struct secrets){ 0 };
}

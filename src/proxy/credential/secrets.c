#include "proxy/credential/secrets.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "policy/rules/credential.h"

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

static bool
is_list(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		const char *equals = strchr(text + at, '=');

		if (!equals || equals == text + at)
			return false;
	}
	return true;
}

int
secrets_read(struct secrets *s, int fd, struct remit_error *err)
{
	ssize_t n;

	/* No other file has seals, and none of these makes a reader wait. */
	if (s->room || fd < 0 || fcntl(fd, F_GET_SEALS) < 0)
		return fail(err, REMIT_E_PROTOCOL, "secrets come as a memfd");
	s->room = make_room(err);
	if (!s->room)
		return -1;
	n = read(fd, s->room, ROOM);
	if (n == (ssize_t)ROOM)
		return fail(err, REMIT_E_INPUT,
			    "secrets: at most %d, of less than %d bytes each",
			    CREDENTIALS_MAX, CREDENTIAL_VALUE);
	/* What lies behind the last NUL would be read past the end. */
	if (n < 0 || (n && s->room[n - 1]) || !is_list(s->room, (size_t)n))
		return fail(err, REMIT_E_PROTOCOL, "secrets make no sense");
	s->used = (size_t)n;
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
	explicit_bzero(s->room, ROOM);
	munmap(s->room, ROOM);
	*s = (struct secrets){ 0 };
}

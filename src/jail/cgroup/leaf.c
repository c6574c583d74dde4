/*
 * cgroup_leaf: move this process to a place where runs can get cgroups of
 * version 2.
 *
 * In version 2 a cgroup that contains processes cannot limit the cgroups below
 * it (cgroups(7), "no internal processes"). So the keeper moves to a leaf of a
 * cgroup that was delegated to it, and the cgroups of runs are siblings of that
 * leaf. If none was delegated, it asks systemd for a scope: the user's systemd,
 * or for root the system's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/deadline.h"
#include "base/own.h"
#include "jail/cgroup/home.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define BUS	"org.freedesktop.DBus"

/* ---- one message (D-Bus specification, "Message Protocol") ---- */

enum { MESSAGE_CALL = 1, MESSAGE_RETURN = 2, MESSAGE_ERROR = 3 };
enum { HEAD_BYTES = 16, AT_BODY_LENGTH = 4, AT_FIELDS_LENGTH = 12 };

struct message {
	uint8_t bytes[1024]; /* longer than any message sent here */
	size_t len;
};

struct call {
	const char *object, *interface, *member, *destination, *signature;
	uint8_t serial;
};

static void
message_put(struct message *m, const void *bytes, size_t n)
{
	if (m->len + n > sizeof(m->bytes))
		return;
	memcpy(m->bytes + m->len, bytes, n);
	m->len += n;
}

static void
message_put_byte(struct message *m, uint8_t value)
{
	message_put(m, &value, 1);
}

static void
message_align(struct message *m, size_t to)
{
	while (m->len % to && m->len < sizeof(m->bytes))
		message_put_byte(m, 0);
}

/* Numbers have the byte order of this machine, which the first byte of a
   message states. */
static void
message_put_number(struct message *m, uint32_t value)
{
	message_align(m, sizeof(value));
	message_put(m, &value, sizeof(value));
}

static void
message_put_text(struct message *m, const char *text)
{
	message_put_number(m, (uint32_t)strlen(text));
	message_put(m, text, strlen(text) + 1);
}

static void
message_put_signature(struct message *m, const char *text)
{
	message_put_byte(m, (uint8_t)strlen(text));
	message_put(m, text, strlen(text) + 1);
}

static void
message_set_number(struct message *m, size_t at, size_t value)
{
	uint32_t n = (uint32_t)value;

	memcpy(m->bytes + at, &n, sizeof(n));
}

static void
message_put_field(struct message *m, uint8_t code, const char *type,
		  const char *text)
{
	if (!text)
		return;
	message_align(m, 8);
	message_put_byte(m, code);
	message_put_signature(m, type);
	if (*type == 'g')
		message_put_signature(m, text);
	else
		message_put_text(m, text);
}

/* Write everything except the body. Returns the offset at which the body
   begins. */
static size_t
message_begin(struct message *m, const struct call *c)
{
	const uint16_t order = 1;

	message_put_byte(m, *(const uint8_t *)&order ? 'l' : 'B');
	message_put_byte(m, MESSAGE_CALL);
	message_put_byte(m, 0);
	message_put_byte(m, 1); /* protocol version */
	message_put_number(m, 0);
	message_put_number(m, c->serial);
	message_put_number(m, 0);
	message_put_field(m, 1, "o", c->object);
	message_put_field(m, 2, "s", c->interface);
	message_put_field(m, 3, "s", c->member);
	message_put_field(m, 6, "s", c->destination);
	message_put_field(m, 8, "g", c->signature);
	message_set_number(m, AT_FIELDS_LENGTH, m->len - HEAD_BYTES);
	message_align(m, 8);
	return m->len;
}

static void
message_put_property(struct message *m, const char *name, const char *type)
{
	message_align(m, 8);
	message_put_text(m, name);
	message_put_signature(m, type);
}

static void
make_hello_call(struct message *m)
{
	message_begin(m, &(struct call){
				 .object = "/org/freedesktop/DBus",
				 .interface = BUS,
				 .member = "Hello",
				 .destination = BUS,
				 .serial = 1,
			 });
}

/* org.freedesktop.systemd1(5), StartTransientUnit(). */
static void
make_scope_request(struct message *m)
{
	size_t body =
		message_begin(m, &(struct call){
					 .object = "/org/freedesktop/systemd1",
					 .interface = SYSTEMD ".Manager",
					 .member = "StartTransientUnit",
					 .destination = SYSTEMD,
					 .signature = "ssa(sv)a(sa(sv))",
					 .serial = 2,
				 });
	size_t length, first;
	char name[40];

	snprintf(name, sizeof(name), "remit-%d.scope", (int)getpid());
	message_put_text(m, name);
	message_put_text(m, "fail");
	message_put_number(m, 0);
	length = m->len - sizeof(uint32_t);
	message_align(m, 8);
	first = m->len;
	message_put_property(m, "PIDs", "au");
	message_put_number(m, sizeof(uint32_t));
	/* 0 means the caller: its pid may be another one for the bus. */
	message_put_number(m, 0);
	message_put_property(m, "Delegate", "b");
	message_put_number(m, true);
	message_put_property(m, "CollectMode", "s");
	message_put_text(m, "inactive-or-failed");
	message_set_number(m, length, m->len - first);
	message_put_number(m, 0);
	message_align(m, 8);
	message_set_number(m, AT_BODY_LENGTH, m->len - body);
}

/* ---- the bus ---- */

static int
bus_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *run = getenv("XDG_RUNTIME_DIR");
	own_fd int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n;

	if (geteuid() == 0)
		n = snprintf(a.sun_path, sizeof(a.sun_path),
			     "/run/dbus/system_bus_socket");
	else if (run && *run)
		n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/bus", run);
	else
		n = snprintf(a.sun_path, sizeof(a.sun_path), "/run/user/%u/bus",
			     geteuid());
	if (fd < 0 || n >= (int)sizeof(a.sun_path) ||
	    connect(fd, (void *)&a, sizeof(a)) < 0)
		return -1;
	return take_fd(&fd);
}

static int
bus_send(int fd, const void *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

/* Send all messages at once: the bus gets the user of this process from the
   kernel, and needs no reply from here before the last message. */
static int
bus_request_scope(int fd)
{
	char uid[16], line[128] = "";
	struct message hello = { .len = 0 }, request = { .len = 0 };
	int n, at;

	n = snprintf(uid, sizeof(uid), "%u", geteuid());
	at = snprintf(line + 1, sizeof(line) - 1, "AUTH EXTERNAL ") + 1;
	for (int i = 0; i < n; i++)
		at += snprintf(line + at, sizeof(line) - (size_t)at, "%02x",
			       (unsigned)uid[i]);
	at += snprintf(line + at, sizeof(line) - (size_t)at, "\r\nBEGIN\r\n");
	make_hello_call(&hello);
	make_scope_request(&request);
	if (bus_send(fd, line, (size_t)at) < 0 ||
	    bus_send(fd, hello.bytes, hello.len) < 0)
		return -1;
	return bus_send(fd, request.bytes, request.len);
}

static uint64_t
clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The connection, and when DEADLINE_SCOPE ends. */
struct bus {
	int fd;
	uint64_t until_us;
};

/* Returns -1 with ETIMEDOUT after the deadline. */
static int
bus_wait(const struct bus *b)
{
	struct pollfd p = { .fd = b->fd, .events = POLLIN };
	uint64_t now = clock_us();
	int n = now < b->until_us
			? poll(&p, 1, (int)((b->until_us - now) / 1000) + 1)
			: 0;

	if (n == 0)
		errno = ETIMEDOUT;
	return n == 1 ? 0 : -1;
}

/* Receive exactly n bytes. */
static int
bus_recv(const struct bus *b, void *out, size_t n)
{
	char *at = out;

	while (n) {
		ssize_t got = recv(b->fd, at, n, 0);

		if (got > 0) {
			at += got;
			n -= (size_t)got;
		} else if (got == 0) {
			errno = ECONNRESET;
			return -1;
		} else if (errno != EAGAIN || bus_wait(b) < 0) {
			return -1;
		}
	}
	return 0;
}

static int
bus_recv_line(const struct bus *b)
{
	char c = '\0';

	for (int i = 0; i < 256 && c != '\n'; i++)
		if (bus_recv(b, &c, 1) < 0)
			return -1;
	errno = EPROTO;
	return c == '\n' ? 0 : -1;
}

/* Returns the type of the next message, or -1. */
static int
bus_recv_message(const struct bus *b)
{
	uint8_t head[HEAD_BYTES], rest[4096];
	uint32_t body, fields;
	size_t n;

	if (bus_recv(b, head, sizeof(head)) < 0)
		return -1;
	memcpy(&body, head + AT_BODY_LENGTH, sizeof(body));
	memcpy(&fields, head + AT_FIELDS_LENGTH, sizeof(fields));
	errno = EMSGSIZE;
	if (body > sizeof(rest) || fields > sizeof(rest))
		return -1;
	n = ((size_t)fields + 7) / 8 * 8 + body;
	return n > sizeof(rest) || bus_recv(b, rest, n) < 0 ? -1 : head[1];
}

/* Replies come in the order of the calls, with signals in between. Returns -1
   with errno if the scope is not granted. */
static int
bus_recv_grant(const struct bus *b)
{
	int returns = 0;

	if (bus_recv_line(b) < 0)
		return -1;
	for (int i = 0; i < 64 && returns < 2; i++) {
		int kind = bus_recv_message(b);

		if (kind < 0)
			return -1;
		errno = EPERM;
		if (kind == MESSAGE_ERROR)
			return -1;
		returns += kind == MESSAGE_RETURN;
	}
	return returns == 2 ? 0 : -1;
}

/* Request a transient scope that is delegated to us (systemd.scope(5),
   "Delegate="), and wait until this process is in it. The scope ends with its
   last process. Returns -1 if there is no systemd or it refuses, and with
   ETIMEDOUT if it is too slow. */
static int
scope_enter(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	char before[PATH_MAX], now[PATH_MAX];
	own_fd int fd = -1;
	struct bus b;

	errno = ENOENT;
	if (cgroup_home_own(before, sizeof(before)) < 0)
		return -1;
	fd = bus_connect();
	b = (struct bus){ fd, clock_us() + deadline_us(DEADLINE_SCOPE) };
	if (fd < 0 || bus_request_scope(fd) < 0 || bus_recv_grant(&b) < 0)
		return -1;
	/* systemd has started a job. When the job is done, our cgroup is
	   another one. */
	while (clock_us() < b.until_us) {
		if (cgroup_home_own(now, sizeof(now)) == 0 &&
		    strcmp(before, now) != 0)
			return 0;
		nanosleep(&moment, NULL);
	}
	errno = ETIMEDOUT;
	return -1;
}

/* ---- the leaf ---- */

/* Whether no other process is in this cgroup. */
static bool
has_only_this_process(const char *directory)
{
	char path[PATH_MAX + 16], text[32], own[16];
	own_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	snprintf(own, sizeof(own), "%d\n", (int)getpid());
	return !strcmp(text, own);
}

/* Cleaning removes unlocked directories, so the descriptor with the lock stays
   open as long as this process lives. */
static bool
move_below(const char *directory)
{
	char path[PATH_MAX + 64];
	own_fd int leaf = -1, procs = -1;
	size_t n;

	n = (size_t)snprintf(path, sizeof(path),
			     "%s/" CGROUP_PREFIX "keeper-%d", directory,
			     (int)getpid());
	if (n >= sizeof(path) || (mkdir(path, 0755) < 0 && errno != EEXIST))
		return false;
	leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0 || flock(leaf, LOCK_EX | LOCK_NB) < 0)
		return false;
	procs = openat(leaf, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs < 0 || write(procs, "0", 1) != 1) {
		rmdir(path);
		return false;
	}
	take_fd(&leaf);
	return true;
}

/*
 * Whether no other process is in this cgroup, and systemd has delegated it. A
 * user's systemd does not mark what it delegates. There, all cgroups belong to
 * the user, and this one is used by this process alone.
 */
static bool
is_private_group(const char *directory)
{
	return has_only_this_process(directory) &&
	       (cgroup_home_is_delegated(directory) ||
		(geteuid() != 0 && access(directory, W_OK) == 0));
}

enum cgroup_leaf
cgroup_leaf_enter(void)
{
	char own[PATH_MAX], home[PATH_MAX];

	if (access("/run/systemd/system", F_OK) < 0 ||
	    cgroup_home_own(own, sizeof(own)) < 0 ||
	    cgroup_home_directory(home, sizeof(home)) < 0 ||
	    strcmp(own, home) != 0)
		return CGROUP_LEAF_STAYED;
	if (!is_private_group(own)) {
		if (scope_enter() < 0)
			return errno == ETIMEDOUT ? CGROUP_LEAF_LATE
						  : CGROUP_LEAF_STAYED;
		if (cgroup_home_own(own, sizeof(own)) < 0 ||
		    !is_private_group(own))
			return CGROUP_LEAF_STAYED;
	}
	return cgroup_home_mark_delegated(own) == 0 && move_below(own)
		       ? CGROUP_LEAF_ENTERED
		       : CGROUP_LEAF_STAYED;
}

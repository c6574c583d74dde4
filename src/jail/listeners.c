#include "jail/listeners.h"

#include <linux/ipv6.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/file/fd.h"

/* How many connections may wait in the kernel to be accepted. */
#define BACKLOG 512

/* ---- in the keeper ---- */

static void
add_port(struct listeners *l, bool is_v6, uint16_t port)
{
	for (size_t i = 0; i < l->port_count; i++)
		if (l->ports[i].is_v6 == is_v6 &&
		    l->ports[i].port == htons(port))
			return;
	l->ports[l->port_count++] =
		(struct listener_port){ is_v6, htons(port) };
}

/* The loopback device already has all of 127.0.0.0/8 and ::1. */
static bool
is_loopback(const struct address *a)
{
	static const struct address v4 = { .bytes = { 127 } };
	static const struct address v6 = { true, { [15] = 1 } };

	return address_is_in(a, &v4, 8) || address_equal(a, &v6);
}

static void
add_address(struct listeners *l, const struct address *a)
{
	if (is_loopback(a))
		return;
	for (size_t i = 0; i < l->address_count; i++)
		if (address_equal(&l->addresses[i], a))
			return;
	l->addresses[l->address_count++] = *a;
}

int
listeners_list(struct listeners *out, const struct plan *plan,
	       struct remit_error *err)
{
	struct host_rules rules;

	*out = (struct listeners){
		.everywhere = plan->policy->network_access == NETWORK_PUBLIC,
	};
	for (size_t i = 0;
	     (out->everywhere || plan->policy->network_ask) && i < PUBLIC_PORTS;
	     i++)
		add_port(out, false, public_ports[i]);
	if (host_rules_read(&plan->policy->network_allow, &rules, err) < 0)
		return -1;
	for (size_t i = 0; i < rules.count; i++) {
		const struct host_rule *r = &rules.rows[i];

		add_port(out, r->address.is_v6, r->port);
		if (!r->name[0])
			add_address(out, &r->address);
	}
	if (plan->policy->network_proxy)
		add_port(out, false, HOST_PROXY_PORT);
	return 0;
}

static bool
has_port(const struct listeners *l, bool is_v6, uint16_t port)
{
	for (size_t i = 0; i < l->port_count; i++)
		if (l->ports[i].is_v6 == is_v6 &&
		    l->ports[i].port == htons(port))
			return true;
	return false;
}

static bool
has_address(const struct listeners *l, const struct address *a)
{
	if (is_loopback(a) || (l->everywhere && !a->is_v6))
		return true;
	for (size_t i = 0; i < l->address_count; i++)
		if (address_equal(&l->addresses[i], a))
			return true;
	return false;
}

bool
listeners_cover(const struct listeners *l, const struct host_rules *rules,
		size_t *which)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *r = &rules->rows[i];

		*which = i;
		if (!has_port(l, r->address.is_v6, r->port) ||
		    (!r->name[0] && !has_address(l, &r->address)))
			return false;
	}
	return true;
}

bool
listeners_have_port(const struct listeners *l, uint16_t port)
{
	return has_port(l, false, port) || has_port(l, true, port);
}

/* ---- in pid 1 ---- */

static struct sockaddr_in
listener_address(in_addr_t address, in_port_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = address,
		.sin_port = port,
	};
}

static int
loopback_ioctl(int fd, struct ifreq *r, unsigned long what, in_addr_t value)
{
	struct sockaddr_in a = listener_address(value, 0);

	memcpy(&r->ifr_addr, &a, sizeof(a));
	return ioctl(fd, what, r);
}

/* Give the loopback device an address. The mask makes it answer for the whole
   network. */
static int
add_to_loopback(int fd, unsigned number, in_addr_t address, in_addr_t mask)
{
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "lo:%u", number);
	if (loopback_ioctl(fd, &r, SIOCSIFADDR, address) < 0)
		return -1;
	return loopback_ioctl(fd, &r, SIOCSIFNETMASK, mask);
}

/*
 * All addresses except 0.0.0.0/8, which no host has: 1/8, 2/7, 4/6 and so on up
 * to 128/1. The existing route to 127.0.0.0/8 is more specific.
 */
static int
add_all_to_loopback(int fd)
{
	for (unsigned bit = 24; bit < 32; bit++)
		if (add_to_loopback(fd, bit, htonl((1u << bit) + 1),
				    htonl(~((1u << bit) - 1))) < 0)
			return -1;
	return 0;
}

static int
add_v4(int fd, unsigned number, const struct address *a)
{
	in_addr_t address;

	memcpy(&address, a->bytes, sizeof(address));
	return add_to_loopback(fd, number, address, INADDR_NONE);
}

static int
add_v6(const struct ifreq *device, const struct address *a)
{
	own_fd int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct in6_ifreq r = {
		.ifr6_prefixlen = 128,
		.ifr6_ifindex = device->ifr_ifindex,
	};

	memcpy(&r.ifr6_addr, a->bytes, sizeof(r.ifr6_addr));
	return fd < 0 ? -1 : ioctl(fd, SIOCSIFADDR, &r);
}

/* Bring the loopback device up. Returns a socket for more requests, or -1. */
static int
raise_loopback(struct ifreq *r)
{
	own_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*r = (struct ifreq){ .ifr_name = "lo", .ifr_flags = IFF_UP };
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, r) < 0 ? -1 : take_fd(&fd);
}

int
listeners_loopback(void)
{
	struct ifreq r;
	own_fd int fd = raise_loopback(&r);

	return fd < 0 ? -1 : 0;
}

static int
set_up_loopback(const struct listeners *l)
{
	struct ifreq r;
	own_fd int fd = raise_loopback(&r);

	if (fd < 0 ||
	    (l->everywhere ? add_all_to_loopback(fd)
			   : add_to_loopback(fd, 1, htonl(LISTENERS_NET + 1),
					     htonl(LISTENERS_MASK))) < 0 ||
	    ioctl(fd, SIOCGIFINDEX, &r) < 0)
		return -1;
	for (size_t i = 0; i < l->address_count; i++) {
		const struct address *a = &l->addresses[i];

		/* With `everywhere`, all IPv4 addresses are covered already. */
		if (l->everywhere && !a->is_v6)
			continue;
		if ((a->is_v6 ? add_v6(&r, a)
			      : add_v4(fd, (unsigned)i + 2, a)) < 0)
			return -1;
	}
	return 0;
}

static int
send_socket(int to, int fd)
{
	return pass_send(to, "l", 1, &fd, 1, 0) == 1 ? 0 : -1;
}

static int
open_dns(int to)
{
	struct sockaddr_in a =
		listener_address(htonl(LISTENERS_DNS), htons(53));
	own_fd int fd =
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0)
		return -1;
	return send_socket(to, fd);
}

/* Listen on every address: the proxy sees which one the code connected to. */
static int
open_port(int to, struct listener_port p)
{
	struct address any = { .is_v6 = p.is_v6 };
	struct sockaddr_storage a;
	socklen_t len = address_socket(&any, ntohs(p.port), &a);
	own_fd int fd = socket(p.is_v6 ? AF_INET6 : AF_INET,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1;

	/* Do not accept IPv4 on an IPv6 socket: IPv4 has a separate one, or
	   none. */
	if (fd < 0 ||
	    (p.is_v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes,
				   sizeof(yes)) < 0) ||
	    bind(fd, (void *)&a, len) < 0 || listen(fd, BACKLOG) < 0)
		return -1;
	return send_socket(to, fd);
}

int
listeners_open(const struct listeners *l, int to, uint32_t *detail)
{
	if (set_up_loopback(l) < 0 || open_dns(to) < 0)
		return -1;
	for (size_t i = 0; i < l->port_count; i++) {
		*detail = (uint32_t)i + 1;
		if (open_port(to, l->ports[i]) < 0)
			return -1;
	}
	/* Mark the end of the list. */
	return send(to, "e", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* ---- in the proxy ---- */

int
listeners_recv(int from, int *fds, size_t *count)
{
	for (*count = 0; *count <= LISTENERS_MAX;) {
		int got[PASS_MAX];
		size_t n;
		char tag;

		if (pass_recv(from, &tag, 1, got, &n, 0) != 1)
			return -1;
		if (tag == 'e' && !n)
			return 0;
		if (tag != 'l' || n != 1 || *count == LISTENERS_MAX)
			return -1;
		fds[(*count)++] = got[0];
	}
	return -1;
}

#include "proxy/dns/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "jail/listeners.h"

/* 198.18.1.0 is the first address. */
#define FIRST_ADDRESS (LISTENERS_NET + 256)
/* The most that is read of resolv.conf and hosts. */
#define TEXT_BYTES_MAX (256 * 1024)

struct name *
names_get(struct names *all, const char *host)
{
	struct name *n = all->rows;

	for (; n < all->rows + all->count; n++)
		if (!strcmp(n->host, host))
			return n;
	if (all->count == NAMES_MAX)
		return NULL;
	snprintf(n->host, sizeof(n->host), "%s", host);
	all->count++;
	return n;
}

in_addr_t
names_inside(const struct names *all, const struct name *n)
{
	return htonl(FIRST_ADDRESS + (uint32_t)(n - all->rows));
}

struct name *
names_find_inside(struct names *all, const struct address *a)
{
	in_addr_t inside;
	uint32_t i;

	memcpy(&inside, a->bytes, sizeof(inside));
	i = ntohl(inside) - FIRST_ADDRESS;
	return !a->is_v6 && i < all->count ? &all->rows[i] : NULL;
}

/* ---- the names that this machine knows ---- */

static char *
next_word(char **line)
{
	char *w;

	do
		w = strsep(line, " \t\r");
	while (w && !*w);
	return w;
}

void
site_names_resolvers(struct site_names *out, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *key = next_word(&line), *value = next_word(&line);
		struct address a;

		if (!key || !value || strcmp(key, "nameserver") != 0 ||
		    out->resolver_count == SITE_RESOLVERS ||
		    address_read(value, &a) < 0)
			continue;
		out->resolvers[out->resolver_count++] = a;
	}
}

static void
add_host(struct site_names *out, const char *text, const struct address *a,
	 const struct host_rules *rules)
{
	struct site_host *h = &out->hosts[out->host_count];

	if (out->host_count == SITE_HOSTS ||
	    host_name_read(text, strlen(text), h->name) < 0 ||
	    (rules && !host_rules_name(rules, h->name)))
		return;
	for (size_t i = 0; i < out->host_count; i++)
		if (!strcmp(out->hosts[i].name, h->name) &&
		    address_equal(&out->hosts[i].address, a))
			return;
	h->address = *a;
	out->host_count++;
}

void
site_names_hosts(struct site_names *out, char *text,
		 const struct host_rules *rules)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct address a;
		char *w;

		line[strcspn(line, "#")] = '\0';
		w = next_word(&line);
		if (!w || address_read(w, &a) < 0)
			continue;
		while ((w = next_word(&line)))
			add_host(out, w, &a, rules);
	}
}

/* Returns the file as text; what exceeds the limit is left out. */
static char *
read_text_file(const char *path)
{
	own_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, TEXT_BYTES_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (text && fd >= 0 && n > 0 && len < TEXT_BYTES_MAX) {
		n = read(fd, text + len, TEXT_BYTES_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	return text;
}

void
site_names_read(struct site_names *out, const struct host_rules *rules)
{
	own_mem char *resolvers = read_text_file("/etc/resolv.conf");
	own_mem char *hosts = read_text_file("/etc/hosts");
	own_mem char *again = hosts ? strdup(hosts) : NULL;

	*out = (struct site_names){ 0 };
	if (resolvers)
		site_names_resolvers(out, resolvers);
	if (hosts)
		site_names_hosts(out, hosts, rules);
	/* A later list of hosts may name them. */
	if (again)
		site_names_hosts(out, again, NULL);
	if (!out->resolver_count)
		out->resolvers[out->resolver_count++] =
			address_v4(htonl(INADDR_LOOPBACK));
}

void
site_names_find(const struct site_names *s, const char *name,
		struct addresses *out)
{
	for (size_t i = 0; i < s->host_count; i++)
		if (out->count < ADDRESSES_MAX &&
		    !strcmp(s->hosts[i].name, name))
			out->rows[out->count++] = s->hosts[i].address;
}

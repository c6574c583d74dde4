#include "proxy/dns/names.h"

#include <stdio.h>
#include <string.h>

#include "jail/listeners.h"

/* Beginning with 198.18.1.0. */
#define FIRST (LISTENERS_NET + 256)

struct name *
names_take(struct names *all, const char *host)
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
	return htonl(FIRST + (uint32_t)(n - all->rows));
}

struct name *
names_find_inside(struct names *all, const struct address *a)
{
	in_addr_t inside;
	uint32_t i;

	memcpy(&inside, a->bytes, sizeof(inside));
	i = ntohl(inside) - FIRST;
	return !a->is_v6 && i < all->count ? &all->rows[i] : NULL;
}

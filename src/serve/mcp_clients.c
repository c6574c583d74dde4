#include "serve/mcp_clients.h"

#include <string.h>

#include "base/loop.h"

void
mcp_clients_open(struct mcp_clients *t, struct mcp *m)
{
	t->mcp = m;
	pthread_mutex_init(&t->lock, NULL);
}

static void
client_free(struct mcp_client *c)
{
	mcp_peer_close(c->peer);
	free(c);
}

void
mcp_clients_free(struct mcp_clients *t)
{
	while (t->first) {
		struct mcp_client *c = t->first;

		t->first = c->next;
		client_free(c);
	}
	pthread_mutex_destroy(&t->lock);
}

/* Called with the lock held. */
static struct mcp_client *
unlink_at(struct mcp_clients *t, struct mcp_client **at)
{
	struct mcp_client *c = *at;

	*at = c->next;
	t->count--;
	c->left = true;
	return c;
}

/* Returns NULL if all are busy. Called with the lock held. */
static struct mcp_client *
unlink_oldest(struct mcp_clients *t)
{
	struct mcp_client **oldest = NULL;

	for (struct mcp_client **at = &t->first; *at; at = &(*at)->next)
		if (!(*at)->busy &&
		    (!oldest || (*at)->used_us < (*oldest)->used_us))
			oldest = at;
	return oldest ? unlink_at(t, oldest) : NULL;
}

struct mcp_client *
mcp_clients_add(struct mcp_clients *t)
{
	struct mcp_client *c = calloc(1, sizeof(*c)), *old = NULL;
	struct remit_error err;

	if (!c || hosted_make_id(c->id, &err) < 0 ||
	    !(c->peer = mcp_peer_open(t->mcp))) {
		free(c);
		return NULL;
	}
	c->busy = 1;
	c->used_us = loop_now_us();
	pthread_mutex_lock(&t->lock);
	if (t->count >= MCP_CLIENTS_MAX)
		old = unlink_oldest(t);
	c->next = t->first;
	t->first = c;
	t->count++;
	pthread_mutex_unlock(&t->lock);
	if (old)
		client_free(old);
	return c;
}

/* Returns the link to the client with this id, or to NULL. Called with the lock
   held. */
static struct mcp_client **
find_link(struct mcp_clients *t, struct http_text id)
{
	struct mcp_client **at = &t->first;

	while (*at && (strlen((*at)->id) != id.len ||
		       memcmp((*at)->id, id.text, id.len) != 0))
		at = &(*at)->next;
	return at;
}

struct mcp_client *
mcp_clients_find(struct mcp_clients *t, struct http_text id)
{
	struct mcp_client *c;

	pthread_mutex_lock(&t->lock);
	c = *find_link(t, id);
	if (c) {
		c->busy++;
		c->used_us = loop_now_us();
	}
	pthread_mutex_unlock(&t->lock);
	return c;
}

void
mcp_clients_put(struct mcp_clients *t, struct mcp_client *c)
{
	bool last;

	pthread_mutex_lock(&t->lock);
	last = --c->busy == 0 && c->left;
	pthread_mutex_unlock(&t->lock);
	if (last)
		client_free(c);
}

bool
mcp_clients_remove(struct mcp_clients *t, struct http_text id)
{
	struct mcp_client **at, *c;

	pthread_mutex_lock(&t->lock);
	at = find_link(t, id);
	c = *at ? unlink_at(t, at) : NULL;
	if (c)
		c->busy++;
	pthread_mutex_unlock(&t->lock);
	if (!c)
		return false;
	mcp_peer_cancel(c->peer);
	mcp_clients_put(t, c);
	return true;
}

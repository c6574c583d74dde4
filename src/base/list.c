#include "base/list.h"

#include <string.h>

int
list_add(struct list *l, const char *text)
{
	char **items;
	char *copy;

	items = realloc(l->items, (l->count + 2) * sizeof(*items));
	if (!items)
		return -1;
	l->items = items;
	copy = strdup(text);
	if (!copy)
		return -1;
	l->items[l->count++] = copy;
	l->items[l->count] = NULL;
	return 0;
}

int
list_copy(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (list_add(to, from->items[i]) < 0)
			return -1;
	return 0;
}

bool
list_has(const struct list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->items[i], text))
			return true;
	return false;
}

void
list_free(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct list){ 0 };
}

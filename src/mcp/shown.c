#include "mcp/shown.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"

/* Image types that models can see. */
static const char *const visible[] = { "image/png", "image/jpeg", "image/gif",
				       "image/webp" };
/* The most compact readable form comes first. */
static const char *const readable[] = { "text/markdown", "text/latex",
					"text/plain", "application/json",
					"text/html" };

json_t *
mcp_shown_image(const char *mime, const char *bytes, size_t len)
{
	own_mem char *data = NULL;

	for (size_t i = 0; i < ARRAY_LEN(visible); i++) {
		if (strcmp(visible[i], mime) != 0)
			continue;
		data = base64_encode(bytes, len);
		return json_pack("{s:s, s:s*, s:s}", "type", "image", "data",
				 data, "mimeType", mime);
	}
	return NULL;
}

static json_t *
read_text(const struct remit_display *d)
{
	for (size_t i = 0; i < ARRAY_LEN(readable); i++)
		for (size_t j = 0; j < d->part_count; j++)
			if (!strcmp(d->parts[j].mime, readable[i]))
				return text_to_json(d->parts[j].bytes,
						    d->parts[j].len);
	return json_null();
}

static json_t *
plain_text(const struct remit_display *d)
{
	for (size_t i = 0; i < d->part_count; i++)
		if (!strcmp(d->parts[i].mime, "text/plain"))
			return text_to_json(d->parts[i].bytes, d->parts[i].len);
	return NULL;
}

static void
add_display(struct mcp_shown *s, const struct remit_display *d)
{
	json_t *types = json_array();

	for (size_t i = 0; i < d->part_count; i++)
		json_array_append_new(types,
				      text_to_json(d->parts[i].mime,
						   strlen(d->parts[i].mime)));
	if (!s->displays)
		s->displays = json_array();
	json_array_append_new(
		s->displays,
		json_pack("{s:o, s:o}", "text", read_text(d), "types", types));
}

/* Add at most one image for each display. */
static void
add_image(struct mcp_shown *s, const struct remit_display *d)
{
	json_t *block = NULL;

	for (size_t i = 0; i < d->part_count && !block; i++)
		block = mcp_shown_image(d->parts[i].mime, d->parts[i].bytes,
					d->parts[i].len);
	if (!s->images)
		s->images = json_array();
	if (block)
		json_array_append_new(s->images, block);
}

void
mcp_shown_add(struct mcp_shown *s, const struct remit_display *d)
{
	add_image(s, d);
	if (!d->is_value) {
		add_display(s, d);
		return;
	}
	json_decref(s->value);
	s->value = plain_text(d);
}

void
mcp_shown_free(struct mcp_shown *s)
{
	json_decref(s->images);
	json_decref(s->displays);
	json_decref(s->value);
	*s = (struct mcp_shown){ 0 };
}

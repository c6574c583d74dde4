#include "bench_status.h"

#include <jansson.h>
#include <string.h>

static bool
preloads(const json_t *entry, const char *const *preload)
{
	const json_t *list = json_object_get(entry, "preload");
	size_t i;

	for (i = 0; preload[i]; i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (!name || strcmp(name, preload[i]))
			return false;
	}
	return json_array_size(list) == i;
}

/* A keeper may have several pools with the same preloads. The last one belongs
   to the latest policy. */
static const json_t *
find_preloading(const json_t *doc, const char *key, const char *const *preload)
{
	const json_t *list = json_object_get(doc, key);

	for (size_t i = json_array_size(list); i-- > 0;)
		if (preloads(json_array_get(list, i), preload))
			return json_array_get(list, i);
	return NULL;
}

static double
status_number(const json_t *entry, const char *key)
{
	return json_number_value(json_object_get(entry, key));
}

struct bench_status
bench_status_parse(const char *json, const char *const *preload)
{
	json_t *doc = json_loads(json, 0, NULL);
	const json_t *pool = find_preloading(doc, "pools", preload);
	const json_t *zygote = find_preloading(doc, "zygotes", preload);
	const char *state = json_string_value(json_object_get(zygote, "state"));
	struct bench_status s = {
		.known = json_is_array(json_object_get(doc, "pools")),
		.has_zygote = zygote != NULL,
		.failed = state && !strcmp(state, "failed"),
		.waiting = (unsigned)status_number(pool, "waiting"),
		.target = (unsigned)status_number(pool, "target"),
		.hits = status_number(pool, "hits"),
		.zygote_bytes = status_number(zygote, "memory_bytes"),
		.build_us = status_number(pool, "build_us"),
	};

	if (s.waiting)
		s.child_bytes = status_number(pool, "memory_bytes") / s.waiting;
	json_decref(doc);
	return s;
}

struct bench_status
bench_status_get(struct remit *r, const char *const *preload)
{
	own_mem char *json = NULL;
	struct remit_error err;

	if (remit_status(r, &json, &err) < 0)
		return (struct bench_status){ 0 };
	return bench_status_parse(json, preload);
}

bool
bench_status_parse_settled(const char *json)
{
	json_t *doc = json_loads(json, 0, NULL);
	json_t *pool;
	bool settled = true;
	size_t i;

	json_array_foreach(json_object_get(doc, "pools"), i, pool)
	{
		if (status_number(pool, "building") > 0 ||
		    status_number(pool, "waiting") <
			    status_number(pool, "target"))
			settled = false;
	}
	json_decref(doc);
	return settled;
}

bool
bench_status_is_settled(struct remit *r)
{
	own_mem char *json = NULL;
	struct remit_error err;

	return remit_status(r, &json, &err) < 0 ||
	       bench_status_parse_settled(json);
}

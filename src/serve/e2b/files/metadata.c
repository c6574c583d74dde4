#include "serve/e2b/files/metadata.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEADER "x-metadata-"

/* The limits of E2B for one file, where each name has a prefix of its
   attribute. */
#define PREFIX_LEN    (sizeof("user.e2b.") - 1)
#define NAME_MAX_LEN  (255 - PREFIX_LEN)
#define FILE_MAX_SIZE 4096
/* The limits for all files of a sandbox, in the memory of the server. */
#define FILES_MAX    1000
#define ALL_MAX_SIZE ((size_t)256 * 1024)

struct metadata {
	struct metadata *next;
	unsigned long long device, inode;
	char *path; /* where the file was last seen */
	json_t *values;
	size_t size;
};

/* ---- headers ---- */

static bool
is_printable(struct http_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.text[i] < 0x20 || t.text[i] > 0x7e)
			return false;
	return true;
}

/* Adds a header unless it came before. Returns what is wrong with it, or
   NULL. */
static const char *
add_header(json_t *values, struct http_text name, struct http_text value)
{
	char key[NAME_MAX_LEN + 1];

	if (!name.len)
		return "a name is empty";
	if (name.len > NAME_MAX_LEN)
		return "a name is too long";
	if (!is_printable(name) || !is_printable(value))
		return "names and values must be printable ASCII";
	for (size_t i = 0; i < name.len; i++)
		key[i] = name.text[i] >= 'A' && name.text[i] <= 'Z'
				 ? (char)(name.text[i] + 'a' - 'A')
				 : name.text[i];
	key[name.len] = '\0';
	if (!json_object_get(values, key) &&
	    json_object_set_new(values, key,
				json_stringn(value.text, value.len)) < 0)
		return "no memory";
	return NULL;
}

/* The size as E2B counts it. */
static size_t
size_of(const json_t *values)
{
	const char *name;
	json_t *value;
	size_t n = 0;

	json_object_foreach((json_t *)values, name, value) n +=
		PREFIX_LEN + strlen(name) + json_string_length(value);
	return n;
}

json_t *
metadata_read(struct exchange *x)
{
	struct http_text rest = { x->head.data, x->head.len }, line, key, value;
	const size_t prefix = sizeof(HEADER) - 1;
	json_t *values = json_object();
	const char *wrong = values ? NULL : "no memory";

	http_head_next(&rest, &line); /* the request line */
	while (!wrong && http_head_next(&rest, &line)) {
		http_head_split(line, &key, &value);
		if (key.len < prefix ||
		    strncasecmp(key.text, HEADER, prefix) != 0)
			continue;
		key.text += prefix;
		key.len -= prefix;
		wrong = add_header(values, key, value);
	}
	if (!wrong && size_of(values) > FILE_MAX_SIZE)
		wrong = "names and values together are too long";
	if (!wrong)
		return values;
	e2b_fail(x, 400, "invalid metadata: %s", wrong);
	json_decref(values);
	return NULL;
}

/* ---- files ---- */

static void
metadata_free_one(struct metadata *m)
{
	free(m->path);
	json_decref(m->values);
	free(m);
}

void
metadata_free(struct metadata *first)
{
	while (first) {
		struct metadata *m = first;

		first = m->next;
		metadata_free_one(m);
	}
}

/* Called with the lock held. */
static struct metadata **
find_file(struct sandbox *sb, const struct remit_file_entry *file)
{
	struct metadata **at = &sb->metadata_of_files;

	while (*at &&
	       ((*at)->inode != file->inode || (*at)->device != file->device))
		at = &(*at)->next;
	return at;
}

/* Called with the lock held. */
static bool
has_space(const struct sandbox *sb, size_t size)
{
	size_t files = 1;

	for (const struct metadata *m = sb->metadata_of_files; m; m = m->next) {
		files++;
		size += m->size;
	}
	return files <= FILES_MAX && size <= ALL_MAX_SIZE;
}

int
metadata_set(struct sandbox *sb, const struct remit_file_entry *file,
	     json_t *values)
{
	struct metadata **at, *old, *m = NULL;
	bool is_needed = json_object_size(values), is_kept;

	if (is_needed && (m = calloc(1, sizeof(*m)))) {
		*m = (struct metadata){
			.device = file->device,
			.inode = file->inode,
			.path = strdup(file->path),
			.values = json_incref(values),
			.size = size_of(values) + strlen(file->path),
		};
	}
	pthread_mutex_lock(&sb->metadata_lock);
	at = find_file(sb, file);
	old = *at;
	if (old)
		*at = old->next;
	is_kept = m && m->path && has_space(sb, m->size);
	if (is_kept) {
		m->next = sb->metadata_of_files;
		sb->metadata_of_files = m;
	}
	pthread_mutex_unlock(&sb->metadata_lock);
	if (old)
		metadata_free_one(old);
	if (m && !is_kept)
		metadata_free_one(m);
	return is_needed && !is_kept ? -1 : 0;
}

void
metadata_add(json_t *doc, struct sandbox *sb,
	     const struct remit_file_entry *file)
{
	struct metadata *m;

	pthread_mutex_lock(&sb->metadata_lock);
	m = *find_file(sb, file);
	if (m) {
		char *path = strcmp(m->path, file->path) != 0
				     ? strdup(file->path)
				     : NULL;

		if (path) {
			free(m->path);
			m->path = path;
		}
		json_object_set_new(doc, "metadata", json_copy(m->values));
	}
	pthread_mutex_unlock(&sb->metadata_lock);
}

static bool
is_at_or_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/');
}

void
metadata_forget(struct sandbox *sb, const char *path)
{
	own_mem char *full = NULL;
	struct metadata **at, *m;

	if (*path == '/'
		    ? !(full = strdup(path))
		    : asprintf(&full, "%s/%s", sb->names.items[0], path) < 0)
		return;
	for (size_t n = strlen(full); n > 1 && full[n - 1] == '/'; n--)
		full[n - 1] = '\0';
	pthread_mutex_lock(&sb->metadata_lock);
	for (at = &sb->metadata_of_files; (m = *at);) {
		if (!is_at_or_below(m->path, full)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		metadata_free_one(m);
	}
	pthread_mutex_unlock(&sb->metadata_lock);
}

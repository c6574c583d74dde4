/*
 * session_packages: packages that the code of a cell asks for while it runs.
 *
 * The code sends names and versions. They are checked as those of the field
 * packages are, and become a request to the installer like any other, with the
 * sources and limits of the policy. The layer is then mounted in the jail. The
 * code waits meanwhile, and its wall clock is paused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "keeper/packages/install.h"
#include "keeper/packages/installer.h"
#include "keeper/session/part.h"
#include "policy/rules/package_rule.h"
#include "wire/record.h"

/* The maximum of packages in one request. */
#define WANTED_MAX 64

/* ---- refusals ---- */

/* The text was sent by the code, so only a quoted part of it is shown. */
static void
note_denial(struct session *s, const char *text, bool by_policy)
{
	struct denial d = {
		.by_keeper = true,
		.field = by_policy ? F_PACKAGE_INSTALLATION : FIELD_TOTAL,
	};
	char shown[QUOTE_SIZE];

	snprintf(d.what, sizeof(d.what), "install %s", quote(shown, text));
	denials_add(&s->cell.denials, &d);
}

static int
check_permission(struct session *s, const char *first, struct remit_error *err)
{
	struct worker *w = s->worker;

	if (!s->pool->plan.installs) {
		note_denial(s, first, true);
		return fail_refused(err, "package_installation",
				    "Add them to the policy's packages, or "
				    "set package_installation.",
				    "packages cannot be installed from inside");
	}
	if (w->installed_count == PLAN_INSTALLS_MAX ||
	    w->install_requests == PLAN_INSTALL_REQUESTS_MAX) {
		note_denial(s, first, false);
		return fail_refused(err, "package_installation",
				    "List the packages in the policy.",
				    "packages were installed %zu times, and "
				    "requested %u times: the limits are %d and "
				    "%d",
				    w->installed_count, w->install_requests,
				    PLAN_INSTALLS_MAX,
				    PLAN_INSTALL_REQUESTS_MAX);
	}
	w->install_requests++;
	return 0;
}

/* ---- the request ---- */

static int
add_wanted(struct session *s, const char *text, struct remit_error *err)
{
	struct list *l = &s->packages.policy.packages;
	struct package_rule r;

	if (package_rule_read(text, &r, err) < 0) {
		note_denial(s, text, false);
		return -1;
	}
	if (l->count == WANTED_MAX)
		return fail_refused(
			err, "packages", "Install them in several steps.",
			"more than %d packages at once", WANTED_MAX);
	return list_add(l, r.text) < 0 ? fail_memory(err, "packages") : 0;
}

static bool
is_wanted(const struct list *wanted, const char *name)
{
	struct package_rule r;
	struct remit_error err;

	for (size_t i = 0; i < wanted->count; i++)
		if (package_rule_read(wanted->items[i], &r, &err) == 0 &&
		    !strcmp(r.name, name))
			return true;
	return false;
}

/* The code reports what it has. That decides only what its own layer leaves
   out, so anything that is not NAME==VERSION is ignored. */
static int
add_have(struct package_wait *q, const char *text, struct remit_error *err)
{
	struct package_rule r;
	struct remit_error ignored;
	size_t n;

	if (package_rule_read(text, &r, &ignored) < 0)
		return 0;
	n = strlen(r.name);
	if (strncmp(r.text + n, "==", 2) != 0 || strpbrk(r.text + n + 2, "=*,"))
		return 0;
	if (is_wanted(&q->policy.packages, r.name) ||
	    list_has(&q->have, r.text))
		return 0;
	return list_add(&q->have, r.text) < 0 ? fail_memory(err, "packages")
					      : 0;
}

/* Reads the records "package" and "have", in this sequence. */
static int
read_request(struct session *s, struct remit_error *err)
{
	const struct buf *b = &s->bridge.request;
	struct record r;
	size_t at = 0;

	while (record_next(b->data, b->len, &at, &r)) {
		if (!strcmp(r.key, "package")
			    ? add_wanted(s, r.value, err) < 0
			    : add_have(&s->packages, r.value, err) < 0)
			return -1;
	}
	return s->packages.policy.packages.count
		       ? 0
		       : fail_refused(err, "packages", "Name a package.",
				      "the list of packages is empty");
}

static const char *
first_wanted(const struct session *s)
{
	const struct buf *b = &s->bridge.request;
	struct record r;
	size_t at = 0;

	return record_next(b->data, b->len, &at, &r) ? r.value : "";
}

/* Makes the policy of the installation: the session's, with other packages. */
static int
open_request(struct session *s, struct remit_error *err)
{
	struct package_wait *q = &s->packages;

	if (policy_copy(&q->policy, session_policy(s)) < 0)
		return fail_memory(err, "packages");
	q->is_open = true;
	list_free(&q->policy.packages);
	list_free(&q->policy.package_direct);
	q->policy.packages = q->policy.package_direct = (struct list){ 0 };
	s->packages.install_ended = false;
	return read_request(s, err);
}

static void
free_request(struct package_wait *q)
{
	if (q->is_open)
		policy_free(&q->policy);
	list_free(&q->have);
	*q = (struct package_wait){ 0 };
}

void
session_drop_packages(struct session *s)
{
	if (!s->packages.is_open)
		return;
	install_leave(s);
	keeper_take_back(s->keeper, s);
	cell_clock_retract(&s->clock, s->packages.wait_max_us);
	free_request(&s->packages);
}

/* ---- the answer ---- */

/* Returns -1 if the code does not read answers. */
static int
answer_request(struct session *s, const char *word, const char *text,
	       struct remit_error *err)
{
	uint64_t since = s->clock.paused_at_us, now = loop_now_us();
	uint64_t waited = s->clock.pauses && now > since ? now - since : 0;
	uint64_t most = s->packages.wait_max_us;

	if (bridge_answer(&s->bridge, &s->worker->jail.channel, word, text,
			  err) < 0)
		return -1;
	session_resume_clock(s);
	/* What was not used for the installation is no time for tools. */
	s->packages.wait_max_us = waited < most ? most - waited : 0;
	session_drop_packages(s);
	session_set_timer(s);
	session_flush_channel(s);
	return 0;
}

static int
answer_error(struct session *s, const struct remit_error *why,
	     struct remit_error *err)
{
	char text[sizeof(why->message) + sizeof(why->remedy) + 4];

	snprintf(text, sizeof(text), "%s%s%s", why->message,
		 why->remedy[0] ? ". " : "", why->remedy);
	return answer_request(s, "error", text, err);
}

/* Adds the wheels of a layer, as NAME==VERSION, to a list and to the answer.
   Their names have only plain characters. Sets the size of all. */
static int
list_wheels(const struct package_layer *layer, struct list *wheels,
	    struct buf *out, uint64_t *bytes)
{
	own(buf) struct buf about = BUF_INIT(PACKAGE_LAYER_ABOUT_MAX);
	const char *mark = "";
	struct record r;
	size_t at = 0;

	if (package_layer_read_about(layer->lock, &about) < 0)
		return -1;
	while (record_next(about.data, about.len, &at, &r)) {
		char wheel[256];

		if (!strcmp(r.key, "bytes") && number_parse(bytes, r.value) < 0)
			return -1;
		if (strcmp(r.key, "wheel") != 0)
			continue;
		snprintf(wheel, sizeof(wheel), "%.*s",
			 (int)strcspn(r.value, " "), r.value);
		if (list_add(wheels, wheel) < 0 ||
		    buf_addf(out, "%s\"%s\"", mark, wheel) < 0)
			return -1;
		mark = ", ";
	}
	return 0;
}

/* package_bytes applies to all layers of a jail together. */
static int
check_bytes(const struct session *s, uint64_t bytes, struct remit_error *err)
{
	uint64_t most = session_policy(s)->package_bytes;

	if (number_add(s->worker->installed_bytes, bytes) <= most)
		return 0;
	return fail_refused(
		err, "package_bytes", "Raise --package-max.",
		"these packages have %llu MiB, and those that were installed "
		"before have %llu: together more than %llu MiB",
		(unsigned long long)bytes >> 20,
		(unsigned long long)s->worker->installed_bytes >> 20,
		(unsigned long long)most >> 20);
}

/* Whatever may fail because of the layer's contents comes before the mount,
   which cannot be undone. */
static int
mount_layer(struct session *s, struct package_layer *layer, struct buf *answer,
	    struct remit_error *err)
{
	struct worker *w = s->worker;
	own(list) struct list wheels = { 0 };
	uint64_t bytes = 0;
	own_fd int site =
		openat(layer->lock, "site",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (site < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open the packages");
	if (buf_addf(answer, "{\"slot\": %zu, \"wheels\": [",
		     w->installed_count) < 0 ||
	    list_wheels(layer, &wheels, answer, &bytes) < 0 ||
	    buf_addf(answer, "]}") < 0)
		return fail(err, REMIT_E_INSTALL,
			    "the packages are too many: their names fill more "
			    "than %zu KiB",
			    BRIDGE_REQUEST_MAX / 1024);
	if (check_bytes(s, bytes, err) < 0 ||
	    jail_attach(&w->jail, site, w->installed_count, err) < 0)
		return -1;
	w->installed_bytes += bytes;
	/* The lock keeps the layer on the disk while it is mounted. */
	w->installed[w->installed_count++] = *layer;
	*layer = (struct package_layer)PACKAGE_LAYER_INIT;
	for (size_t i = 0; i < wheels.count; i++)
		if (list_add(&s->cell.installed, wheels.items[i]) < 0)
			return fail_memory(err, "packages");
	return 0;
}

/* Mounts the packages if they are installed, or else waits for them. */
static int
advance_request(struct session *s, struct remit_error *err)
{
	own(package_layer) struct package_layer layer = PACKAGE_LAYER_INIT;
	own(buf) struct buf answer = BUF_INIT(BRIDGE_REQUEST_MAX);
	struct remit_error why;

	if (install_request(s, &layer, &why) < 0)
		return answer_error(s, &why, err);
	if (s->packages.install) {
		keeper_set_aside(s->keeper, s);
		return 0;
	}
	if (mount_layer(s, &layer, &answer, &why) < 0)
		return answer_error(s, &why, err);
	return answer_request(s, "ok", buf_text(&answer), err);
}

int
session_request_packages(struct session *s, struct remit_error *err)
{
	const struct buf *b = &s->bridge.request;
	struct remit_error why;

	if (record_check(b->data, b->len, err) < 0)
		return -1;
	if (check_permission(s, first_wanted(s), &why) < 0 ||
	    open_request(s, &why) < 0)
		return answer_error(s, &why, err);
	/* Each of its runs may take as long as package_time allows. */
	s->packages.wait_max_us =
		INSTALLER_CLIENTS * session_policy(s)->package_time_ms * 1000;
	cell_clock_extend(&s->clock, s->packages.wait_max_us);
	session_set_timer(s);
	return advance_request(s, err);
}

void
session_got_packages(struct session *s, const struct remit_error *why)
{
	struct remit_error err;
	int done = 0;

	if (s->state != SESSION_RUNNING || !s->worker)
		session_drop_packages(s);
	else
		done = why ? answer_error(s, why, &err)
			   : advance_request(s, &err);
	if (done < 0)
		session_fail(s, &err);
}

void
session_show_progress(struct session *s, const char *line)
{
	struct remit_error err;

	if (s->state != SESSION_RUNNING || !s->worker)
		return;
	if (bridge_send_progress(&s->bridge, &s->worker->jail.channel, line,
				 &err) < 0)
		session_fail(s, &err);
	else
		session_flush_channel(s);
}

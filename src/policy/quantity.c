#include "policy/quantity.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* The syntax of one kind of quantity. */
struct kind {
	const char *noun;
	const char *form;
	const char *too_fine;
	bool any_case;
	struct unit units[16];
};

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static const struct kind sizes = {
	.noun = "size",
	.form = "a number of bytes, or a number with K, M, G or T, such as 512M",
	.too_fine = "is not a whole number of bytes",
	.any_case = true,
	.units = {
		{ "", 1 },     { "B", 1 },
		{ "K", KIB },  { "KB", KIB }, { "KiB", KIB },
		{ "M", MIB },  { "MB", MIB }, { "MiB", MIB },
		{ "G", GIB },  { "GB", GIB }, { "GiB", GIB },
		{ "T", TIB },  { "TB", TIB }, { "TiB", TIB },
		{ 0 },
	},
};

static const struct kind times = {
	.noun = "time",
	.form = "a number of seconds, or a number with ms, s, m or h, such as 1.5s",
	.too_fine = "is finer than a millisecond",
	.units = {
		{ "", 1000 },
		{ "ms", 1 },
		{ "s", 1000 },
		{ "m", 60 * 1000 },
		{ "h", 60 * 60 * 1000 },
		{ 0 },
	},
};

static const struct kind counts = {
	.noun = "count",
	.form = "a whole number, such as 64",
	.too_fine = "is not a whole number",
	.units = { { "", 1 }, { 0 } },
};

/* A decimal number without its unit: whole + part / scale. */
struct decimal {
	uint64_t whole;
	uint64_t part;
	uint64_t scale;
	bool too_large;
	bool too_fine;
};

/* Eighteen decimals: finer than one byte in a TiB. */
#define MAX_SCALE UINT64_C(1000000000000000000)

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *
decimal_read_whole(const char *s, struct decimal *d)
{
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(d->whole, 10, &d->whole) ||
		    __builtin_add_overflow(d->whole, *s - '0', &d->whole))
			d->too_large = true;
	}
	return s;
}

static const char *
decimal_read_part(const char *s, struct decimal *d)
{
	for (; is_digit(*s); s++) {
		if (d->scale < MAX_SCALE) {
			d->scale *= 10;
			d->part = d->part * 10 + (uint64_t)(*s - '0');
		} else if (*s != '0') {
			d->too_fine = true;
		}
	}
	return s;
}

/* Returns the position of the unit, or NULL if the text does not begin with a
   number. */
static const char *
read_decimal(const char *s, struct decimal *d)
{
	*d = (struct decimal){ .scale = 1 };
	if (!is_digit(*s))
		return NULL;
	s = decimal_read_whole(s, d);
	if (*s != '.')
		return s;
	if (!is_digit(s[1]))
		return NULL;
	return decimal_read_part(s + 1, d);
}

static const struct unit *
find_unit(const struct kind *k, const char *name)
{
	int (*same)(const char *, const char *) =
		k->any_case ? strcasecmp : strcmp;

	for (const struct unit *u = k->units; u->name; u++)
		if (!same(u->name, name))
			return u;
	return NULL;
}

/* 128 bits, because eighteen decimals of a TiB do not fit into 64. */
static unsigned __int128
decimal_part(const struct decimal *d, uint64_t factor)
{
	return (unsigned __int128)d->part * factor;
}

static bool
is_exact(const struct decimal *d, uint64_t factor)
{
	return !d->too_fine && decimal_part(d, factor) % d->scale == 0;
}

/* Returns UINT64_MAX if the value does not fit. */
static uint64_t
decimal_value(const struct decimal *d, uint64_t factor)
{
	uint64_t part = (uint64_t)(decimal_part(d, factor) / d->scale);
	uint64_t value;

	if (d->too_large || __builtin_mul_overflow(d->whole, factor, &value) ||
	    __builtin_add_overflow(value, part, &value))
		return UINT64_MAX;
	return value;
}

static int
quantity_parse(const struct kind *k, const char *text, uint64_t *out,
	       struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	const struct unit *u = NULL;
	const char *unit_name;
	struct decimal d;
	uint64_t value;

	quote(shown, text);
	if (!*text)
		return fail(err, REMIT_E_INPUT,
			    "an empty text is not a %s: write %s", k->noun,
			    k->form);
	if (*text == '-' && is_digit(text[1]))
		return fail(err, REMIT_E_INPUT,
			    "%s is negative: a %s is at least 1", shown,
			    k->noun);
	unit_name = read_decimal(text, &d);
	if (unit_name)
		u = find_unit(k, unit_name);
	if (!u)
		return fail(err, REMIT_E_INPUT, "%s is not a %s: write %s",
			    shown, k->noun, k->form);
	if (!is_exact(&d, u->factor))
		return fail(err, REMIT_E_INPUT, "%s %s", shown, k->too_fine);
	value = decimal_value(&d, u->factor);
	if (value == UINT64_MAX)
		return fail(err, REMIT_E_INPUT, "%s is too large for a %s",
			    shown, k->noun);
	if (value == 0)
		return fail(err, REMIT_E_INPUT,
			    "%s is zero, and zero is never a limit", shown);
	*out = value;
	return 0;
}

int
quantity_bytes(const char *text, uint64_t *bytes, struct remit_error *err)
{
	return quantity_parse(&sizes, text, bytes, err);
}

int
quantity_time(const char *text, uint64_t *ms, struct remit_error *err)
{
	return quantity_parse(&times, text, ms, err);
}

int
quantity_count(const char *text, uint64_t *count, struct remit_error *err)
{
	return quantity_parse(&counts, text, count, err);
}

void
quantity_show_bytes(uint64_t bytes, char *out, size_t size)
{
	static const struct unit shown[] = {
		{ "TiB", TIB },
		{ "GiB", GIB },
		{ "MiB", MIB },
		{ "KiB", KIB },
	};

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		if (bytes == 0 || bytes % shown[i].factor)
			continue;
		snprintf(out, size, "%llu %s",
			 (unsigned long long)(bytes / shown[i].factor),
			 shown[i].name);
		return;
	}
	snprintf(out, size, "%llu byte%s", (unsigned long long)bytes,
		 bytes == 1 ? "" : "s");
}

static void
show_seconds(uint64_t ms, char *out, size_t size)
{
	unsigned part = (unsigned)(ms % 1000);
	int digits = 3;

	for (; part && part % 10 == 0; part /= 10)
		digits--;
	snprintf(out, size, "%llu.%0*u s", (unsigned long long)(ms / 1000),
		 digits, part);
}

void
quantity_show_time(uint64_t ms, char *out, size_t size)
{
	static const struct unit shown[] = {
		{ "h", 60 * 60 * 1000 },
		{ "min", 60 * 1000 },
		{ "s", 1000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		if (ms == 0 || ms % shown[i].factor)
			continue;
		snprintf(out, size, "%llu %s",
			 (unsigned long long)(ms / shown[i].factor),
			 shown[i].name);
		return;
	}
	if (ms > 1000)
		show_seconds(ms, out, size);
	else
		snprintf(out, size, "%llu ms", (unsigned long long)ms);
}

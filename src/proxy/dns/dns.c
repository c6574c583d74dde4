#include "proxy/dns/dns.h"

#include <string.h>

#include "base/buf.h"

#define HEADER_BYTES   12
#define IS_ANSWER      0x8000
#define OPCODE_MASK    0x7800
#define RECURSE_PLEASE 0x0100
#define RECURSE_CAN    0x0080
#define CODE_MASK      0x000f
#define CLASS_IN       1
#define TYPE_OPT       41
/* The address stays valid during the whole run; a client may ask again. */
#define TTL_S	     60
#define MOST_RECORDS 64

/* ---- names ---- */

/*
 * Read the labels of a question as text. A label that contains a dot would look
 * like two, so only text that host_name_read() accepts counts as a name.
 * Returns 1 for a name, 0 for something else that ends properly, -1 if it does
 * not end.
 */
static int
read_labels(struct cursor *c, char name[HOST_NAME_SIZE])
{
	char text[256];
	size_t len = 0;
	bool is_plain = true;

	for (;;) {
		size_t n = cursor_number(c, 1);
		const unsigned char *label;

		if (c->bad || n > 63)
			return -1; /* only answers have pointers */
		if (!n)
			break;
		label = cursor_bytes(c, n);
		if (!label || len + n + 1 > sizeof(text) - 1)
			return -1;
		if (memchr(label, '.', n))
			is_plain = false;
		memcpy(text + len, label, n);
		len += n;
		text[len++] = '.';
	}
	return is_plain && len && host_name_read(text, len, name) == 0;
}

/* Skip a name, which may end in a pointer. */
static void
skip_name(struct cursor *c)
{
	for (int i = 0; i < 128; i++) {
		size_t n = cursor_number(c, 1);

		if (n >= 0xc0) {
			cursor_number(c, 1);
			return;
		}
		if (!n || c->bad)
			return;
		cursor_bytes(c, n);
	}
	c->bad = true;
}

/* ---- questions from the jail ---- */

int
dns_question_read(const char *bytes, size_t len, struct dns_question *out)
{
	struct cursor c = { (const unsigned char *)bytes, len, false };
	uint32_t questions, answers;
	int is_name;

	*out = (struct dns_question){ .len = HEADER_BYTES };
	out->id = (uint16_t)cursor_number(&c, 2);
	out->flags = (uint16_t)cursor_number(&c, 2);
	questions = cursor_number(&c, 2);
	answers = cursor_number(&c, 4); /* and authorities */
	cursor_number(&c, 2);		/* ignore the client's options */
	if (c.bad || out->flags & IS_ANSWER)
		return -1;
	if (questions != 1 || answers || out->flags & OPCODE_MASK)
		return 0;
	is_name = read_labels(&c, out->name);
	out->type = (uint16_t)cursor_number(&c, 2);
	if (is_name < 0 || cursor_number(&c, 2) != CLASS_IN || c.bad)
		return 0;
	out->has_name = is_name > 0;
	out->len = len - c.left;
	return 0;
}

static char *
put_number(char *at, uint32_t value, size_t bytes)
{
	for (size_t i = bytes; i--;)
		*at++ = (char)(value >> (8 * i) & 0xff);
	return at;
}

size_t
dns_answer_write(char out[DNS_MAX], const struct dns_question *q,
		 const char *asked, enum dns_code code,
		 const in_addr_t *address)
{
	uint32_t flags = IS_ANSWER | RECURSE_CAN | (uint32_t)code |
			 (q->flags & (OPCODE_MASK | RECURSE_PLEASE));
	char *at = put_number(out, q->id, 2);

	at = put_number(at, flags, 2);
	at = put_number(at, q->len > HEADER_BYTES, 2);
	at = put_number(at, address != NULL, 2);
	at = put_number(at, 0, 4);
	/* At most 255 bytes of name, and 4 of type and class. */
	memcpy(at, asked + HEADER_BYTES, q->len - HEADER_BYTES);
	at += q->len - HEADER_BYTES;
	if (address) {
		at = put_number(at, 0xc000 | HEADER_BYTES,
				2); /* the name asked for */
		at = put_number(at, DNS_A, 2);
		at = put_number(at, CLASS_IN, 2);
		at = put_number(at, TTL_S, 4);
		at = put_number(at, 4, 2);
		memcpy(at, address, 4);
		at += 4;
	}
	return (size_t)(at - out);
}

/* ---- our questions ---- */

size_t
dns_question_write(char out[DNS_MAX], uint16_t id, const char *name,
		   enum dns_type type)
{
	char *at = put_number(out, id, 2);

	at = put_number(at, RECURSE_PLEASE, 2);
	at = put_number(at, 1, 2);
	at = put_number(at, 0, 4);
	at = put_number(at, 1, 2);
	while (*name) {
		size_t n = strcspn(name, ".");

		at = put_number(at, (uint32_t)n, 1);
		memcpy(at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	at = put_number(at, 0, 1);
	at = put_number(at, type, 2);
	at = put_number(at, CLASS_IN, 2);
	/* The largest answer that we read (RFC 6891). */
	at = put_number(at, 0, 1);
	at = put_number(at, TYPE_OPT, 2);
	at = put_number(at, DNS_READ, 2);
	at = put_number(at, 0, 4);
	at = put_number(at, 0, 2);
	return (size_t)(at - out);
}

/* Reads a record and ignores its name: the server that answers is trusted with
   all records of the answer, and each address is checked before it is used. */
static void
read_record(struct cursor *c, enum dns_type type, struct addresses *out)
{
	uint32_t found, class;
	struct cursor data;

	skip_name(c);
	found = cursor_number(c, 2);
	class = cursor_number(c, 2);
	cursor_number(c, 4);
	data = cursor_part(c, cursor_number(c, 2));
	if (c->bad || found != type || class != CLASS_IN ||
	    data.left != (type == DNS_A ? 4 : 16) ||
	    out->count == ADDRESSES_MAX)
		return;
	out->rows[out->count] = (struct address){ .is_v6 = type == DNS_AAAA };
	memcpy(out->rows[out->count].bytes, data.at, data.left);
	out->count++;
}

int
dns_answer_read(const char *bytes, size_t len, uint16_t id, const char *name,
		enum dns_type type, struct addresses *out, enum dns_code *code)
{
	struct cursor c = { (const unsigned char *)bytes, len, false };
	char asked[HOST_NAME_SIZE];
	uint32_t got_id = cursor_number(&c, 2), flags = cursor_number(&c, 2);
	uint32_t questions = cursor_number(&c, 2);
	uint32_t records = cursor_number(&c, 2);
	struct addresses found = *out;

	cursor_number(&c, 4);
	if (c.bad || got_id != id || !(flags & IS_ANSWER) || questions != 1 ||
	    read_labels(&c, asked) != 1 || strcmp(asked, name) != 0 ||
	    cursor_number(&c, 2) != type || cursor_number(&c, 2) != CLASS_IN ||
	    c.bad)
		return -1;
	/* An answer that was cut off has enough addresses. */
	for (uint32_t i = 0; i < records && i < MOST_RECORDS && c.left; i++)
		read_record(&c, type, &found);
	*code = (enum dns_code)(flags & CODE_MASK);
	if (*code == DNS_OK)
		*out = found;
	return 0;
}

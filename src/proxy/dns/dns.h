/*
 * dns: the few messages of RFC 1035 that the proxy reads and writes: questions
 * from the jail and our answers, and our questions and the answers of a
 * resolver.
 */
#ifndef REMIT_DNS_H
#define REMIT_DNS_H

#include "base/net/address.h"
#include "base/net/host_name.h"

#define DNS_MAX	 512  /* of messages we write */
#define DNS_READ 1232 /* of messages we read; longer answers are cut off */

enum dns_type {
	DNS_A = 1,
	DNS_AAAA = 28,
};

enum dns_code {
	DNS_OK = 0,
	DNS_MALFORMED = 1,
	DNS_NO_SUCH_NAME = 3,
	DNS_NOT_BUILT = 4,
	DNS_REFUSED = 5,
};

/* ---- answering the jail ---- */

struct dns_question {
	uint16_t id;
	uint16_t flags;
	uint16_t type;
	bool has_name; /* it is one question, for a valid host name */
	char name[HOST_NAME_SIZE];
	size_t len; /* of header and question, which the answer repeats */
};

/* Returns -1 if the message cannot be answered at all. */
int dns_question_read(const char *bytes, size_t len,
		      struct dns_question *out) must_check;
/* Write an answer to the question in `asked`, with an address, or none (NULL).
   Returns its length. */
size_t dns_answer_write(char out[DNS_MAX], const struct dns_question *q,
			const char *asked, enum dns_code code,
			const in_addr_t *address);

/* ---- asking a resolver ---- */

/* Write a question. Returns its length. */
size_t dns_question_write(char out[DNS_MAX], uint16_t id, const char *name,
			  enum dns_type type);
/*
 * Read an answer to exactly this question. Returns -1 if it is not one. Adds
 * the addresses to *out; *code is the resolver's.
 */
int dns_answer_read(const char *bytes, size_t len, uint16_t id,
		    const char *name, enum dns_type type, struct addresses *out,
		    enum dns_code *code) must_check;

#endif

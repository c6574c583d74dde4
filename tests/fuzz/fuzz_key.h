/*
 * fuzz_key: a key with the default policy, for targets that read requests.
 */
#ifndef REMIT_FUZZ_KEY_H
#define REMIT_FUZZ_KEY_H

#include "fuzz.h"
#include "policy/within.h"
#include "serve/auth/keys.h"

static inline struct key *
a_key(void)
{
	static struct key key = { .python = { 3, 11, 2 } };

	if (key.policy_text)
		return &key;
	must(policy_init(&key.policy) == 0 && policy_init(&key.most) == 0);
	key.free = policy_within_harmless();
	key.policy_text = keys_policy_text(&key.policy);
	must(key.policy_text != NULL);
	return &key;
}

#endif

/*
 * foreign_out: a server without the APIs of other services.
 */
#include "serve/compat/foreign.h"

const bool foreign_is_built = false;
const char foreign_sentence[] =
	"\"remit serve\" of this build is without the APIs of " FOREIGN_NAMES
	".";

const struct route *const foreign_routes[FOREIGN_TABLES + 1] = { NULL };
const struct route *const foreign_first_routes[] = { NULL, NULL };
const struct openapi_shape foreign_shapes[] = { { 0 } };
const struct openapi_other foreign_others[] = { { 0 } };

void
foreign_prepare(struct keys *k)
{
	(void)k;
}

int
foreign_open(struct server *s, bool debug, struct remit_error *err)
{
	(void)s;
	if (debug)
		return fail(err, REMIT_E_INPUT,
			    "--e2b-debug: this build is without the APIs "
			    "of " FOREIGN_NAMES);
	return 0;
}

void
foreign_tick(struct server *s)
{
	(void)s;
}

void
foreign_free(struct server *s)
{
	(void)s;
}

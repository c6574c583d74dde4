#include "serve/compat/foreign.h"

#include "serve/compat/small_apis.h"
#include "serve/e2b/e2b.h"
#include "serve/server.h"

const bool foreign_is_in = true;
const char foreign_sentence[] =
	"\"remit serve\" has the APIs of " FOREIGN_NAMES " as well.";

const struct route *const foreign_routes[FOREIGN_TABLES + 1] = {
	e2b_control_routes,
	e2b_code_routes,
	e2b_file_routes,
	e2b_process_routes,
	fusion_routes,
	piston_routes,
	NULL,
};

void
foreign_prepare(struct keys *k)
{
	piston_find_pythons(k);
}

int
foreign_open(struct server *s, bool debug, struct remit_error *err)
{
	return e2b_open(&s->e2b, debug, err);
}

void
foreign_look(struct server *s)
{
	e2b_look(s);
}

void
foreign_free(struct server *s)
{
	e2b_free(s->e2b);
}

#include "jail/probe/site.h"

#include "jail/probe/discover.h"
#include "jail/probe/probe.h"

int
site_find_host(struct site *s, struct remit_error *err)
{
	if (discover_runtime_dir(&s->runtime_dir, err) < 0)
		return -1;
	return probe_host_cached(&s->host, s->runtime_dir, err);
}

int
site_find_interpreter(struct site *s, const char *python,
		      struct remit_error *err)
{
	return discover_interpreter(&s->interpreter, python, s->runtime_dir,
				    err);
}

void
site_free(struct site *s)
{
	free(s->runtime_dir);
	interpreter_free(&s->interpreter);
}

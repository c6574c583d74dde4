#include "bench_program.h"

#include <jansson.h>

const struct bench_program bench_programs[] = {
	{
		.name = "print(1)",
		.code = "print(1)",
		.output = "1\n",
		.preset = "default",
		.quick = true,
	},
	{
		.name = "import numpy, pandas",
		.code = "import numpy, pandas; print(1)",
		.output = "1\n",
		.preset = "scientific",
		.preload = { "numpy", "pandas" },
	},
	{
		.name = "pandas group-by",
		.code = "import numpy, pandas\n"
			"i = numpy.arange(10000)\n"
			"d = pandas.DataFrame({'key': i % 100, 'value': i})\n"
			"print(int(d.groupby('key')['value'].sum().max()))\n",
		.output = "504900\n",
		.preset = "scientific",
		.preload = { "numpy", "pandas" },
		.quick = true,
	},
	{ 0 },
};

int
bench_program_policy(const struct bench_program *p, const char *python,
		     char **out, struct remit_error *err)
{
	json_t *doc =
		json_pack("{s:s, s:s}", "preset", p->preset, "python", python);
	json_t *preload = json_array();

	for (const char *const *m = p->preload; *m; m++)
		json_array_append_new(preload, json_string(*m));
	if (p->preload[0])
		json_object_set(doc, "preload", preload);
	if (p->exported)
		json_object_set_new(doc, "artifact_export_paths",
				    json_pack("[s]", p->exported));
	if (p->write_root)
		json_object_set_new(doc, "mounts",
				    json_pack("[{s:s, s:s, s:s}]", "host",
					      p->write_root, "jail", "/data",
					      "mode", "rw"));
	*out = doc ? json_dumps(doc, 0) : NULL;
	json_decref(preload);
	json_decref(doc);
	if (!*out)
		return fail_memory(err, "policy");
	return 0;
}

int
bench_program_preload(const struct bench_program *p, struct list *out,
		      struct remit_error *err)
{
	for (const char *const *m = p->preload; *m; m++)
		if (list_add(out, "--preload") < 0 || list_add(out, *m) < 0)
			return fail_memory(err, "flags");
	return 0;
}

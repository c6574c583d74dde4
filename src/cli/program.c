#include "cli/program.h"

#include <string.h>

#include "base/file/io.h"
#include "base/file/path.h"

static int
read_stdin(struct buf *b, struct remit_error *err)
{
	if (io_read_all(0, b) == 0)
		return 0;
	return fail_sys(err, REMIT_E_INPUT, "standard input as the program");
}

int
program_read(struct buf *out, const char *code, const char *path,
	     struct remit_error *err)
{
	if (code) {
		if (buf_add(out, code, strlen(code)) < 0)
			return fail_sys(err, REMIT_E_INPUT, "-c");
		return 0;
	}
	if (!strcmp(path, "-"))
		return read_stdin(out, err);
	return path_read_file(out, path, err);
}

const char *
program_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path || !strcmp(path, "-"))
		return NULL;
	return slash ? slash + 1 : path;
}

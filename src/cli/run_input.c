#include "cli/run_input.h"

#include <sys/stat.h>

#include "base/file/io.h"

static int
keep(struct run_input *in, size_t max_bytes, struct remit_error *err)
{
	in->bytes = (struct buf)BUF_INIT(max_bytes);
	if (io_read_all(0, &in->bytes) == 0) {
		in->kept = true;
		return 0;
	}
	if (errno == EFBIG)
		return fail(err, REMIT_E_INPUT,
			    "--ask keeps standard input for a second run, and "
			    "it is longer than stdin_bytes: raise it "
			    "(--stdin-max), or give a file");
	return fail_sys(err, REMIT_E_INPUT, "standard input");
}

int
run_input_open(struct run_input *in, size_t max_bytes, struct remit_error *err)
{
	struct stat st;

	/* A closed one is the client's affair, as without --ask. */
	if (fstat(0, &st) < 0 || S_ISCHR(st.st_mode))
		return 0;
	in->start = S_ISREG(st.st_mode) ? lseek(0, 0, SEEK_CUR) : -1;
	in->rewinds = in->start >= 0;
	return in->rewinds ? 0 : keep(in, max_bytes, err);
}

int
run_input_give(const struct run_input *in, struct remit_job *job,
	       struct remit_error *err)
{
	if (in->rewinds && lseek(0, in->start, SEEK_SET) < 0)
		return fail_sys(err, REMIT_E_INPUT, "standard input");
	job->stdin_fd = in->kept ? -1 : 0;
	job->stdin_bytes = in->kept ? buf_text(&in->bytes) : NULL;
	job->stdin_len = in->bytes.len;
	return 0;
}

void
run_input_free(struct run_input *in)
{
	buf_free(&in->bytes);
}

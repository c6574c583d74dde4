#include "client/files/job_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "wire/record.h"

/* The most a policy allows for all of them. */
#define BYTES_MAX (UINT64_C(1) << 30)

static int
send_head(struct link *l, const char *path, uint64_t size,
	  struct remit_error *err)
{
	own(buf) struct buf head = BUF_INIT(frame_rules[FRAME_FILE].max);
	const struct file_head h = { path, size };

	if (file_head_write(&head, &h) < 0)
		return fail_sys(err, REMIT_E_INPUT, "input file %s", path);
	return link_send(l, FRAME_FILE, head.data, head.len, err);
}

static int
open_regular(const char *host_path, uint64_t *size, struct remit_error *err)
{
	/* Not to hang on a FIFO. */
	own_fd int fd = open(host_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "input file %s", host_path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "input file %s is %s, not a regular file",
			    host_path,
			    S_ISDIR(st.st_mode) ? "a folder" : "special");
	*size = (uint64_t)st.st_size;
	if (*size > BYTES_MAX)
		return fail(err, REMIT_E_INPUT,
			    "input file %s has %llu bytes: 1 GiB is the most "
			    "that input_bytes can allow",
			    host_path, (unsigned long long)*size);
	return take_fd(&fd);
}

static int
send_from_disk(struct link *l, const struct remit_file *f,
	       struct remit_error *err)
{
	char piece[FRAME_PIECE];
	uint64_t left = 0;
	own_fd int fd = open_regular(f->host_path, &left, err);

	if (fd < 0 || send_head(l, f->path, left, err) < 0)
		return -1;
	while (left) {
		size_t want =
			left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t n = io_read(fd, piece, want);

		if (n < 0)
			return fail_sys(err, REMIT_E_INPUT, "input file %s",
					f->host_path);
		if (n == 0)
			return fail(err, REMIT_E_INPUT,
				    "input file %s became shorter while it "
				    "was read",
				    f->host_path);
		if (link_send(l, FRAME_FILE_DATA, piece, (size_t)n, err) < 0)
			return -1;
		left -= (uint64_t)n;
	}
	return 0;
}

int
job_files_send(struct link *l, const struct remit_job *job,
	       struct remit_error *err)
{
	for (size_t i = 0; i < job->file_count; i++) {
		const struct remit_file *f = &job->files[i];

		if (f->host_path) {
			if (send_from_disk(l, f, err) < 0)
				return -1;
			continue;
		}
		if (send_head(l, f->path, f->len, err) < 0 ||
		    link_send_pieces(l, FRAME_FILE_DATA, f->bytes, f->len,
				     err) < 0)
			return -1;
	}
	return 0;
}

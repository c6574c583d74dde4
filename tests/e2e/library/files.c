/*
 * Files in and out through the library: from memory, from disk, into a folder
 */
#include <remit.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_file files[] = {
		{ .path = "memory", .bytes = "a\0b", .len = 3 },
		{ .path = "/workspace/in/disk", .host_path = argv[1] },
	};
	struct remit_result *result;
	struct remit_error err;
	struct remit *remit;

	job.code = "m = open('memory', 'rb').read()\n"
		   "d = open('in/disk', 'rb').read()\n"
		   "open('both', 'wb').write(m + d)\n";
	job.code_len = strlen(job.code);
	job.files = files;
	job.file_count = 2;
	job.policy_json = "{\"artifact_export_paths\": [\"both\"]}";
	job.artifacts_dir = argc > 2 ? argv[2] : NULL;
	if (remit_open(&remit, NULL, &err) < 0 ||
	    remit_run(remit, &job, &result, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	puts(remit_result_json(result));
	remit_result_free(result);
	remit_close(remit);
	return 0;
}

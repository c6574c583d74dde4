/*
 * result_member: the members of a result, in the order in which every result
 * has them, and where each of them comes from. The keeper sends its members in
 * the frame "result"; the library builds the document (client/result_view.h).
 */
#ifndef REMIT_RESULT_MEMBER_H
#define REMIT_RESULT_MEMBER_H

enum result_member {
	RESULT_ID,
	RESULT_LINE,
	RESULT_STATUS,
	RESULT_TIER,
	RESULT_START,
	RESULT_EXIT_CODE,
	RESULT_SIGNAL,
	RESULT_STDOUT,
	RESULT_STDERR,
	RESULT_STDOUT_TRUNCATED,
	RESULT_STDERR_TRUNCATED,
	RESULT_ERROR,
	RESULT_REPORTED,
	RESULT_USAGE,
	RESULT_DISPLAYS_LEFT_OUT,
	RESULT_VALUE,
	RESULT_DISPLAYS,
	RESULT_ENFORCEMENT,
	RESULT_DENIALS,
	RESULT_DENIALS_LEFT_OUT,
	RESULT_DENIALS_SEEN,
	RESULT_ARTIFACTS,
	RESULT_ARTIFACTS_SKIPPED,
	RESULT_CHANGES,
	RESULT_CHANGES_SKIPPED,
	RESULT_COMMITTED,
	RESULT_SESSION,
	RESULT_CALLS,
	RESULT_CALLS_LEFT_OUT,
	RESULT_RUN_ID,
	RESULT_REMIT_VERSION,
	RESULT_REMIT_EXIT_CODE,
	RESULT_STDOUT_BASE64,
	RESULT_STDERR_BASE64,
	RESULT_MEMBERS,
};

enum result_source {
	RESULT_BY_CALLER = 1,	 /* a name for the run, if it has one */
	RESULT_BY_KEEPER = 2,	 /* the frame "result": facts and claims */
	RESULT_BY_PLAN = 4,	 /* the frame "enforcement" */
	RESULT_BY_DISPLAYS = 8,	 /* the frames "display": JSON of the code's */
	RESULT_BY_LIBRARY = 16,	 /* what it received, wrote and called */
	RESULT_BY_ENCODING = 32, /* only there if the output is not text */
};

#define RESULT_PARTS_MAX 8

struct result_row {
	const char *name;
	enum result_source source;
	unsigned types;	     /* a bit for each json_type that it may have */
	const char *nothing; /* JSON: where no keeper has seen the job */
	const char *parts[RESULT_PARTS_MAX]; /* an object has all of these */
};

extern const struct result_row result_rows[RESULT_MEMBERS];

#endif

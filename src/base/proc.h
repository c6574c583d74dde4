/*
 * proc: facts about a process from /proc/PID.
 */
#ifndef REMIT_PROC_H
#define REMIT_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/own.h"

/* Long enough for /proc/PID/status; a longer text is cut. */
#define PROC_STATUS_SIZE 8192

/* Reads /proc/PID/status. Returns -1 with errno. */
int proc_status(pid_t pid, char out[PROC_STATUS_SIZE]) must_check;
/* Finds the value after "KEY:"; it ends at the end of the line. Returns NULL if
   there is no such line. */
const char *proc_status_line(const char *status, const char *key);
/* Reads the number on one line. Returns -1 if that fails. */
int proc_status_number(pid_t pid, const char *key, uint64_t *out) must_check;

/* The file that a descriptor refers to: two different open files never have
   both numbers in common. */
struct proc_file {
	uint64_t mount, inode;
};

/* Returns -1 with errno; ENOENT if the descriptor is not open, or if the kernel
   does not report the numbers. */
int proc_file(pid_t pid, int fd, struct proc_file *out) must_check;

/* Waits for the end of a child, whatever signals arrive. `status` may be NULL.
   Returns -1 with errno if it was reaped elsewhere. */
int proc_wait(pid_t pid, int *status);

/* Whether the first thread of the process sleeps. If it sleeps again later with
   the same number of context switches, it has not run in between. */
bool proc_sleeps(pid_t pid, uint64_t *switches);

/* Whether no thread of the process runs: all are stopped or have ended. */
bool proc_is_stopped(pid_t pid);

/* Returns the memory of a process, with shared pages divided among the
   processes that share them (PSS); 0 if that cannot be read. */
uint64_t proc_pss_bytes(pid_t pid);
/* Returns its memory in huge pages; 0 if that cannot be read. */
uint64_t proc_huge_bytes(pid_t pid);

#endif

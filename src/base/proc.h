/*
 * proc: what the kernel says of a process in /proc/PID/status.
 */
#ifndef REMIT_PROC_H
#define REMIT_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/own.h"

/* Long enough for all of it; longer text is cut. */
#define PROC_STATUS_SIZE 8192

/* The whole text. -1 with errno. */
int proc_status(pid_t pid, char out[PROC_STATUS_SIZE]) must_check;
/* The text behind "KEY:" and the blank, up to the line's end is the value;
   NULL if there is no such line. */
const char *proc_status_line(const char *status, const char *key);
/* The number on one line. -1 if it cannot be read. */
int proc_status_number(pid_t pid, const char *key, uint64_t *out) must_check;

/* Which file a descriptor leads to: no two open ones have both numbers. */
struct proc_file {
	uint64_t mount, inode;
};

/* -1 with errno; ENOENT if it is not open, or the kernel does not say. */
int proc_file(pid_t pid, int fd, struct proc_file *out) must_check;

/* Its first thread sleeps. Who sleeps, and sleeps later with the same number of
   switches, has not run in between. */
bool proc_sleeps(pid_t pid, uint64_t *switches);

/* No thread of it runs: it got SIGSTOP, or has ended. */
bool proc_is_stopped(pid_t pid);

/* What it holds of the memory, shared pages divided among all that share them;
   0 if that cannot be read. */
uint64_t proc_pss_bytes(pid_t pid);
/* What it holds in huge pages; 0 too if that cannot be read. */
uint64_t proc_huge_bytes(pid_t pid);

#endif

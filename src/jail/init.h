/*
 * init: pid 1 of a jail. It reaps, says how pid 2 ended, and dies when the
 * keeper's end of the lifeline closes, and with it everything in the jail.
 */
#ifndef REMIT_INIT_H
#define REMIT_INIT_H

#include <stdbool.h>
#include <sys/types.h>

/* Never returns. Tells how main_pid ended, or every child: branches of the
   code. Drops all rights, keeps only the lifeline open. */
void init_run(int lifeline, pid_t main_pid, bool tells_all)
	__attribute__((noreturn));

#endif

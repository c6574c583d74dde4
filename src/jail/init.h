/*
 * init: pid 1 of a jail. It reaps, says how pid 2 ended, and dies when the
 * keeper's end of the lifeline closes, and with it everything in the jail.
 */
#ifndef REMIT_INIT_H
#define REMIT_INIT_H

#include <sys/types.h>

/* Never returns. Drops all rights, keeps only the lifeline open. */
void init_run(int lifeline, pid_t main_pid) __attribute__((noreturn));

#endif

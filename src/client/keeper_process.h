/*
 * keeper_process: start a private keeper. It is the remit command itself, so
 * that a library in a threaded program never forks one.
 */
#ifndef REMIT_KEEPER_PROCESS_H
#define REMIT_KEEPER_PROCESS_H

#include <sys/types.h>

#include "base/error.h"

int keeper_process_start(pid_t *pid, int *control, const char *command_path,
			 struct remit_error *err) must_check;

#endif

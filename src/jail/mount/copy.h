/*
 * copy: the files of a session, for a branch of it: directories, files with
 * their holes, links of both kinds, with modes and times. There is nothing else
 * that code could have made. Nobody changes them meanwhile but the code itself.
 */
#ifndef REMIT_COPY_H
#define REMIT_COPY_H

/* How many directories may lie inside of each other. */
#define COPY_DEPTH 128

/* What is in directory `from`, into the directory `name` of the file system
   `to`, which is there. -1 with errno. */
int copy_tree(int from, int to, const char *name);
/* After the last one: what `to` has for those with several names goes. */
int copy_end(int to);

#endif

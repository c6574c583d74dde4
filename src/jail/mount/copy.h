/*
 * copy: copies the files of a session for a branch: directories, files with
 * their holes, hard and symbolic links, modes and times. Code cannot make
 * anything else. Only the code itself could change the files meanwhile, and it
 * is stopped.
 */
#ifndef REMIT_COPY_H
#define REMIT_COPY_H

/* How many directories may be nested. */
#define COPY_DEPTH 128

/* Copy the contents of directory `from` into the existing directory `name` of
   the file system `to`. Returns -1 with errno. */
int copy_tree(int from, int to, const char *name);
/* Call this after the last copy_tree(): removes the helper names that `to` has
   for hard links. Returns -1 with errno. */
int copy_end(int to);

#endif

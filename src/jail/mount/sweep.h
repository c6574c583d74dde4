/*
 * sweep: remove everything that foreign code made in a directory. The tree may
 * be deep, wide, without any permissions, and full of links. Nothing is opened
 * by a path, no link is followed, and neither depth nor the number of names
 * costs memory or descriptors.
 */
#ifndef REMIT_SWEEP_H
#define REMIT_SWEEP_H

/* Empty the directory, which itself stays. Returns -1 with errno if something
   could not be removed; everything else has been removed then. */
int sweep(int directory);

#endif

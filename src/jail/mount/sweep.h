/*
 * sweep: remove everything that foreign code made in a directory. It may be
 * deep, wide, without rights for anybody, and full of links: nothing is opened
 * by a path, no link is followed, and neither depth nor names cost memory or
 * descriptors.
 */
#ifndef REMIT_SWEEP_H
#define REMIT_SWEEP_H

/* Empty the directory; it stays. -1 with errno if something could not be
   removed; what can be is gone all the same. */
int sweep(int directory);

#endif

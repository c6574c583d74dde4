/*
 * page: the playground at "/" and its files at "/assets/". They hold nothing
 * that is secret, so no key is asked for; what they do, they do by the API.
 */
#ifndef REMIT_PAGE_H
#define REMIT_PAGE_H

#include "http/route.h"

extern const struct route page_routes[];

#endif

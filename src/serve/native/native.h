/*
 * native: the API of Remit's own under /v1, as tables of routes.
 */
#ifndef REMIT_NATIVE_H
#define REMIT_NATIVE_H

#include "http/route.h"

extern const struct route native_run_routes[];
extern const struct route native_session_routes[];
extern const struct route native_file_routes[];
extern const struct route native_info_routes[];

#endif

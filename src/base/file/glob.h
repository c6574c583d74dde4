/*
 * glob: patterns for paths below a directory, such as "*.csv" or "out/" with
 * two stars behind it.
 *
 *	*	any text within one name, also none
 *	?	one character of a name
 *	**	any names, also none; as the last part at least one
 *
 * None of them stands for a dot that a name begins with. All else stands for
 * itself. A pattern whose last part has no star and no question mark stands
 * for a file, or for all that is below a directory.
 *
 * Pattern and path are relative, without empty parts, "." and "..". Matching
 * takes no more time than the product of both lengths.
 */
#ifndef REMIT_GLOB_H
#define REMIT_GLOB_H

#include <stdbool.h>

bool glob_matches(const char *pattern, const char *path);
/* Whether something below this directory may match. */
bool glob_leads_into(const char *pattern, const char *directory);

#endif

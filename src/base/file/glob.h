/*
 * glob: patterns for paths below a directory, such as "*.csv", or "out/"
 * followed by two stars.
 *
 *	*	any text within one name, may be empty
 *	?	one character of a name
 *	**	any number of names; as the last part at least one
 *
 * None of them matches a dot at the beginning of a name. All other characters
 * match themselves. A pattern whose last part has no star and no question mark
 * matches a file, or everything below a directory.
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

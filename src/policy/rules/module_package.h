/*
 * module_package: finds the package of an index that provides a missing module.
 */
#ifndef REMIT_MODULE_PACKAGE_H
#define REMIT_MODULE_PACKAGE_H

/* The longest name of a top-level module for which there is advice. */
#define MODULE_NAME_MAX 64

/*
 * Returns the package to install for a top-level module: that of the table if
 * the names differ, else `module` itself. Returns NULL if no package of an
 * index provides the module, or if `module` is not an ASCII name that begins
 * with a letter. The result is always a valid entry of the policy field
 * packages, and safe on a terminal and in a shell.
 */
const char *module_package_find(const char *module);

#endif

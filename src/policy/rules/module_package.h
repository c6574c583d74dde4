/*
 * module_package: which package of an index has a module that an import did
 * not find.
 */
#ifndef REMIT_MODULE_PACKAGE_H
#define REMIT_MODULE_PACKAGE_H

/* Characters of a top-level module's name: longer ones get no advice. */
#define MODULE_NAME_MAX 64

/*
 * The package to install for a top-level module: from the table if their names
 * differ, else of the same name (then the result is `module` itself). NULL if
 * no package of an index provides the module, or if `module` is not an ASCII
 * name that begins with a letter. A result is always a valid entry of the
 * policy field packages, harmless to a terminal and to a shell.
 */
const char *module_package_find(const char *module);

#endif

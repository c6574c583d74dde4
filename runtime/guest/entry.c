/*
 * entry: the functions that the host calls.
 */
#include <Python.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

#include "guest/guest.h"

/* The standard library, in the directory of the program. */
#define LIBRARY "lib"
/* The size of the stack of remit_interrupt(). */
#define INTERRUPT_STACK 16384

static void __attribute__((noreturn))
give_up(const char *what)
{
	fprintf(stderr, "remit-wasm: %s\n", what);
	_Exit(1);
}

static void
check(PyStatus status)
{
	if (PyStatus_IsExit(status))
		_Exit(status.exitcode);
	if (PyStatus_Exception(status))
		give_up(status.err_msg ? status.err_msg : "no memory");
}

/* Reads the host's arguments. They are never freed. */
static char **
read_arguments(size_t *count)
{
	size_t bytes;
	char **argv, *text;

	if (__wasi_args_sizes_get(count, &bytes) != 0 || *count < 2)
		give_up("the host passed no arguments");
	argv = calloc(*count + 1, sizeof(*argv));
	text = malloc(bytes);
	if (!argv || !text)
		give_up("no memory");
	if (__wasi_args_get((uint8_t **)argv, (uint8_t *)text) != 0)
		give_up("the host did not pass its arguments");
	return argv;
}

static void
set_text(PyConfig *config, wchar_t **to, const char *text)
{
	check(PyConfig_SetBytesString(config, to, text));
}

/* Sets what CPython would otherwise search for in the file system. */
static void
set_paths(PyConfig *config, const char *program)
{
	const char *slash = strrchr(program, '/');
	size_t len = slash ? (size_t)(slash - program) : 0;
	size_t size = len + sizeof("/" LIBRARY);
	char *directory = strndup(program, len);
	char *library = malloc(size);
	wchar_t *path;

	if (!directory || !library)
		give_up("no memory");
	snprintf(library, size, "%s/" LIBRARY, directory);
	set_text(config, &config->executable, program);
	set_text(config, &config->base_executable, program);
	set_text(config, &config->prefix, directory);
	set_text(config, &config->base_prefix, directory);
	set_text(config, &config->exec_prefix, directory);
	set_text(config, &config->base_exec_prefix, directory);
	path = Py_DecodeLocale(library, NULL);
	if (!path)
		give_up("no memory");
	check(PyWideStringList_Append(&config->module_search_paths, path));
	config->module_search_paths_set = 1;
	PyMem_RawFree(path);
	free(library);
	free(directory);
}

/* Starts CPython and returns the path of the program to run. */
static char *
start_python(void)
{
	PyConfig config;
	PyPreConfig pre;
	size_t argc;
	char **argv = read_arguments(&argc);
	char *program;

	PyPreConfig_InitIsolatedConfig(&pre);
	pre.utf8_mode = 1;
	check(Py_PreInitialize(&pre));
	PyConfig_InitIsolatedConfig(&config);
	config.parse_argv = 1;
	config.site_import = 0;
	check(PyConfig_SetBytesArgv(&config, (Py_ssize_t)argc, argv));
	set_paths(&config, argv[0]);
	/* Parses the arguments. */
	check(PyConfig_Read(&config));
	if (PyImport_AppendInittab("_remit", PyInit__remit) < 0)
		give_up("no memory");
	check(Py_InitializeFromConfig(&config));
	if (!config.run_filename)
		give_up("the arguments name no program");
	program = Py_EncodeLocale(config.run_filename, NULL);
	if (!program)
		give_up("the arguments name no program");
	PyConfig_Clear(&config);
	return program;
}

/* WASI has no current directory. The host passes it in a variable that programs
   do not see. */
static void
enter_directory(void)
{
	const char *directory = getenv("PWD");

	if (directory && chdir(directory) < 0)
		give_up("the current directory cannot be entered");
	unsetenv("PWD");
}

void
remit_start(void)
{
	char *program;
	FILE *file;
	int failed;

	enter_directory();
	program = start_python();
	file = fopen(program, "rb");
	if (!file) {
		perror(program);
		_Exit(2);
	}
	failed = PyRun_SimpleFileEx(file, program, 1);
	PyMem_Free(program);
	if (failed || !guest_step())
		Py_Exit(failed ? 1 : 0);
}

int
remit_step(void)
{
	PyObject *done = PyObject_CallNoArgs(guest_step());

	if (!done) {
		PyErr_Print(); /* exits for SystemExit */
		Py_Exit(1);
	}
	Py_DECREF(done);
	return 1;
}

/* Uses a separate stack: the interrupted function may be about to use the
   memory below the stack pointer. This function itself must not use the stack.
 */
void
remit_interrupt(void)
{
	static char stack[INTERRUPT_STACK] __attribute__((aligned(16)));
	const char *top = stack + sizeof(stack), *before;

	__asm__ volatile("global.get __stack_pointer\n\tlocal.set %0"
			 : "=r"(before));
	__asm__ volatile("local.get %0\n\tglobal.set __stack_pointer"
			 :
			 : "r"(top));
	PyErr_SetInterruptEx(SIGINT);
	__asm__ volatile("local.get %0\n\tglobal.set __stack_pointer"
			 :
			 : "r"(before));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program that is linked for an old glibc lacks, because headers and
 * start files of a newer one are used.  Linked with -Wl,--wrap for each name.
 */
#include <fcntl.h>
#include <sys/stat.h>

#ifdef __aarch64__
#define STAT_VERSION	0
#else
#define STAT_VERSION	1	/* of the x86-64 kernel's struct stat */
#endif

/* Before 2.33 stat() was an inline function of one of these. */
int __xstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstatat(int version, int dir, const char *path, struct stat *st,
	       int flags);

#define STAT(name, parameters, inner, ...)				\
	int __wrap_##name parameters;					\
	int __wrap_##name parameters					\
	{								\
		return inner(STAT_VERSION, __VA_ARGS__);		\
	}								\
	int __wrap_##name##64 parameters;				\
	int __wrap_##name##64 parameters				\
	{								\
		return inner(STAT_VERSION, __VA_ARGS__);		\
	}

/* 64-bit machines have one struct stat. */
STAT(stat, (const char *path, struct stat *st), __xstat, path, st)
STAT(fstat, (int fd, struct stat *st), __fxstat, fd, st)
STAT(lstat, (const char *path, struct stat *st), __lxstat, path, st)
STAT(fstatat, (int dir, const char *path, struct stat *st, int flags),
     __fxstatat, dir, path, st, flags)

typedef void call(int argc, char **argv, char **envp);
typedef int main_call(int argc, char **argv, char **envp);

extern call *const __init_array_start[], *const __init_array_end[];
call _init;

/** Up to 2.33 what runs the constructors was linked into the program, and the
 *  start files of 2.34 rely on the library; both run it where it is given. */
static void construct(int argc, char **argv, char **envp)
{
	_init(argc, argv, envp);
	for (call *const *f = __init_array_start; f < __init_array_end; f++) {
		(*f)(argc, argv, envp);
	}
}

int __real___libc_start_main(main_call *run, int argc, char **argv, call *init,
			     void (*fini)(void), void (*rtld_fini)(void),
			     void *stack_end);
int __wrap___libc_start_main(main_call *run, int argc, char **argv, call *init,
			     void (*fini)(void), void (*rtld_fini)(void),
			     void *stack_end);

int __wrap___libc_start_main(main_call *run, int argc, char **argv, call *init,
			     void (*fini)(void), void (*rtld_fini)(void),
			     void *stack_end)
{
	(void)init;
	return __real___libc_start_main(run, argc, argv, construct, fini,
					rtld_fini, stack_end);
}

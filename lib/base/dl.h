/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_DL_H
#define LIB_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/** One wanted function of a library that is opened at run time. */
struct dl_sym {
	const char *name;
	size_t offset;		/* of its pointer in the table struct */
	bool optional;		/* the slot may stay NULL */
	const char *version;	/* for dlvsym, NULL = any */
};

#define DL_SYM(table, fn) { .name = #fn, .offset = offsetof(table, fn) }
#define DL_OPT(table, fn) \
	{ .name = #fn, .offset = offsetof(table, fn), .optional = true }

/** Declare the member of the function table for one entry of a list of "F(type,
 *  name, (arguments))". */
#define DL_POINTER(type, name, args) type (*name) args;

/**
 * Open the first library of @names that loads, and resolve @syms into @table.
 * @env    environment variable whose value, when set, is tried instead of
 *         @names (so that a wrong path is an error, not a silent fallback).
 * @names  sonames in order of preference, NULL at the end.
 * @syms   wanted functions, closed by a zeroed entry.
 * Returns the handle (never closed: CUDA does not survive dlclose), or NULL
 * with @e set (ENOENT: there is no file @names[0]) and every slot of @table
 * left as it was.
 */
void *dl_load(const char *env, const char *const names[],
	      const struct dl_sym *syms, void *table, struct err *e);

/** "NAME cannot be loaded" for a message of dl_load() that says so at length,
 *  in @buf; any other @text as it is. */
const char *dl_reason(const char *text, char *buf, size_t size);

/** The file, links followed, that holds @inside, an address in a library:
 *  "" when nobody can say.  Returns @path, of PATH_MAX bytes. */
const char *dl_path(const void *inside, char *path);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_HOSTLIST_H
#define LIB_DATA_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

#define HOSTLIST_MAX 65536

/** What the names of nodes are made of, which begin with a letter or digit. */
#define HOSTLIST_NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789" \
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_"

/** Bytes of a name. */
#define HOSTLIST_NAME_MAX 255

/** Can a node have @name, or is it an IPv6 address?  Any other name is that of
 *  a peer or a file that is damaged, or wants a shell to run it. */
bool hostlist_is_name(const char *name);

/**
 * Expand a Slurm host list such as "gpu[01-03,7],login" (zero padding kept,
 * several brackets in one name allowed, at most HOSTLIST_MAX names).
 * Returns a malloc'ed array of *@n malloc'ed names (hostlist_free()), or NULL
 * with @e set.
 */
char **hostlist_expand(const char *text, size_t *n, struct err *e);
void hostlist_free(char **names, size_t n);
/** Is @name one of the names of @list, which may be empty? */
bool hostlist_has(const char *list, const char *name);

/**
 * The other way, as short as neighbours in the list allow: names that differ in
 * their last number only and count up become "gpu[01-03,07]".  @names: @n char
 * arrays of @size bytes one after the other.
 */
void hostlist_add(struct str *out, const char *names, size_t size, size_t n);
/** The same of @list, for the kernel takes 128 KiB of one word or variable; as
 *  it is where that is no host list. */
void hostlist_shorten(struct str *out, const char *list);

#endif

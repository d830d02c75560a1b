/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_HOSTS_H
#define LIB_DATA_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- hostlist ------------------------------------------------------------ */

#define HOSTLIST_MAX 65536

/** Characters of node names; the first one is a letter or digit. */
#define HOSTLIST_NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789" \
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_"

/** Bytes of a name. */
#define HOSTLIST_NAME_MAX 255

/** Return true if @name can be the name of a node or is an IPv6 address. Any
 *  other name comes from a damaged file or a hostile peer. */
bool hostlist_is_name(const char *name);

/**
 * Expand a Slurm host list such as "gpu[01-03,7],login" (zero padding kept,
 * several brackets in one name allowed, at most HOSTLIST_MAX names).
 * Returns a malloc'ed array of *@n malloc'ed names (hostlist_free()), or NULL
 * with @e set.
 */
char **hostlist_expand(const char *text, size_t *n, struct err *e);
void hostlist_free(char **names, size_t n);
/** Return true if @list, which may be empty, contains @name. */
bool hostlist_has(const char *list, const char *name);

/**
 * The other way, sorted: names that differ in their last number only become
 * "gpu[01-03,07]".  @unsorted: @n char arrays of @size bytes one after the
 * other.
 */
void hostlist_add(struct str *out, const char *unsorted, size_t size, size_t n);
/** Append @list in that form but in its own order, which may be that of ranks,
 *  because the kernel limits a word or variable to 128 KiB; unchanged if it is
 *  not a host list. */
void hostlist_shorten(struct str *out, const char *list);

/* ---- pinglist ------------------------------------------------------------ */

/**
 * The pairs of nodes that ping in a fleet too large for all pairs: groups of
 * neighbours, complete inside a group, and between two groups a few
 * representatives, different for each pair of groups and each seed. run.json
 * keeps these numbers, so that a report can tell which pairs were planned.
 * Pure.
 */
struct pinglist {
	int nodes;
	int groups;		/* at most 1: all nodes ping each other */
	int64_t seed;
};

/** Maximum number of nodes in a group; smaller fleets are complete. */
#define PINGLIST_GROUP 32
/** Pairs of nodes that stand for a pair of groups. */
#define PINGLIST_PAIRS 2

/** That of @nodes nodes, each of which asks all others if @all. */
struct pinglist pinglist_make(int nodes, bool all, int64_t seed);
/** Return true if nodes @a and @b, below l->nodes, ping each other. */
bool pinglist_has(const struct pinglist *l, int a, int b);
/** Largest number of nodes that one node pings. */
int pinglist_most(const struct pinglist *l);

/* ---- port filter --------------------------------------------------------- */

/**
 * Returns true if @filter selects @name.  @filter is a list in the form of
 * NCCL_IB_HCA and NCCL_SOCKET_IFNAME: prefixes of names, after "=" exact names,
 * after "^" names to exclude; "mlx5_0:1" is a single port.  "" selects every
 * name.
 */
bool port_matches(const char *filter, const char *name);

/* ---- hosts --------------------------------------------------------------- */

/** Machines that ssh reaches: a file of them, or a host list. */

#define HOSTS_MAX	4096
#define HOSTS_FILE_MAX	(1024 * 1024)

struct hosts {
	char **names;		/* "gpu01", "user@gpu01", "10.1.0.1" */
	size_t n;
};

/**
 * Read the @len bytes of a hosts file: a name or a host list a line, '#' begins
 * a comment.  A name has letters, digits, and any of ._-@:%, and begins with a
 * letter or digit, so that no program takes it for an option.  Returns 0, or -1
 * with @e, which has the line; hosts_release() frees.
 */
int hosts_parse(const char *text, size_t len, struct hosts *h, struct err *e);
/** @what is the name of a file that is there, else a host list; 0 or -1. */
int hosts_read(const char *what, struct hosts *h, struct err *e);
/**
 * Leave out those that are not in the host list @only ("" = all are) or that
 * are in @without.  -1 with @e: a list names one that is not in @h, or none is
 * left.
 */
int hosts_choose(struct hosts *h, const char *only, const char *without,
		 struct err *e);
void hosts_release(struct hosts *h);

/** Without "user@". */
const char *hosts_name(const char *host);

#endif

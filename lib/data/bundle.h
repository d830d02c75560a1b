/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_BUNDLE_H
#define LIB_DATA_BUNDLE_H

#include <stddef.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/str.h"

/* ---- redact ------------------------------------------------------------- */

/** Text that replaces a secret. */
#define REDACT_GONE "[removed]"

/** Names that are replaced by a word and a number. */
enum redact_kind {
	REDACT_HOST, REDACT_USER, REDACT_SWITCH, REDACT_SERIAL, REDACT_SITE,
	REDACT_KINDS
};

/**
 * Removes from texts whatever looks like a key, a token or a password, by its
 * name (HF_TOKEN=..., --password ..., "Authorization: ...") or by its form
 * (hf_..., a PEM block, user:password@host).
 *
 * After redact_names() it also replaces names (gpu01: node1) and identifiers
 * (IP and MAC addresses, GUIDs, GIDs, UUIDs, enxMAC), each by the same
 * substitute everywhere.  Substitutes keep the form and the relations: IPv4
 * addresses that share their first n bits still do, so subnets remain subnets,
 * and their last number is kept; a GID contains the substitute of its GUID or
 * of its IPv4 address.  Loopback, multicast and netmasks are kept.  A zeroed
 * one replaces no names.
 */
struct redact {
	json_t *names;		/* name: its substitute; NULL: names stay */
	size_t n[REDACT_KINDS];	/* names of each kind */
	unsigned char key[16];	/* of the substitutes of identifiers */
	size_t replaced;	/* identifiers so far */
	size_t removed;		/* secrets so far */
};

/** Replace names and identifiers from now on; -1 if memory or random bytes are
 *  not available. */
int redact_names(struct redact *r);
/** Replace the name @name of a @kind from now on.  A host such as
 *  "gpu01.example.org" is gpu01 as well, and its domain is a site.  No-op for
 *  "", root, localhost and numbers, and without redact_names(). */
void redact_add(struct redact *r, enum redact_kind kind, const char *name);
/** Replace @value from now on if a value called @name ("node", "host", "user",
 *  "switch", "board_serial") is the name of something. */
void redact_learn(struct redact *r, const char *name, const char *value);
void redact_release(struct redact *r);	/* safe on a zeroed one */

/** Append @len bytes of @text to @out without them.  Every byte of the rest
 *  is kept.  A user whose home is named (/home/NAME), and a serial number
 *  ("Serial Number: ..."), become known. */
void redact_text(struct redact *r, const char *text, size_t len,
		 struct str *out);
/** A text whose name is known: all of it where that says so. */
void redact_value(struct redact *r, const char *name, const char *text,
		  struct str *out);
/** The same of all texts, keys included, of @json, which json_parse() made and
 *  which is called @name, "" = nothing; new reference, NULL without memory. */
json_t *redact_json(struct redact *r, const char *name, const json_t *json);

/* ---- archive ------------------------------------------------------------ */

/** Bytes that a file of @len bytes, and the end, take in an archive. */
size_t tar_size(size_t len);
extern const size_t tar_end_size;

/**
 * Append the file @name ("run/logs/x") with @len bytes of @data to the POSIX
 * (ustar) archive @out: mode 0644, no owner, changed at @mtime_s since 1970.
 * Returns false, with @out unchanged, if the name does not fit the format: 255
 * bytes, at most 100 of them after one of its slashes.
 */
bool tar_add(struct str *out, const char *name, const void *data, size_t len,
	     int64_t mtime_s);
/** Append the end of the archive. */
void tar_end(struct str *out);

#endif

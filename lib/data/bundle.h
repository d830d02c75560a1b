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

/**
 * Takes out of texts what is not to leave the site: what looks like a key, a
 * token or a password, by the name that it has (HF_TOKEN=..., --password ...,
 * "Authorization: ...") or by how it looks (hf_..., a PEM block,
 * user:password@host); on request the names of hosts and users, which become
 * node1 and user1, everywhere the same.  A zeroed one knows no names.
 */
struct redact {
	json_t *names;		/* name: what stands for it; NULL: names stay */
	size_t n_hosts, n_users;
	size_t removed;		/* secrets so far */
};

/** From now on names are replaced; -1 without memory. */
int redact_names(struct redact *r);
/** This is one, such as "gpu01.example.org", which is gpu01 as well; "", root
 *  and localhost are none.  Nothing without redact_names(). */
void redact_add_host(struct redact *r, const char *name);
void redact_add_user(struct redact *r, const char *name);
void redact_release(struct redact *r);	/* safe on a zeroed one */

/** Append @len bytes of @text to @out without them.  Every byte of the rest
 *  stays what it is.  A user whose home is named (/home/NAME) becomes known. */
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

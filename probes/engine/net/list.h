/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_LIST_H
#define PROBES_ENGINE_NET_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/base/str.h"
#include "lib/data/cbor.h"
#include "probes/engine/net/message.h"

/**
 * Messages that are lists, written and read without a tree: a map of "t" and of
 * their only field, an array of entries, each of which is bytes; in a tree they
 * are a text, its hex.  What is read here is what is written here; whatever
 * else a list may look like, cbor_parse() reads.
 */

/** Entries that leave as one message; zeroed, it has none. */
struct list_out {
	enum message_type type;
	size_t n;
	struct str entries;	/* as CBOR */
};

void list_release(struct list_out *l);
/** May an entry of @type be added to those of @l? */
bool list_takes(const struct list_out *l, enum message_type type);
/** Add the @n bytes of an entry. */
void list_add(struct list_out *l, enum message_type type, const void *bytes,
	      size_t n);
/** Append the message that @l is, which is empty then. */
void list_write(struct list_out *l, struct str *out);

/** A message that is being read; @bytes are borrowed. */
struct list_in {
	enum message_type type;
	size_t n;		/* entries that are left */
	struct cbor_reader at;
};

/** Are the @n bytes such a message, which may come by @way? */
bool list_open(struct list_in *l, const void *bytes, size_t n,
	       enum message_way way);
/** The next entry, *@n bytes (borrowed); NULL: there is none. */
const void *list_next(struct list_in *l, size_t *n);

/** The entries of @msg, which is of @type: an array of texts.  NULL: of no
 *  list, or it has others, or none. */
const json_t *list_texts(const json_t *msg, enum message_type type);
/** The entry that the @n digits @text are; false: that they are not. */
bool list_unhex(const char *text, size_t n, struct str *entry);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FUZZ_LINES_H
#define TESTS_FUZZ_LINES_H

#include <stdint.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "probes/engine/net/message.h"

/** Input of which every line is a message, without its length. */
struct fuzz_lines {
	const uint8_t *at;
	size_t left;
};

/** The next line, without its newline; false: there is none. */
static bool fuzz_line(struct fuzz_lines *l, const char **line, size_t *len)
{
	const uint8_t *eol = l->left > 0 ? memchr(l->at, '\n', l->left) : NULL;
	size_t whole = eol != NULL ? (size_t)(eol - l->at) : l->left;

	if (l->left == 0) {
		return false;
	}
	*line = (const char *)l->at;
	*len = whole;
	l->left -= whole + (eol != NULL);
	l->at += whole + (eol != NULL);
	return true;
}

/** @line as what may come by @way (new reference), or NULL. */
static json_t *fuzz_message(const char *line, size_t len, enum message_way way)
{
	json_t *msg = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	if (msg == NULL || message_check(msg, way, NULL) != 1) {
		json_decref(msg);
		return NULL;
	}
	return msg;
}

/** Is @line a list that may come by @way, {"t":"done","reports":["80"]}?  Its
 *  entries, which are there in hex, are told to @entry. */
static bool fuzz_list(const char *line, size_t len, enum message_way way,
		      void (*entry)(void *arg, enum message_type type,
				    const void *bytes, size_t n), void *arg)
{
	json_t *msg = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL), *v;
	enum message_type type = message_type(msg);
	bool list = type != MESSAGE_TYPES && messages[type].list != NULL &&
		    (messages[type].ways & way) != 0;
	size_t i;

	json_array_foreach(list ? json_object_get(msg, messages[type].list) :
				  NULL, i, v) {
		uint8_t bytes[8192];
		size_t n = json_string_length(v) / 2;

		if (json_is_string(v) && n > 0 && n <= sizeof(bytes) &&
		    hash_unhex(json_string_value(v), bytes, n) == 0) {
			entry(arg, type, bytes, n);
		}
	}
	json_decref(msg);
	return list;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/hosts.h"

#include <stdlib.h>
#include <string.h>

/** Returns true if @word of @n bytes, "mlx5" or "mlx5_0:2", selects port
 *  @name. */
static bool word_matches(const char *word, size_t n, const char *name,
			 bool exact)
{
	size_t hca = strcspn(name, ":");
	const char *colon = memchr(word, ':', n);
	size_t len = colon != NULL ? (size_t)(colon - word) : n;
	long port = name[hca] == ':' ? strtol(name + hca + 1, NULL, 10) : 1;

	return len > 0 && len <= hca && memcmp(word, name, len) == 0 &&
	       (!exact || len == hca) &&
	       (colon == NULL || strtol(colon + 1, NULL, 10) == port);
}

bool port_matches(const char *filter, const char *name)
{
	bool except = *filter == '^', exact, found = false;
	const char *at = filter + except;

	if (*filter == '\0') {
		return true;
	}
	exact = *at == '=';
	at += exact;
	while (*at != '\0' && !found) {
		size_t n = strcspn(at, ",");

		found = word_matches(at, n, name, exact);
		at += n;
		at += *at == ',';
	}
	return found != except;
}

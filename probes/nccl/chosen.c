/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/nccl/chosen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/nccl/log.h"

/* ncclAlgoStr, ncclProtoStr of NCCL's src/init.cc; MSCCL's fork adds one. */
const char *const nccl_algos[] = {
	"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree",
	"PAT", "MSCCL", NULL
};
const char *const nccl_protos[] = { "LL", "LL128", "Simple", NULL };

static const char arrow[] = " Bytes -> ";

/** Copy the word at @at; returns behind it. */
static const char *take_word(const char *at, char *word, size_t size)
{
	size_t n = strcspn(at, " \t");

	snprintf(word, size, "%.*s", (int)n, at);
	return at + n;
}

/** The same word but for case and underscores? */
static bool same_word(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == '_';
		b += *b == '_';
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
			return false;
		}
		if (*a == '\0') {
			return true;
		}
	}
}

/**
 * Older versions give numbers, which are places in the lists, newer ones write
 * NVLS_TREE or SIMPLE: all become the words that NCCL_ALGO and NCCL_PROTO take.
 */
static void name_as_asked(char *word, size_t size, const char *const *names)
{
	int n = 0;
	int64_t i;

	while (names[n] != NULL && !same_word(word, names[n])) {
		n++;
	}
	if (names[n] != NULL) {
		str_copy(word, size, names[n]);
	} else if (isdigit((unsigned char)word[0]) &&
		   units_parse_int(word, 0, n - 1, &i, NULL) == 0) {
		str_copy(word, size, names[i]);
	}
}

/** "Algo A proto P" or "Kernel K" behind the arrow. */
static bool read_choice(const char *at, char algo[NCCL_CHOSEN_ALGO],
			char proto[NCCL_CHOSEN_PROTO])
{
	if (str_starts(at, "Kernel ")) {
		take_word(at + 7, algo, NCCL_CHOSEN_ALGO);
		proto[0] = '\0';
		return algo[0] != '\0';
	}
	if (!str_starts(at, "Algo ")) {
		return false;
	}
	at = take_word(at + 5, algo, NCCL_CHOSEN_ALGO);
	if (!str_starts(at, " proto ")) {
		return false;
	}
	take_word(at + 7, proto, NCCL_CHOSEN_PROTO);
	name_as_asked(algo, NCCL_CHOSEN_ALGO, nccl_algos);
	name_as_asked(proto, NCCL_CHOSEN_PROTO, nccl_protos);
	return algo[0] != '\0' && proto[0] != '\0';
}

/** Is the line, up to its arrow, about @function, or about none by name? */
static bool is_about(const char *line, const char *function)
{
	const char *info = strstr(line, "NCCL INFO ");
	size_t len = strlen(function);

	if (info == NULL) {
		return false;
	}
	info += 10;
	if (isdigit((unsigned char)*info)) {
		return true;
	}
	return strncasecmp(info, function, len) == 0 &&
	       !isalnum((unsigned char)info[len]);
}

bool nccl_chosen_find(const char *text, size_t len, const char *function,
		      char algo[NCCL_CHOSEN_ALGO],
		      char proto[NCCL_CHOSEN_PROTO])
{
	struct nccl_lines in = { .at = text, .end = text + len };
	bool found = false;

	while (nccl_lines_next(&in)) {
		char a[NCCL_CHOSEN_ALGO], p[NCCL_CHOSEN_PROTO];
		const char *choice = strstr(in.line, arrow);

		if (choice != NULL && is_about(in.line, function) &&
		    read_choice(choice + sizeof(arrow) - 1, a, p)) {
			str_copy(algo, NCCL_CHOSEN_ALGO, a);
			str_copy(proto, NCCL_CHOSEN_PROTO, p);
			found = true;
		}
	}
	return found;
}

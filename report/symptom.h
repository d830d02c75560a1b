/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOM_H
#define REPORT_SYMPTOM_H

#include <stddef.h>

#include "lib/err.h"
#include "lib/str.h"

/**
 * What messages and findings mean: data/symptoms.ini, which is part of the
 * program.
 */
#define SYMPTOM_MATCHES 8

struct symptom {
	char code[48];
	struct str match[SYMPTOM_MATCHES];
	size_t n_matches;
	struct str cause, remedy, source;
};

struct symptoms {
	struct symptom *list;
	size_t n;
};

/** Parse the text of such a file; -1 with @e naming the line.
 *  symptoms_release() frees. */
int symptoms_parse(const char *text, struct symptoms *s, struct err *e);
void symptoms_release(struct symptoms *s);

/** The built-in ones, parsed once; never NULL, empty without memory. */
const struct symptoms *symptoms_builtin(void);

/** By code, NULL when there is none. */
const struct symptom *symptom_find(const struct symptoms *s, const char *code);
/** The first one that has a match in @line, NULL when none has. */
const struct symptom *symptom_match(const struct symptoms *s,
				    const char *line);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_SYMPTOM_H
#define REPORT_SYMPTOMS_SYMPTOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "report/symptoms/literals.h"

/**
 * What messages and findings mean: data/symptoms.ini, which is part of the
 * program.
 */
#define SYMPTOM_MATCHES 12

/** What a message is worth, the most telling first. */
enum symptom_effect {
	EFFECT_FAULT,
	EFFECT_WAIT,	/* ranks wait for one that has a fault */
	EFFECT_SLOW,	/* it works, and not well */
	EFFECT_ECHO,	/* repeats what happened elsewhere: never the cause */
	EFFECT_FACT,	/* says how something is set: no fault */
	EFFECT_MARK,	/* says who is where; never shown */
	EFFECT_UNKNOWN,	/* looks like an error */
	EFFECTS
};

/** "fault", "wait", "slow", "echo", "fact", "mark", "unknown". */
const char *symptom_effect_name(enum symptom_effect e);

struct symptom {
	char code[48];		/* or "CODE WHERE" */
	struct str match[SYMPTOM_MATCHES];
	size_t n_matches;
	enum symptom_effect effect;
	struct str alias;	/* other codes of it, separated by blanks */
	struct str overrules;	/* codes that this fact rules out, the same */
	struct str numbered;	/* the number in the line selects NUMBERED_N */
	struct str again;	/* what the command that tests again takes */
	bool by_part;		/* findings: the part says better what to do */
	struct str cause, source;
	struct str remedy;	/* lines; those that begin with four blanks are
				 * commands; {node} and the like in them */
};

struct symptoms {
	struct symptom *list;
	size_t n;
	struct literals anchors;	/* of all matches, in their order */
	uint32_t *anchor_of;		/* [string]: section x SYMPTOM_MATCHES
					 * + number of the match */
	size_t n_matches;
};

/** Parse the text of such a file; -1 with @e naming the line.
 *  symptoms_release() frees. */
int symptoms_parse(const char *text, struct symptoms *s, struct err *e);
void symptoms_release(struct symptoms *s);

/** The built-in ones, parsed once; never NULL, empty without memory. */
const struct symptoms *symptoms_builtin(void);

/** By code, alias or number of an Xid, NULL when there is none. */
const struct symptom *symptom_find(const struct symptoms *s, const char *code);
/**
 * Whose remedy a finding of @code prints: the first of @where[] (NULL: its
 * end), which are its kind of part, transport, probe and launcher, that has a
 * section of the code's own; else the code's, or by its part the same of
 * [part ...].  NULL without memory.
 */
const struct symptom *symptom_for(const struct symptoms *s, const char *code,
				  const char *const *where);

/** Append what "{@name}", of @len bytes, stands for; false: it is not known. */
typedef bool (*symptom_name)(void *user, const char *name, size_t len,
			     struct str *out);
/** The remedy line by line, without a newline at its end, with its names filled
 *  in; where nobody knows one (@name may be NULL) it is in capitals: NODE. */
void symptom_remedy(const struct symptom *x, symptom_name name, void *user,
		    struct str *out);
/** The first one that has a match in the @len bytes of @line, NULL when none
 *  has.  Linear in @len, whatever the number of symptoms. */
const struct symptom *symptom_match(const struct symptoms *s, const char *line,
				    size_t len);
/** The same, and marks and what looks like an error as well. */
const struct symptom *symptom_match_any(const struct symptoms *s,
					const char *line, size_t len);
/**
 * The code of a failure whose row says @code and @detail, the words of both
 * ends: that of a known message in them, where @code itself is of none, or
 * only of an echo.  Borrowed.
 */
const char *symptom_refine(const char *code, const char *detail);
/** Does @code only repeat what happened elsewhere? */
bool symptom_echoes(const char *code);
/** Is @code one of the blank-separated codes of @list? */
bool symptom_lists(const struct str *list, const char *code);

#endif

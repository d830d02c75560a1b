/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_SYMPTOM_H
#define REPORT_SYMPTOMS_SYMPTOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- literals ------------------------------------------------------------ */

/**
 * Search for many byte strings at once. Of each string LITERALS_STEP runs of
 * LITERALS_BYTES bytes are hashed, each a byte after the one before, at the
 * place whose bytes are the rarest in logs. A text has one of them at one of
 * LITERALS_STEP places in a row, so that it is looked at in steps of that size:
 * a bit says whether any run has the hash of the bytes there.
 * tests/bench/explain prints the speed.
 */
#define LITERALS_STEP  2
#define LITERALS_BYTES 4
#define LITERAL_MIN    (LITERALS_BYTES + LITERALS_STEP - 1)

struct literal {
	const char *text;	/* borrowed while struct literals lives */
	size_t len;		/* LITERAL_MIN or more */
	/* made by literals_make() */
	size_t at;		/* place of the first run */
	/* of each run: LITERALS_STEP * string + run with the same hash, + 1 */
	uint16_t next[LITERALS_STEP];
};

#define LITERALS_HASHES 65536

struct literals {
	uint8_t any[LITERALS_HASHES / 8];	/* a bit a hash */
	uint16_t first[LITERALS_HASHES];	/* as next; 0: none */
	struct literal *list;
};

/** 0; -1 when memory runs out or there are more than 32,767 strings.
 *  literals_release() frees. */
int literals_make(const struct literal *list, size_t n, struct literals *l);
void literals_release(struct literals *l);

/**
 * Find the first place from @p to @end in a run of bytes of a string that is
 * whole in @text to @end; call @found (may be NULL) for each such string.
 * Return where to continue, LITERALS_STEP after that place, or NULL if there is
 * none.
 */
const char *literals_find(const struct literals *l, const char *text,
			  const char *p, const char *end,
			  void (*found)(void *user, size_t string), void *user);

/* ---- symptom pattern ----------------------------------------------------- */

/**
 * The patterns of data/symptoms.ini: plain text with
 *
 *   *    any text
 *   %~   blanks, tabs and : . = , or nothing
 *   %+   a number above zero, the whole of it
 *   %|   no digit follows
 *
 * A pattern is found anywhere in a line.
 */

/** NULL, or what is wrong with @pattern (static text).  Each part between
 *  stars begins with plain text. */
const char *symptom_pattern_wrong(const char *pattern);

/** Return true if the valid @pattern occurs in the @len bytes of @line. */
bool symptom_pattern_in(const char *pattern, const char *line, size_t len);

/** A few bytes, part of @pattern, that every line with it has: what to look for
 *  first. */
struct literal symptom_pattern_anchor(const char *pattern);

/** A line that @pattern is in, for people to read. */
void symptom_pattern_sample(const char *pattern, struct str *out);

/* ---- symptom ------------------------------------------------------------- */

/**
 * Meaning of messages and findings: data/symptoms.ini, which is part of the
 * program.
 */
#define SYMPTOM_MATCHES 16

/** Weight of a message, the most telling first. */
enum symptom_effect {
	EFFECT_FAULT,
	EFFECT_WAIT,	/* ranks wait for one that has a fault */
	EFFECT_SLOW,	/* it works, and not well */
	EFFECT_ECHO,	/* repeats what happened elsewhere: never the cause */
	EFFECT_FACT,	/* says how something is set: no fault */
	EFFECT_MARK,	/* tells where a rank is; never shown */
	EFFECT_UNKNOWN,	/* looks like an error */
	EFFECTS
};

/** "fault", "wait", "slow", "echo", "fact", "mark", "unknown"; a NULL ends
 *  them. */
extern const char *const symptom_effect_names[];

/** Whether a finding about one node is reason to drain that node. */
enum symptom_drain {
	DRAIN_BY_TESTS,		/* only tests prove it */
	DRAIN_NEVER,		/* a setting, or something outside of the
				 * node */
	DRAIN_ALONE,		/* the node reports that it is broken; not if
				 * all nodes do */
	DRAIN_MEASURED,		/* measured, alone or against its peers */
	DRAIN_AT_ONCE,		/* whatever others are; a log is enough */
};

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
	enum symptom_drain drain;
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
	const char *why;		/* the line being parsed is wrong */
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

/** Append what "{@name}", of @len bytes, stands for, as one word of a shell;
 *  false: it is not known. */
typedef bool (*symptom_name)(void *user, const char *name, size_t len,
			     struct str *out);
/** Append the remedy line by line, without a final newline, with its names
 *  filled in; an unknown one (@name may be NULL) is in capitals: NODE. */
void symptom_remedy(const struct symptom *x, symptom_name name, void *user,
		    struct str *out);
/** The same for a log: of DRAIN_AT_ONCE below the line that drains the node. */
void symptom_advice(const struct symptom *x, symptom_name name, void *user,
		    struct str *out);
/**
 * Append the line that drains @node for @why, unless a reason is given there
 * already.  Neither may have characters that a shell reads; @node may be NODE.
 */
void symptom_drain_line(const char *node, const char *why, struct str *out);
/** The first one that has a match in the @len bytes of @line, NULL when none
 *  has.  Linear in @len, whatever the number of symptoms. */
const struct symptom *symptom_match(const struct symptoms *s, const char *line,
				    size_t len);
/** The same, and marks and what looks like an error as well.  No anchor is
 *  before @from, a place in the line. */
const struct symptom *symptom_match_any(const struct symptoms *s,
					const char *line, size_t len,
					const char *from);
/**
 * The code of a failure whose row says @code and @detail, the words of both
 * ends: that of a known message in them, where @code itself is of none, or
 * only of an echo.  Borrowed.
 */
const char *symptom_refine(const char *code, const char *detail);
/** Return true if @code only repeats an event elsewhere. */
bool symptom_echoes(const char *code);
/** Return true if @code is one of the blank-separated codes of @list. */
bool symptom_lists(const struct str *list, const char *code);

/* ---- xids ---------------------------------------------------------------- */

/**
 * Add a section xid_N or sxid_N for each number of @text, which is such as
 * data/xids.txt (NULL: that one, part of the program), with what its action
 * "[xid ACTION]" has in @s; numbers that have a section already are left out.
 * 0; -1 with @e naming the line, or for want of memory: @s is as far as it
 * came.
 */
int xids_add(struct symptoms *s, const char *text, struct err *e);

#endif

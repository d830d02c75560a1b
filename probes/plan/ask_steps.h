/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_ASK_STEPS_H
#define PROBES_PLAN_ASK_STEPS_H

#include "probes/plan/ask.h"

/**
 * What the files of the follow-up share, and no others; from below to above:
 *   ask_part.c     which tests go through a part
 *   ask_tests.c    what is known of a test: its cell, how often it was asked
 *   ask_choice.c   which tests can be made, and how many are enough
 *   ask_settle.c   tests that tell the alternatives of a finding apart
 *   ask_confirm.c  a second look, and what it is compared with
 *   ask_retry.c    what failed and nobody tried again
 *   ask.c          all of these for each suspect
 *   ask_guess.c    parts that are suspects though no finding names them
 *   ask_verdict.c  findings become suspects
 */

/** Places for what was asked: a run asks for some hundreds. */
#define ASK_HEADS 4096
/** What was chosen because much of it failed may fail less often. */
#define ASK_MOST_RATE (1 / 3.0)

/* ---- ask_part.c ---------------------------------------------------------- */

enum ask_place {
	ASK_ANYWHERE, ASK_ON_NODE, ASK_ON_NIC, ASK_ON_GPU, ASK_ON_RAIL,
	ASK_ON_SOCKET, ASK_ON_CABLES, ASK_ON_LEAF, ASK_ON_RAIL_LEAF
};

/** Which cells a part touches: those with an end there, or both. */
struct ask_scope {
	const char *name;	/* as verdict.json has it */
	enum ask_place place;
	bool two;		/* a peer is at the other end */
	bool intra, inter;	/* inside a node, between nodes */
	bool across, along;	/* between rails only; on one only */
	bool many;		/* of several GPUs or NICs what is common, so
				 * that others may be it, or of few moments, or
				 * one test, that chance may be: seen again */
};

const struct ask_scope *ask_scope_of(const struct ask_part *p);

/** The kind that verdict.json calls @name; ASK_UNKNOWN: none of these. */
enum ask_kind ask_kind_of(const char *name);

/** Is it a switch or between switches, where flows meet? */
bool ask_is_shared(const struct ask_part *p);

/** Is where @p is said to be enough to find it? */
bool ask_is_placed(const struct ask_part *p);

/** Is @rank at @p, or of what has two ends at the first one? */
bool ask_is_here(const struct ask_plan *a, const struct ask_part *p, int rank);

/** Does the ordered cell @src -> @dst go through @p? */
bool ask_touches(const struct ask_plan *a, const struct ask_part *p, int src,
		 int dst);

/* ---- ask_tests.c --------------------------------------------------------- */

/** What was measured of @src -> @dst; never NULL. */
const struct cell *ask_cell(const struct ask_plan *a, int src, int dst);

/** Did that fail the last time? */
bool ask_has_failed(const struct ask_plan *a, int src, int dst);

/** How often the follow-up has asked for @src -> @dst. */
int ask_times(const struct ask_plan *a, int src, int dst);

/** Once more.  0, or -1 without memory. */
int ask_note(struct ask_plan *a, int src, int dst);

/* ---- ask_choice.c -------------------------------------------------------- */

/** The tests of one round. */
struct ask_choice {
	struct ask_plan *a;
	const struct retry_ops *ops;
	void *ctx;		/* of these */
	size_t left, taken;
	bool compare;		/* what is chosen now must be compared ... */
	bool beside[2];		/* ... inside nodes, between them */
};

/** Tests of a part that fails at @rate, or always for 0, until that shows. */
int ask_enough(double rate);

/** The directions of a test, as its first rank sends or receives. */
uint8_t ask_dirs(bool sends, bool receives);

/** Can @x and @y be tested at all? */
bool ask_can_test(const struct ask_choice *c, int x, int y);

/**
 * Is @y a sound partner for @x, of which suspect @s is to be tested?  No other
 * finding may have to do with the test, nor may an alternative that is at the
 * partner alone, unless both ends are of one suspect between switches.  Where
 * slow tests are made again, others of which some were slow do not matter.
 * NULL: nothing is to be tested, all of it must be sound.
 */
bool ask_is_sound(const struct ask_plan *a, const struct ask_suspect *s, int x,
		  int y);

/** Test @x with @y in the directions @dirs, of ask_dirs(); returns how many
 *  ordered tests that is, 0 when it cannot. */
int ask_make(struct ask_choice *c, int x, int y, uint8_t dirs);

/* ---- what is asked of a suspect ------------------------------------------ */

/** Tests that tell the alternatives of @s apart, that are sound of all else. */
void ask_settle(struct ask_choice *c, const struct ask_suspect *s);

/** Tests of @s as it is, with other partners and at another time. */
void ask_confirm(struct ask_choice *c, const struct ask_suspect *s);

/** As many sound pairs as what is to be compared with them, which was chosen
 *  before. */
void ask_compare(struct ask_choice *c);

/** Some of what failed of @s and was not tried again, of as many GPUs as there
 *  are: of what was planned, and of what the follow-up made. */
void ask_retry(struct ask_choice *c, const struct ask_suspect *s);

/* ---- ask_guess.c --------------------------------------------------------- */

/** More alternatives for @s, which fails now and then. */
void ask_add_kin(const struct ask_plan *a, struct ask_suspect *s);

/** Suspects beside those of the verdict, which are all known. */
void ask_guess(struct ask_plan *a);

#endif

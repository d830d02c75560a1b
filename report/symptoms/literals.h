/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_LITERALS_H
#define REPORT_SYMPTOMS_LITERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Many byte strings looked for at once: the automaton of Aho and Corasick
 * (1975), one step a byte whatever the number of strings.
 */
struct literal {
	const char *text;	/* borrowed while literals_make() runs */
	size_t len;		/* > 0 */
};

struct literals {
	uint16_t *next;		/* [state][byte] */
	uint16_t *fail;		/* longest other prefix that ends here too */
	uint16_t first_hit;	/* states from here on end a string */
	uint32_t *owned;	/* [state]: first of its strings, + 1; 0: none */
	uint32_t *same;		/* [string]: next one of the same state, + 1 */
	size_t n_states;
};

/** 0; -1 when memory runs out or the strings need more than 65,535 states.
 *  literals_release() frees. */
int literals_make(const struct literal *list, size_t n, struct literals *l);
void literals_release(struct literals *l);

/**
 * Go on from @state (0 at the start of a text) at @p.  Returns behind the last
 * byte of the next string that is found, with @state set, or NULL at @end.
 */
const char *literals_find(const struct literals *l, uint16_t *state,
			  const char *p, const char *end);

/** A text that literals_race() goes on in; @p is at @end or before. */
struct literals_walk {
	const char *p, *end;
	uint16_t state;		/* as of literals_find() */
};

#define LITERALS_WALKS 4

/**
 * Go on in all of @w, none of which is at its end, until one has found a string
 * (literals_hit()) or is at its end.  A step waits for memory, not for the
 * processor: four texts take hardly longer than one.
 */
void literals_race(const struct literals *l,
		   struct literals_walk w[LITERALS_WALKS]);

/** Does a string end where @w is? */
static inline bool literals_hit(const struct literals *l,
				const struct literals_walk *w)
{
	return w->state >= l->first_hit;
}

/** Call @found for each string that ends in @state. */
void literals_each(const struct literals *l, uint16_t state,
		   void (*found)(void *user, size_t string), void *user);

#endif

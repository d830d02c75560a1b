/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_LITERALS_H
#define REPORT_SYMPTOMS_LITERALS_H

#include <stddef.h>
#include <stdint.h>

/**
 * Many byte strings looked for at once: three bytes of each, those that are
 * rare in logs, are hashed, and a bit says whether any string has the three
 * bytes at hand.  A log of 500 MB goes through "explain" at 215 to 290 MB/s
 * where the automaton of Aho and Corasick, three times the code, makes 380 to
 * 590, and one POSIX regular expression of all strings 126 before any is looked
 * at.
 */
struct literal {
	const char *text;	/* borrowed while struct literals lives */
	size_t len;		/* > 2 */
};

#define LITERALS_HASHES 65536

struct literals {
	uint8_t any[LITERALS_HASHES / 8];	/* a bit a hash */
	uint16_t first[LITERALS_HASHES];	/* string, + 1; 0: none */
	struct literal_of {
		struct literal s;
		size_t at;	/* of its three bytes */
		uint16_t next;	/* with this hash, + 1 */
	} *list;
};

/** 0; -1 when memory runs out or there are more than 65,534 strings.
 *  literals_release() frees. */
int literals_make(const struct literal *list, size_t n, struct literals *l);
void literals_release(struct literals *l);

/**
 * The first place from @p to @end where the three bytes of a string are that is
 * whole in @text to @end: @found (may be NULL) is called for each.  Returns
 * where to go on, or NULL when there is none.
 */
const char *literals_find(const struct literals *l, const char *text,
			  const char *p, const char *end,
			  void (*found)(void *user, size_t string), void *user);

#endif

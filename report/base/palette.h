/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_PALETTE_H
#define REPORT_BASE_PALETTE_H

#include <stdint.h>

#include "lib/data/cells.h"

/**
 * The colours and marks of all pictures.  The scale runs from dark blue to
 * yellow, even in lightness and without red against green, so that colour-blind
 * readers see it too; what is not good has a colour off the scale, and a mark.
 */

/** 0xRRGGBB of a place on the scale, 0 ... 1. */
uint32_t palette_scale(double place);

enum palette_mark {
	MARK_NONE, MARK_CROSS, MARK_TRIANGLE, MARK_DIAMOND, MARK_BAR,
	MARK_RING, MARK_DOT
};

struct palette_entry {
	const char *word;	/* in legends */
	char letter;		/* on terminals */
	uint32_t fill, ink;
	enum palette_mark mark;
};

/** How a class is shown; NULL for CELL_PASS, which is on the scale. */
const struct palette_entry *palette_class(unsigned class);

/** Black or white, whichever is legible on @rgb. */
uint32_t palette_ink(uint32_t rgb);

#endif

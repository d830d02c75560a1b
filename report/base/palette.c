/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/wrap.h"

#include <stddef.h>

/** Evenly spaced stops from bad to good. */
static const uint8_t stops[][3] = {
	{ 0x10, 0x2a, 0x5c }, { 0x3c, 0x4f, 0x70 }, { 0x6b, 0x72, 0x7b },
	{ 0x9b, 0x95, 0x79 }, { 0xcd, 0xbb, 0x66 }, { 0xfd, 0xe4, 0x42 },
};

#define STOPS (sizeof(stops) / sizeof(*stops))

uint32_t palette_scale(double place)
{
	double at = place * (double)(STOPS - 1);
	size_t i = at >= (double)(STOPS - 1) ? STOPS - 2 : (size_t)at;
	uint32_t rgb = 0;

	for (int k = 0; k < 3; k++) {
		double a = stops[i][k], b = stops[i + 1][k];
		double level = a + (b - a) * (at - (double)i);

		rgb = rgb << 8 | (uint32_t)(level + 0.5);
	}
	return rgb;
}

static const struct palette_entry entries[] = {
	[CELL_SLOW] = {
		.word = "slow", .letter = 'S', .fill = 0xf57c1f,
		.ink = 0x000000, .mark = MARK_BAR,
	},
	[CELL_FAIL] = {
		.word = "failed", .letter = 'F', .fill = 0xc5102e,
		.ink = 0xffffff, .mark = MARK_CROSS,
	},
	[CELL_TIMEOUT] = {
		.word = "timeout", .letter = 'T', .fill = 0xf49ac1,
		.ink = 0x000000, .mark = MARK_TRIANGLE,
	},
	[CELL_CORRUPT] = {
		.word = "corrupt data", .letter = 'C', .fill = 0x000000,
		.ink = 0xffffff, .mark = MARK_DIAMOND,
	},
	[CELL_SKIPPED] = {
		.word = "skipped", .letter = '-', .fill = 0xd9dde3,
		.ink = 0x6a737d, .mark = MARK_RING,
	},
	[CELL_NOT_RUN] = {
		.word = "not run", .letter = '.', .fill = 0xf3f5f7,
		.ink = 0xa0a7b0, .mark = MARK_DOT,
	},
	[CELL_UNPLANNED] = {
		.word = "", .letter = ' ', .fill = 0xffffff, .ink = 0xffffff,
		.mark = MARK_NONE,
	},
};

const struct palette_entry *palette_class(unsigned class)
{
	return class == CELL_PASS ? NULL : &entries[class];
}

uint32_t palette_ink(uint32_t rgb)
{
	uint32_t r = rgb >> 16, g = rgb >> 8 & 0xff, b = rgb & 0xff;

	return 299 * r + 587 * g + 114 * b > 128000 ? 0x000000 : 0xffffff;
}

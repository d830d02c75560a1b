/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_PICTURE_SVG_H
#define REPORT_DRAW_PICTURE_SVG_H

#include <stdint.h>

#include "lib/base/str.h"

/** Append a PNG of @width x @height pixels, each a byte of @pixels below 16,
 *  row by row, in @colors (0xRRGGBB). */
void png_add(const uint8_t *pixels, int width, int height,
	     const uint32_t colors[16], struct str *out);

#endif

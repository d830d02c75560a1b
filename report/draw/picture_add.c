/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes and texts come into a picture. */
#include "report/draw/picture_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/judge/caption.h"

#define TEXT_MAX 200	/* bytes */

void pic_shape(struct picture *p, struct picture_shape shape)
{
	if (!grow_add(&p->shapes, &p->n, &shape, sizeof(shape))) {
		p->failed = true;
		free(shape.text);
	}
}

void pic_mark(struct picture *p, float x, float y, float size,
	      const struct palette_entry *entry)
{
	struct picture_shape shape = {
		.layer = LAYER_MARK, .mark = entry->mark, .rgb = entry->ink,
		.x = x, .y = y, .width = size,
	};

	if (entry->mark == MARK_BAR) {
		shape.layer = LAYER_RECT;
		shape.x = x - size / 2;
		shape.y = y - size / 8;
		shape.height = size / 4;
	}
	pic_shape(p, shape);
}

void pic_line(struct picture *p, float x, float y, float width, float height)
{
	pic_shape(p, (struct picture_shape){
		.layer = LAYER_LINE, .x = x, .y = y, .width = width,
		.height = height, .rgb = INK_SOFT,
	});
}

void pic_text(struct picture *p, enum picture_layer layer, float x, float y,
	      uint32_t rgb, const char *fmt, ...)
{
	char text[CAPTION_SIZE], clean[TEXT_MAX], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	STR_COPY(clean, text);
	copy = strdup(clean);
	p->failed |= !copy;
	pic_shape(p, (struct picture_shape){
		.layer = layer, .x = x, .y = y, .rgb = rgb, .text = copy,
	});
}

const char *pic_numeral(double value, char buf[UNITS_REAL_SIZE])
{
	/* infinity has no digits that an int can count */
	double digits = value > 0 ? 2 - floor(log10(value * 1.0005)) : 2;

	return units_real_text(value, (int)fmin(fmax(digits, 0), 6), buf);
}

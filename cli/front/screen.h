/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_SCREEN_H
#define CLI_FRONT_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "report/draw/draw.h"

/**
 * What the terminal at the other end of a file can show.
 */

/** Colours on stdout?  Of @s --color counts. */
bool screen_color(const struct spec *s);

/**
 * Colour where allowed; Unicode blocks where the locale is UTF-8 and nothing
 * (--color=never, NO_COLOR) asks for plain text; else ASCII.
 */
enum term_style screen_style(const struct spec *s);

/** Words for people to @f, harmless but for colours. */
void screen_print(struct str *text, FILE *f);

/** Columns of the terminal on @fd, else $COLUMNS, else 80. */
int screen_width(int fd);

/** Is there a terminal on @fd, or $COLUMNS, so that the width is known? */
bool screen_known(int fd);

#endif

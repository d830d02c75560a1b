/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/screen.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "report/draw/draw.h"

#define DEFAULT_WIDTH 80

static bool no_color(void)
{
	const char *text = getenv("NO_COLOR");

	return text && text[0];
}

bool screen_color(const struct spec *s)
{
	const char *term = getenv("TERM");

	if (s->color != WHEN_AUTO) {
		return s->color == WHEN_ALWAYS;
	}
	return isatty(STDOUT_FILENO) && !no_color() &&
	       term && strcmp(term, "dumb") != 0;
}

enum term_style screen_style(const struct spec *s)
{
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
		return TERM_ASCII;
	}
	if (screen_color(s)) {
		return TERM_COLOR;
	}
	return s->color == WHEN_NEVER || no_color() ? TERM_ASCII :
						      TERM_UNICODE;
}

void screen_print(struct str *text, FILE *f)
{
	str_harmless_from(text, 0, STR_LINES | STR_COLORS);
	fputs(str_text(text), f);
}

int screen_width(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int64_t n = DEFAULT_WIDTH;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) {
		return size.ws_col;
	}
	if (columns) {
		units_parse_int(columns, 20, 10000, &n, NULL);
	}
	return (int)n;
}

bool screen_known(int fd)
{
	return isatty(fd) || getenv("COLUMNS");
}

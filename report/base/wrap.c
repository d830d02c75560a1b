/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/wrap.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

/* ---- palette ------------------------------------------------------------- */

/** Evenly spaced stops from bad to good. */
static const uint8_t stops[][3] = {
	{ 0x10, 0x2a, 0x5c }, { 0x3c, 0x4f, 0x70 }, { 0x6b, 0x72, 0x7b },
	{ 0x9b, 0x95, 0x79 }, { 0xcd, 0xbb, 0x66 }, { 0xfd, 0xe4, 0x42 },
};

#define STOPS (sizeof(stops) / sizeof(*stops))

/** The colour at @place of @n evenly spaced @colors. */
static uint32_t between(const uint8_t (*colors)[3], size_t n, double place)
{
	double at = place * (double)(n - 1);
	size_t i = at >= (double)(n - 1) ? n - 2 : (size_t)at;
	uint32_t rgb = 0;

	for (int k = 0; k < 3; k++) {
		double a = colors[i][k], b = colors[i + 1][k];
		double level = a + (b - a) * (at - (double)i);

		rgb = rgb << 8 | (uint32_t)(level + 0.5);
	}
	return rgb;
}

uint32_t palette_scale(double place)
{
	return between(stops, STOPS, place);
}

uint32_t palette_diverging(double place)
{
	static const uint8_t colors[][3] = {
		{ 0x5a, 0x32, 0x05 }, { 0xbf, 0x81, 0x2d },
		{ 0xf4, 0xf1, 0xe8 },
		{ 0x5a, 0xb4, 0xac }, { 0x01, 0x4b, 0x43 },
	};

	return between(colors, sizeof(colors) / sizeof(*colors), place);
}

uint32_t palette_slow(double loss)
{
	const double k = 1.15 - 0.75 * (loss > 0 ? loss < 1 ? loss : 1 : 0);
	uint32_t rgb = 0;

	for (int shift = 16; shift >= 0; shift -= 8) {
		double part = palette_class(CELL_SLOW)->fill >> shift & 0xff;

		part = k > 1 ? 255 - (255 - part) * (2 - k) : part * k;
		rgb = rgb << 8 | (uint32_t)(part + 0.5);
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
	static const double weights[] = { 0.0722, 0.7152, 0.2126 };
	double light = 0;	/* relative luminance, as WCAG has it */

	for (int i = 0; i < 3; i++) {
		light += weights[i] * pow((rgb >> 8 * i & 0xff) / 255.0, 2.2);
	}
	/* where black and white have the same contrast, of 4.6 */
	return light > 0.179 ? 0x000000 : 0xffffff;
}

/* ---- html text ----------------------------------------------------------- */

void html_text(struct str *out, const char *text)
{
	static const char *const entities[128] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;",
		['"'] = "&quot;", ['\''] = "&#39;",
	};
	const size_t from = out->len;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 128 && entities[c]) {
			str_add(out, entities[c]);
		} else {
			str_addch(out, c < 0x20 && c != '\n' ? ' ' : *text);
		}
	}
	str_harmless_from(out, from, STR_LINES);
}

void html_element(struct str *out, const char *tag, const char *text)
{
	size_t name = strcspn(tag, " ");

	str_addf(out, "<%s>", tag);
	html_text(out, text);
	str_addf(out, "</%.*s>", (int)name, tag);
}

void html_base64(struct str *out, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		unsigned a = from[i], b = i + 1 < n ? from[i + 1] : 0;
		unsigned c = i + 2 < n ? from[i + 2] : 0;

		str_addch(out, digits[a >> 2]);
		str_addch(out, digits[(a & 3) << 4 | b >> 4]);
		str_addch(out, i + 1 < n ? digits[(b & 15) << 2 | c >> 6] :
					   '=');
		str_addch(out, i + 2 < n ? digits[c & 63] : '=');
	}
}

/* ---- pack ---------------------------------------------------------------- */

/** Figures with noise are packed as well by little effort: the default takes
 *  three times as long for 4 % less. */
#define LEVEL 2

void pack_add(const void *bytes, size_t n, struct str *out)
{
	uLongf size = compressBound(n);
	Bytef *packed = malloc(size);

	if (packed && compress2(packed, &size, bytes, n, LEVEL) == Z_OK) {
		str_addmem(out, (const char *)packed, size);
	} else {
		out->failed = true;
	}
	free(packed);
}

/* ---- wrap ---------------------------------------------------------------- */

/** Columns of a tag and the blank behind it. */
#define TAG_WIDTH 6
/** Beginning of a line that is a command. */
#define COMMAND "    "

/** Bytes of the word at @text, that are not to be torn apart. */
static size_t word_len(const struct wrap *w, const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ' ') {
		const char *end = text[len] == '"' &&
				  (w->whole_quotes ||
				   str_starts(text + len + 1, "gpucheck ")) ?
					  strchr(text + len + 1, '"') : NULL;

		len = end ? (size_t)(end - text) + 1 : len + 1;
	}
	return len;
}

/** Return true if the word at @text, with trailing punctuation, is a unit. */
static bool is_unit(const char *text)
{
	static const char *const units[] = {
		"%", "GB/s", "MB/s", "Gb/s", "GT/s", "ns", "us", "ms", "s",
		"min", "h", "B", "KiB", "MiB", "GiB", "TiB", "MB", "GB", "W",
		"MHz", "UTC", NULL
	};
	size_t len = strcspn(text, " ,;:.)\n");
	const char *end = text + len;

	end += strspn(end, ",;:.)");
	for (int i = 0; units[i] && (*end == '\0' || *end == ' '); i++) {
		if (strlen(units[i]) == len &&
		    strncmp(units[i], text, len) == 0) {
			return true;
		}
	}
	return false;
}

void wrap_text(const struct wrap *w, int indent, const char *text)
{
	const size_t from = w->out->len;
	const char *blank = "", *line = strrchr(str_text(w->out), '\n');
	int at = 0;

	/* columns of the last line so far; colours take none */
	for (line = line ? line + 1 : str_text(w->out); *line; line++) {
		if (*line == '\033') {
			line += strcspn(line, "m");
		} else {
			at++;
		}
	}

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = word_len(w, text);

		/* a number with its unit is one word */
		if (len > 0 && isdigit((unsigned char)text[len - 1]) &&
		    text[len] == ' ' && is_unit(text + len + 1)) {
			len += 1 + word_len(w, text + len + 1);
		}
		if (*blank && at + 1 + (int)len > w->width) {
			str_addf(w->out, "\n%*s", indent, "");
			at = indent;
			blank = "";
		}
		str_add(w->out, blank);
		str_addmem(w->out, text, len);
		at += (int)strlen(blank) + (int)len;
		text += len;
		blank = " ";
	}
	str_addch(w->out, '\n');
	str_harmless_from(w->out, from, STR_LINES);
}

void wrap_tag(const struct wrap *w, const char *tag, int color)
{
	if (w->color) {
		str_addf(w->out, "\033[1;%dm%-5s\033[0m ", color, tag);
	} else {
		str_addf(w->out, "%-5s ", tag);
	}
}

static const struct {
	const char *status, *word;
	int color;	/* ANSI */
} status_words[] = {
	{ .status = "pass", .word = "PASS", .color = 32 },
	{ .status = "pass (sample)", .word = "PASS (sample)", .color = 32 },
	{ .status = "warn", .word = "WARN", .color = 33 },
	{ .status = "fail", .word = "FAIL", .color = 31 },
	{ .status = "partial", .word = "PARTIAL", .color = 33 },
	{ .status = "pending", .word = "PENDING", .color = 36 },
	{ .status = "running", .word = "RUNNING", .color = 36 },
	{ .status = NULL, .word = "UNKNOWN", .color = 35 },
};

void wrap_status(const struct wrap *w, const char *status)
{
	const size_t i = STR_FIND(status_words, STR_TO_END, status, status);

	wrap_tag(w, status_words[i].word, status_words[i].color);
}

bool wrap_status_aside(const struct wrap *w, const char *status,
		       const char *aside)
{
	const size_t i = STR_FIND(status_words, STR_TO_END, status, status);
	struct str text = STR_INIT;

	if (!aside[0]) {
		wrap_status(w, status);
		return false;
	}
	if (w->color) {
		str_addf(w->out, "\033[1;%dm%s\033[0m ",
			 status_words[i].color, status_words[i].word);
	} else {
		str_addf(w->out, "%s ", status_words[i].word);
	}
	str_addf(&text, "(%s)", aside);
	wrap_text(w, TAG_WIDTH, str_text(&text));
	str_release(&text);
	return true;
}

const char *wrap_status_word(const char *status)
{
	return status_words[STR_FIND(status_words, STR_TO_END, status,
				     status)].word;
}

void wrap_line(const struct wrap *w, int more, const char *text)
{
	str_addf(w->out, "%*s", TAG_WIDTH, "");
	wrap_text(w, TAG_WIDTH + more, text);
}

void wrap_finding(const struct wrap *w, bool fail, const char *says)
{
	str_addch(w->out, '\n');
	wrap_status(w, fail ? "fail" : "warn");
	wrap_text(w, TAG_WIDTH, says);
}

void wrap_lines(const struct wrap *w, int indent, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct str line = STR_INIT;

		str_addmem(&line, text, len);
		str_harmless_from(&line, 0, STR_LINES);
		if (str_starts(str_text(&line), COMMAND)) {
			str_addf(w->out, "%s\n", str_text(&line));
		} else {
			wrap_text(w, indent, str_text(&line));
		}
		str_release(&line);
		text += len;
		text += *text == '\n';
		str_addf(w->out, "%*s", *text ? indent : 0, "");
	}
}

void wrap_act(const struct wrap *w, const char *act)
{
	str_add(w->out, "  do: ");
	wrap_lines(w, TAG_WIDTH, act);
}

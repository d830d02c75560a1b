/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/wrap.h"

#include <ctype.h>
#include <string.h>

/** Columns of a tag and the blank behind it. */
#define TAG_WIDTH 6
/** Beginning of a line that is a command. */
#define COMMAND "    "

/** Columns of the last line of @out so far; colours take none. */
static int last_column(const struct str *out)
{
	const char *text = str_text(out), *line = strrchr(text, '\n');
	int column = 0;

	for (text = line ? line + 1 : text; *text; text++) {
		if (*text == '\033') {
			text += strcspn(text, "m");
		} else {
			column++;
		}
	}
	return column;
}

/** Bytes of the word at @text, that are not to be torn apart. */
static size_t word_len(const struct wrap *w, const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ' ') {
		const char *end = w->whole_quotes && text[len] == '"' ?
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

/** The same of what a line holds together: a number with its unit is one. */
static size_t piece_len(const struct wrap *w, const char *text)
{
	size_t len = word_len(w, text);

	if (len > 0 && isdigit((unsigned char)text[len - 1]) &&
	    text[len] == ' ' && is_unit(text + len + 1)) {
		len += 1 + word_len(w, text + len + 1);
	}
	return len;
}

void wrap_text(const struct wrap *w, int indent, const char *text)
{
	const size_t from = w->out->len;
	int at = last_column(w->out);
	const char *blank = "";

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = piece_len(w, text);

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
	size_t i = 0;

	while (status_words[i].status &&
	       strcmp(status_words[i].status, status) != 0) {
		i++;
	}
	wrap_tag(w, status_words[i].word, status_words[i].color);
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

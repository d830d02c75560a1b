/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/wrap.h"

#include <string.h>

/** Of a tag and the blank behind it. */
#define TAG_WIDTH 6

void wrap_text(const struct wrap *w, int indent, const char *text)
{
	int at = indent;

	while (*text) {
		size_t skip = strspn(text, " ");
		size_t len = strcspn(text + skip, " ");

		if (at > indent && at + 1 + (int)len > w->width) {
			str_addf(w->out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			str_addch(w->out, ' ');
			at++;
		}
		str_addmem(w->out, text + skip, len);
		at += (int)len;
		text += skip + len;
	}
	str_addch(w->out, '\n');
}

void wrap_tag(const struct wrap *w, const char *tag, int color)
{
	if (w->color) {
		str_addf(w->out, "\033[1;%dm%-5s\033[0m ", color, tag);
	} else {
		str_addf(w->out, "%-5s ", tag);
	}
}

static const struct status_word {
	const char *word;
	int color;	/* ANSI */
} status_words[] = {
	[VERDICT_PASS]	  = { .word = "PASS", .color = 32 },
	[VERDICT_WARN]	  = { .word = "WARN", .color = 33 },
	[VERDICT_FAIL]	  = { .word = "FAIL", .color = 31 },
	[VERDICT_UNKNOWN] = { .word = "UNKNOWN", .color = 35 },
};

void wrap_status(const struct wrap *w, enum verdict_status status)
{
	const struct status_word *s = &status_words[status];

	wrap_tag(w, s->word, s->color);
}

void wrap_line(const struct wrap *w, int more, const char *text)
{
	str_addf(w->out, "%*s", TAG_WIDTH, "");
	wrap_text(w, TAG_WIDTH + more, text);
}

void wrap_finding(const struct wrap *w, bool fail, const char *says)
{
	str_addch(w->out, '\n');
	wrap_status(w, fail ? VERDICT_FAIL : VERDICT_WARN);
	wrap_text(w, TAG_WIDTH, says);
}

void wrap_act(const struct wrap *w, const char *act)
{
	str_add(w->out, "  do: ");
	wrap_text(w, TAG_WIDTH, act);
}

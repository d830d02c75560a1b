/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/html_text.h"

#include <string.h>

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

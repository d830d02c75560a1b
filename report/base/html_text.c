/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/wrap.h"

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

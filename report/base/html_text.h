/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_HTML_TEXT_H
#define REPORT_BASE_HTML_TEXT_H

#include "lib/base/str.h"

/** Append @text so that HTML and SVG show it as it stands, harmless. */
void html_text(struct str *out, const char *text);

/** "<@tag>text</@tag>"; @tag may carry attributes and is trusted. */
void html_element(struct str *out, const char *tag, const char *text);

/** @n bytes in base64, as RFC 4648 has it. */
void html_base64(struct str *out, const void *bytes, size_t n);

#endif

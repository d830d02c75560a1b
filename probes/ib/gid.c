/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/gid.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/base/str.h"

int gid_parse_type(const char *text)
{
	return strstr(text, "RoCE v2") != NULL ? 2 :
	       strstr(text, "RoCE v1") != NULL ? 1 :
						 0;
}

static bool is_ipv4(const uint8_t raw[GID_BYTES])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(raw, mapped, sizeof(mapped)) == 0;
}

const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT])
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (is_ipv4(raw)) {
		inet_ntop(AF_INET, raw + 12, text, sizeof(text));
	} else {
		inet_ntop(AF_INET6, raw, text, sizeof(text));
	}
	str_copy(buf, GID_TEXT, text);
	return buf;
}

bool gid_is_zero(const uint8_t raw[GID_BYTES])
{
	static const uint8_t zero[GID_BYTES];

	return memcmp(raw, zero, GID_BYTES) == 0;
}

static int worth(const struct gid_entry *g)
{
	return is_ipv4(g->raw) ? 1 + (g->roce == 2) : 0;
}

const struct gid_entry *gid_choose(const struct gid_entry *table, size_t n)
{
	const struct gid_entry *best = n > 0 ? &table[0] : NULL;

	for (size_t i = 1; i < n; i++) {
		if (worth(&table[i]) > worth(best)) {
			best = &table[i];
		}
	}
	return best;
}

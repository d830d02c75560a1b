/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/link_counts.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/sysfile.h"

#define NET "%s/sys/class/net/%s/"

/** The first: of a link that went, or came back. */
static const struct {
	const char *folder, *name;
} counts[LINK_COUNTS] = {
	{ "", "carrier_changes" },
	{ "statistics/", "rx_errors" },
	{ "statistics/", "tx_errors" },
	{ "statistics/", "rx_dropped" },
	{ "statistics/", "tx_dropped" },
};

/** Is it @i that is called so there?  "02:42:0a" is "02420a" with colons. */
static bool is_same(const char *root, const struct interface *i)
{
	char said[64], mac[2 * INTERFACE_MAC + 1];
	size_t len = 0;

	sysfile_read(said, sizeof(said), NET "address", root, i->name);
	for (const char *c = said; *c; c++) {
		if (*c != ':') {
			said[len++] = *c;
		}
	}
	said[len] = '\0';
	hash_hex(i->mac, i->mac_len, mac);
	return i->mac_len > 0 && strcmp(said, mac) == 0;
}

void link_counts_read(const char *root, const struct interface *i,
		      struct link_counts *c)
{
	bool same = is_same(root, i);
	char text[32];

	for (size_t k = 0; k < LINK_COUNTS; k++) {
		c->n[k] = -1;
		if (same && sysfile_read(text, sizeof(text), NET "%s%s", root,
					 i->name, counts[k].folder,
					 counts[k].name) > 0 &&
		    units_parse_int(text, 0, INT64_MAX, &c->n[k], NULL) < 0) {
			c->n[k] = -1;
		}
	}
}

bool link_counts_grown(const struct link_counts *before,
		       const struct link_counts *now, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t k = 0; k < LINK_COUNTS && len < size; k++) {
		if (before->n[k] >= 0 && now->n[k] > before->n[k]) {
			len += (size_t)snprintf(buf + len, size - len,
						"%s%s +%lld", len ? ", " : "",
						counts[k].name,
						(long long)(now->n[k] -
							    before->n[k]));
		}
	}
	return before->n[0] >= 0 && now->n[0] > before->n[0];
}

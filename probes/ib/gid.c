/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/gid.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define V4_AT 12		/* an IPv4 address is the end of a GID */

/* ---- texts --------------------------------------------------------------- */

int gid_parse_type(const char *text)
{
	return strstr(text, "RoCE v2") != NULL ? 2 :
	       strstr(text, "RoCE v1") != NULL ? 1 :
						 0;
}

int gid_parse_family(const char *text, sa_family_t *family, struct err *e)
{
	bool v6 = strcmp(text, "AF_INET6") == 0;

	if (!v6 && strcmp(text, "AF_INET") != 0) {
		return err_set(e, 0, "'%.32s' is neither AF_INET nor AF_INET6",
			       text);
	}
	*family = v6 ? AF_INET6 : AF_INET;
	return 0;
}

struct ip_addr gid_ip(const uint8_t raw[GID_BYTES])
{
	static const uint8_t mapped[V4_AT] = { [10] = 0xff, [11] = 0xff };
	bool v4 = memcmp(raw, mapped, V4_AT) == 0;
	struct ip_addr ip = { .family = v4 ? AF_INET : AF_INET6 };

	memcpy(ip.bytes, v4 ? raw + V4_AT : raw, v4 ? 4 : GID_BYTES);
	return ip;
}

const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT])
{
	struct ip_addr ip = gid_ip(raw);

	return ip_text(&ip, buf, GID_TEXT);
}

/* ---- what may be taken --------------------------------------------------- */

bool gid_is_zero(const uint8_t raw[GID_BYTES])
{
	static const uint8_t zero[GID_BYTES];

	return memcmp(raw, zero, GID_BYTES) == 0;
}

static bool is_allowed(const struct gid_entry *g, const struct gid_wish *w)
{
	struct ip_addr ip = gid_ip(g->raw);

	return (w->family == 0 || ip.family == w->family) &&
	       /* an old kernel does not say which one it is */
	       (w->roce == 0 || g->roce == 0 || g->roce == w->roce) &&
	       (w->range.prefix == 0 || ip_in(&ip, &w->range));
}

size_t gid_allowed(struct gid_entry *table, size_t n, const struct gid_wish *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_allowed(&table[i], w)) {
			table[kept++] = table[i];
		}
	}
	return kept;
}

/* ---- which one ----------------------------------------------------------- */

/* Odd where it is IPv4, even where not; each step before is a better way. */
static int worth(const struct gid_entry *g)
{
	struct ip_addr ip = gid_ip(g->raw);
	int way = g->roce != 2 ? 0 : ip_is_link_local(&ip) ? 1 : 2;

	return 2 * way + (ip.family == AF_INET);
}

static int by_worth(const void *x, const void *y)
{
	const struct gid_entry *a = x, *b = y;
	int more = worth(b) - worth(a);

	return more != 0 ? more : a->index - b->index;
}

void gid_order(struct gid_entry *table, size_t n)
{
	qsort(table, n, sizeof(*table), by_worth);
}

static struct ip_net net_of(const struct gid_entry *g)
{
	struct ip_net net = { .ip = gid_ip(g->raw), .prefix = g->prefix };

	if (net.prefix == 0) {
		/* its interface is in another network namespace: what is
		 * usual */
		net.prefix = net.ip.family == AF_INET ? 24 : 64;
	}
	return net;
}

static bool same_subnet(const struct gid_entry *a, const struct gid_entry *b)
{
	struct ip_net net_a = net_of(a), net_b = net_of(b);

	return ip_in(&net_a.ip, &net_b) && ip_in(&net_b.ip, &net_a);
}

/* 0: they do not reach each other. */
static int worth_together(const struct gid_entry *a, const struct gid_entry *b)
{
	int w = worth(a);

	/* the way, then the subnet, then IPv4 */
	return w != worth(b) || a->roce != b->roce ?
		       0 :
		       1 + 4 * (w / 2) + 2 * same_subnet(a, b) + w % 2;
}

bool gid_agree(const struct gid_entry *lead, size_t n_lead,
	       const struct gid_entry *other, size_t n_other,
	       struct gid_pair *out)
{
	int most = 0;

	for (size_t i = 0; i < n_lead; i++) {
		for (size_t k = 0; k < n_other; k++) {
			int w = worth_together(&lead[i], &other[k]);

			if (w > most) {
				most = w;
				*out = (struct gid_pair){ i, k };
			}
		}
	}
	return most > 0;
}

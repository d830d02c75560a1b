/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_GID_H
#define PROBES_IB_GID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/ip.h"

/**
 * The address of a RoCE port is one of its GID table; which one decides the
 * protocol (RoCE v1 or v2), the IP family and the VLAN.  Pure.
 */
#define GID_BYTES  16
#define GID_TEXT   40
#define GID_MAX	   256
#define GID_OFFERS 16		/* that a peer is told of */

struct gid_entry {
	int index;		/* in the table */
	uint8_t raw[GID_BYTES];
	int roce;		/* 1, 2; 0 = not known or InfiniBand */
	int prefix;		/* of the address; 0 = not known */
};

/** What jobs want of a GID, by NCCL's settings. */
struct gid_wish {
	sa_family_t family;	/* AF_INET, AF_INET6; 0 = any */
	int roce;		/* version; 0 = any */
	struct ip_net range;	/* no bits of it: any */
};

/** "RoCE v2", "IB/RoCE v1" as in gid_attrs/types; 0 for anything else. */
int gid_parse_type(const char *text);

/** "AF_INET", "AF_INET6", as NCCL_IB_ADDR_FAMILY has it; 0, or -1 with @e. */
int gid_parse_family(const char *text, sa_family_t *family, struct err *e);

/** The address that a GID is: IPv4 in IPv6 becomes IPv4. */
struct ip_addr gid_ip(const uint8_t raw[GID_BYTES]);
/** The same as text; returns @buf. */
const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT]);

bool gid_is_zero(const uint8_t raw[GID_BYTES]);

/** Keep those of @table that @w allows, in their order; how many. */
size_t gid_allowed(struct gid_entry *table, size_t n, const struct gid_wish *w);

/** Put those that a port is better reached by first: RoCE v2 before v1, of v2
 *  what can be routed before what is of the link only, of these IPv4, of these
 *  the lower index. */
void gid_order(struct gid_entry *table, size_t n);

/** Two ends' choice: places in their lists. */
struct gid_pair {
	size_t lead, other;
};

/**
 * The GIDs by which two ports reach each other: of one protocol and family at
 * both ends, RoCE v2 before v1 and routed before not as gid_order() has it, of
 * these those of one subnet, of these IPv4, of these the first of both lists.
 * Each end comes to the same answer from the same lists.  False when no two
 * fit.
 */
bool gid_agree(const struct gid_entry *lead, size_t n_lead,
	       const struct gid_entry *other, size_t n_other,
	       struct gid_pair *out);

#endif

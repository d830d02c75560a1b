/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_GID_H
#define PROBES_IB_GID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The address of a RoCE port is one of its GID table; which one decides the
 * protocol (RoCE v1 or v2), the IP family and the VLAN.
 */
#define GID_BYTES 16
#define GID_TEXT  40
#define GID_MAX	  256

struct gid_entry {
	int index;		/* in the table */
	uint8_t raw[GID_BYTES];
	int roce;		/* 1, 2; 0 = not known or InfiniBand */
};

/** "RoCE v2", "IB/RoCE v1" as in gid_attrs/types; 0 for anything else. */
int gid_parse_type(const char *text);

/** "fe80:0000:...:0001" or "::ffff:10.0.0.1" as people write it. */
const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT]);

bool gid_is_zero(const uint8_t raw[GID_BYTES]);

/**
 * The entry that NCCL takes when nothing is set: the first global IPv4 one of
 * RoCE v2, else the first global IPv4 one, else that at index 0.  NULL when
 * the table is empty.
 */
const struct gid_entry *gid_choose(const struct gid_entry *table, size_t n);

#endif

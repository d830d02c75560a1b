/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PART_H
#define REPORT_MODEL_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/report.h"

/** Which cells a part touches, and what it is called. */

#define PART_NAME_SIZE 224

const char *part_kind_name(enum part_kind k);	/* as in verdict.json */
const char *part_direction_name(enum part_direction d);

/** A part of @kind with nothing else said. */
struct part part_of_kind(enum part_kind kind);

/** Does the ordered cell @src -> @dst go through @p? */
bool part_touches(const struct run *run, const struct part *p, int src,
		  int dst);

/**
 * What to call @p: where ranks are HCA ports what would be a GPU is a NIC,
 * though one that traffic inside its node goes through as well.
 */
struct part part_shown(const struct run *run, const struct part *p);

/** Preference when two explain the same: kind first, then place. */
int part_compare(const void *a, const void *b);
/** The same thing, whatever the direction? */
bool part_same_place(const struct part *a, const struct part *b);

/** "GPU 4 of n1", "NIC 2 of n1 (mlx5_2)", "rail 1", ...; returns @buf. */
const char *part_name(const struct run *run, const struct part *p, char *buf,
		      size_t size);

/** The name that the rows give to NIC @nic of @node, "" when none does. */
const char *part_nic_name(const struct run *run, int node, int nic);

/** "n0:3", the spelling of --pairs; returns @buf. */
const char *part_rank_name(const struct run *run, int rank, char *buf,
			   size_t size);

#endif

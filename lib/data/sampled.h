/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_SAMPLED_H
#define LIB_DATA_SAMPLED_H

#include <stdbool.h>

#include <jansson.h>

#include "lib/base/str.h"

/**
 * What a run that measures a sample of the pairs can have seen, and what not:
 * docs/sampling.md derives it.  Member "sample" of "planned" in run.json, as a
 * plan chose it and a report reads it.  Pure.
 */
struct sampled {
	int rail, inside, cross;	/* rounds: each rank has a partner on
					 * another node and its rail, on its
					 * node, on another node and rail */
	bool nodes;			/* and one pair of any two nodes */
	int n_nodes, n_ranks, rails;	/* a node has so many */
	double share;			/* of all ordered pairs */
};

/** The flows that leave a leaf switch in a round, and its uplinks, that
 *  sampled_uplink() reckons with. */
#define SAMPLED_FLOWS	30
#define SAMPLED_UPLINKS	32

int sampled_rounds(const struct sampled *s);

/** NULL without memory, or where @s has no rounds: a run of all pairs. */
json_t *sampled_json(const struct sampled *s);
/** That of @planned, to @s; false: all pairs are planned, or it is damaged. */
bool sampled_read(const json_t *planned, struct sampled *s);

/** How likely one fault is seen, from 0 to 1: of a GPU, or with @nic a NIC,
 *  that fails in a share @rate of its tests; */
double sampled_part(const struct sampled *s, bool nic, double rate);
/** of a dead one of the uplinks of a leaf, flows keep theirs by chance; */
double sampled_uplink(const struct sampled *s);
/** of what fails between two nodes alone, whatever the GPUs. */
double sampled_node_pair(const struct sampled *s);

/** "99.9 %", never more than is so, nor "100 %"; returns @buf. */
const char *sampled_percent(double p, char *buf, size_t size);
/** "12 rounds (8 on rails, 1 inside nodes, 3 across rails)"; */
void sampled_rounds_text(const struct sampled *s, struct str *out);
/** what it is sure to see; */
void sampled_sure_text(const struct sampled *s, struct str *out);
/** and what it sees by chance. */
void sampled_chance_text(const struct sampled *s, struct str *out);

#endif

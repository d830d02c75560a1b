/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/group_again.h"

#include <string.h>

#include "lib/data/json.h"
#include "lib/spec/spec.h"

/** All pairs of more GPUs than this are no list to type. */
#define LISTED 6

json_int_t group_part_gpu(const json_t *part)
{
	json_t *gpu = json_object_get(part, "gpu");

	return json_is_integer(gpu) ? json_integer_value(gpu) : -1;
}

void group_part_name(const json_t *part, struct str *out)
{
	str_add(out, json_member(part, "node"));
	if (group_part_gpu(part) >= 0) {
		str_addf(out, ":%d", (int)group_part_gpu(part));
	}
}

/** Nodes between each other, GPUs one with one; a GPU alone with its node, and a
 *  node alone in any way. */
static void add_pairs(const json_t *parts, struct str *out)
{
	size_t n = json_array_size(parts);
	const char *before = " --pairs=";

	if (group_part_gpu(json_array_get(parts, 0)) < 0) {
		str_add(out, n > 1 ? " --pairs=inter" : "");
		return;
	}
	if (n == 1 || n > LISTED) {
		str_add(out, n == 1 ? " --pairs=intra" : "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			str_add(out, before);
			group_part_name(json_array_get(parts, i), out);
			str_addch(out, '-');
			group_part_name(json_array_get(parts, k), out);
			before = ",";
		}
	}
}

/** The nodes of the parts, each once; returns how many. */
static int add_nodes(const json_t *parts, struct str *out)
{
	const char *last = "";
	json_t *p;
	size_t i;
	int n = 0;

	json_array_foreach(parts, i, p) {	/* by rank: side by side */
		const char *node = json_member(p, "node");

		if (strcmp(node, last) != 0) {
			str_addf(out, "%s%s", n++ ? "," : "", node);
			last = node;
		}
	}
	return n;
}

void group_again(const json_t *run, const json_t *parts, struct str *out)
{
	const json_t *nodes = json_object_get(run, "nodes");
	bool local = spec_launcher_is(json_member(run, "launcher"),
				      LAUNCHER_PRETENDS);
	struct str list = STR_INIT;
	int n = add_nodes(parts, &list);

	/* a node has ways to others only */
	if (!local && n == 1 && group_part_gpu(json_array_get(parts, 0)) < 0) {
		str_add(out, "(NODE: another one) ");
		str_add(&list, ",NODE");
		n = 2;
	}
	str_add(out, "gpucheck p2p");
	if (local) {
		str_addf(out, " --local=%dx%d", (int)json_array_size(nodes),
			 (int)json_integer_value(json_object_get(
				 json_array_get(nodes, 0), "gpus")));
	} else {
		str_addf(out, " -N %d", n);
	}
	str_addf(out, " --transport=%s", json_member(run, "transport"));
	add_pairs(parts, out);
	if (!local) {
		str_addf(out, " -- --nodelist=%s", str_text(&list));
	}
	str_release(&list);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/allocation.h"
#include "probes/host/inventory.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_lanes.h"

/** What scontrol says, and the words in which it travels on. */
static void read_allocation(const char *text)
{
	struct allocation said = { 0 }, again = { 0 };
	struct str words = STR_INIT;

	if (slurm_parse_allocation(text, "7", &said) == 0) {
		allocation_text(&said, &words);
		if (allocation_parse(str_text(&words), &again, NULL) < 0) {
			abort();
		}
		allocation_release(&again);
	}
	if (allocation_parse(text, &again, NULL) == 0) {
		allocation_gpus(&again, "n1");
	}
	allocation_release(&again);
	allocation_release(&said);
	str_release(&words);
}

/** The first line as what is wanted, of what the others have. */
static void read_partitions(const char *text)
{
	struct slurm_fit f = { .nodes = 2, .partitions = text,
			       .features = text, .on_gpus = true };
	struct err e = { 0 };
	int64_t gpus = -1;

	if (slurm_fit_parse(&f, text, &gpus, &e) < 0 && !e.text[0]) {
		abort();
	}
	f.partitions = f.features = NULL;
	slurm_fit_parse(&f, text, &gpus, &e);
	if (gpus < 0) {
		abort();
	}
}

/** The first line as what is wanted, of what the others have. */
static void read_lanes(const char *text)
{
	struct slurm_fit ask = { .exclude = "n7", .features = text };
	struct slurm_lane_nodes nodes = { 0 };
	struct slurm_job q;
	char reserved[64];

	for (const char *at = text; slurm_parse_queued(&at, &q);) {
		if (!q.id[0] || !q.state[0] || q.script[0] != '/' ||
		    at <= text ||
		    (slurm_queued_in_line(&q) && !slurm_queued_waits(&q))) {
			abort();
		}
	}
	if (slurm_parse_config(text, "MaxJobCount") < -1 ||
	    slurm_parse_least(text) < -1) {
		abort();
	}
	slurm_parse_lane_nodes(&ask, text, &nodes);
	ask = (struct slurm_fit){ .exclude = "", .names = text,
				  .within = text };
	slurm_parse_lane_nodes(&ask, text, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		if (!slurm_is_node(nodes.list[i].name)) {
			abort();
		}
	}
	free(nodes.list);
	if (slurm_parse_reserved(text, reserved, sizeof(reserved)) &&
	    (!reserved[0] || strchr(reserved, ' '))) {
		abort();
	}
}

/** Every reader of what Slurm's commands say, on the same text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	char waits[LAUNCH_WAITS_SIZE], script[64];
	struct launch_state st;
	struct slurm_job job;
	char job_id[SLURM_JOB_SIZE] = "", step[16], *split;
	struct slurm_node node;
	struct err e = { 0 };

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	if (slurm_parse_job_id(text, job_id, NULL) == 0 && !job_id[0]) {
		abort();
	}
	if (slurm_parse_job(text, &job, NULL) == 0) {
		slurm_state_explain(job_id, &job, "/runs/one", &st);
		launch_waits(&st, waits);
	}
	if (slurm_gres_gpus(text) < 0 || slurm_parse_version(text) < 0) {
		abort();
	}
	slurm_parse_script(text, "7", script, sizeof(script));
	read_allocation(text);
	read_partitions(text);
	read_lanes(text);
	slurm_parse_has_pmi2(text);
	for (const char *at = text; slurm_parse_node(&at, &node);) {
		if (!slurm_is_node(node.name) || !node.state[0] || at <= text) {
			abort();
		}
	}
	for (int prolog = 0; prolog < 2; prolog++) {
		struct str names = STR_INIT;
		bool found = slurm_blame_parse(text, prolog, &e, &names);

		if (found != (e.text[0] && e.hint[0] && names.len > 0)) {
			abort();
		}
		str_release(&names);
		e = (struct err){ .code = 0 };
	}
	slurm_parse_step(text, "gpucheck-p2p-1", step, sizeof(step));
	split = strchr(text, '\n');
	if (split) {
		*split = '\0';
		node_leaf_switch(text, split + 1, step, sizeof(step));
	}
	free(text);
	return 0;
}

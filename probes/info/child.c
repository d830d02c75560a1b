/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/info/info.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "lib/data/record_info.h"
#include "lib/spec/spec.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/dl/nccl_torch.h"
#include "probes/host/facts.h"
#include "probes/host/record.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"
#include "probes/probes.h"

#define TORCH_NS (5 * NS_PER_S)

static void say(const char *scope, const char *fact, const char *value,
		const char *source)
{
	struct fact_row row = { 0 };

	STR_COPY(row.scope, scope);
	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	STR_COPY(row.source, source);
	node_task_fact(&row);
}

/** What workers load that every agent does without. */
static void say_library(const json_t *all, const char *name)
{
	const json_t *library = json_object_get(all, name);
	char fact[32], why[32];

	snprintf(fact, sizeof(fact), "%s_version", name);
	if (json_is_object(library)) {
		const char *version = json_member(library, "version");
		const char *path = json_member(library, "path");

		say(name, fact, version[0] ? version : "unknown", path);
		snprintf(fact, sizeof(fact), "%s_lib", name);
		say(name, fact, path, "dlopen");
	} else {
		snprintf(why, sizeof(why), "%s_why", name);
		say(name, fact, INFO_NONE, "dlopen");
		snprintf(fact, sizeof(fact), "%s_note", name);
		say(name, fact, json_member(all, why), "dlopen");
	}
}

/* The NCCL of jobs, which may be another than the one above. */
static void say_torch(struct nccl_torch_look *l)
{
	json_t *facts = json_array(), *f;
	size_t i;

	torch_facts(l, clock_now_ns() + TORCH_NS, facts);
	json_array_foreach(facts, i, f) {
		say(json_member(f, "scope"), json_member(f, "fact"),
		    json_member(f, "value"), json_member(f, "source"));
	}
	json_decref(facts);
}

static void say_expected(const struct spec *s)
{
	const char *slurm = getenv("SLURM_GPUS_ON_NODE");
	int64_t n = s->gpus_per_node;
	char text[24];

	if (s->local) {
		return;		/* pretend nodes share what is here */
	}
	if (!n && slurm) {
		units_parse_int(slurm, 1, SPEC_MAX_GPUS, &n, NULL);
	}
	if (n) {
		snprintf(text, sizeof(text), "%" PRId64, n);
		say("node", INFO_EXPECTED, text,
		    s->gpus_per_node ? "--gpus-per-node" :
				       "SLURM_GPUS_ON_NODE");
	}
}

#define RECORD_NS (30 * NS_PER_S)

/* Into the folder of the node. */
static void record(const struct spec *s, const char *node)
{
	char root[PATH_MAX], dir[PATH_MAX];
	struct err e = { 0 };
	int rc;

	sysfile_root(s->sysroot, node, root, sizeof(root));
	snprintf(dir, sizeof(dir), "%.2000s/%.64s", s->record, node);
	/* a name of its own choice could lead out of the folder */
	rc = node[strspn(node, HOSTLIST_NAME_CHARS)] ||
			     !isalnum((unsigned char)node[0]) ?
		     err_set(&e, 0, "'%.64s' is not the name of a folder",
			     node) :
		     record_machine(root, dir, clock_now_ns() + RECORD_NS, &e);
	if (rc == 0) {
		say("node", "recorded", dir, "--record");
	} else {
		say("node", "recorded", INFO_NONE, "--record");
		say("node", "recorded_note", e.text, "--record");
	}
}

int info_child(const json_t *args, struct err *e)
{
	struct info_row row = { .outcome = OUTCOME_OK };
	struct nccl_torch_look torch;
	json_t *libraries;
	struct spec spec;
	bool looks;

	clock_utc(row.start_utc);
	if (json_get_text(args, "node", row.node, sizeof(row.node), e) < 0 ||
	    spec_from_json(&spec, json_object_get(args, "options"), e) < 0) {
		return -1;
	}
	say_expected(&spec);
	looks = nccl_torch_begin(&torch, NULL) == 0;
	if (spec.record[0] != '\0') {
		record(&spec, row.node);
	}
	libraries = probes_libraries();
	say_library(libraries, "nccl");
	say_library(libraries, "pmi2");
	json_decref(libraries);
	if (looks) {
		say_torch(&torch);
	}
	node_task_row(&schema_info, &row);
	return 0;
}

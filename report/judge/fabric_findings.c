/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings about the NVLink fabric of a node, by NVML's facts. */
#include "report/judge/findings.h"

#include <stdio.h>
#include <string.h>

#include "lib/spec/spec.h"
#include "report/judge/pairs.h"

/** The fact @name of GPU @gpu of node @at, or with -1 of the node; NULL: it is
 *  not reported. */
static const struct fact_row *fact_of(const struct run *run, int at, int gpu,
				      const char *name)
{
	char scope[16] = "node";

	if (gpu >= 0) {
		snprintf(scope, sizeof(scope), "gpu%d", gpu);
	}
	return run_find_fact(run, run->nodes[at].name, scope, name);
}

static struct finding *add(const struct run *run, struct part p,
			   const char *code, bool fail, struct verdict *v)
{
	struct finding *f = finding_add(v, p, code);

	f->fail = fail;
	f->cells = run->cells ? part_tests(run, &p, NULL) : 1;
	return f;
}

static void add_evidence(const struct fact_row *fact, struct finding *f)
{
	if (fact) {
		finding_add_evidence(f, "%s %s %s (%s)", fact->scope,
				     fact->fact, fact->value, fact->source);
	}
}

/** Add one finding for all GPUs of node @at that have a value in @of, which
 *  follows @says: about the node if those are all that report, else about each.
 *  Returns the last finding; NULL: none. */
static struct finding *add_gpus(const struct run *run, int at,
				const char *code, bool fail, const char *says,
				const char *const of[SPEC_MAX_GPUS],
				struct verdict *v)
{
	const char *name = run->nodes[at].name, *first = NULL;
	struct finding *f = NULL;
	int some = 0, report = 0;
	bool all;

	for (int g = 0; g < SPEC_MAX_GPUS; g++) {
		some += of[g] != NULL;
	}
	for (int g = 0; some > 1 && g < SPEC_MAX_GPUS; g++) {
		report += fact_of(run, at, g, "fabric_state") != NULL;
	}
	all = some > 1 && some == report;
	for (int g = 0; some > 0 && g < SPEC_MAX_GPUS; g++) {
		if (!of[g]) {
			continue;
		}
		if (!first || !all) {
			f = add(run, part_at(all ? PART_NODE : PART_GPU, at,
					     all ? -1 : g), code, fail, v);
			first = of[g];
		}
		if (all) {
			finding_say(f, "%s: %s on all %d GPUs: %s", name, says,
				    some, first);
		} else {
			finding_say(f, "GPU %d of %s: %s: %s", g, name, says,
				    of[g]);
		}
		add_evidence(fact_of(run, at, g, "fabric_state"), f);
		add_evidence(fact_of(run, at, g, "fabric_health"), f);
	}
	return f;
}

/* ---- health -------------------------------------------------------------- */

/** Fields of NVML's health mask that are true, and what each means. */
static const struct {
	const char *word;
	bool fail;
	const char *says;
} faults[] = {
	{ .word = "route_unhealthy", .fail = true,
	  .says = "a route of its NVLink fabric is unhealthy" },
	{ .word = "incorrect_configuration", .fail = true,
	  .says = "its NVLink fabric is configured incorrectly" },
	{ .word = "unhealthy", .fail = true,
	  .says = "its NVLink fabric is unhealthy" },
	{ .word = "degraded_bandwidth",
	  .says = "its NVLink fabric runs at reduced bandwidth" },
	{ .word = "limited_capacity",
	  .says = "its NVLink fabric has limited capacity" },
	{ .word = "route_recovery",
	  .says = "a route of its NVLink fabric is being recovered" },
	{ .word = "access_timeout_recovery",
	  .says = "its NVLink fabric recovers from an access timeout" },
};

/** Returns the field @word of the health mask @health, a list "A+B:VALUE", or
 *  its value; NULL if it is not true, or there is no mask. */
static const char *has_fault(const char *health, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = health; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strncmp(at, word, n) == 0 && strchr(":+", at[n])) {
			return at[n] == ':' ? at + n + 1 : word;
		}
	}
	return NULL;
}

/* ---- services ------------------------------------------------------------ */

/** Services that the fabric needs, and the value that each should have. */
static const struct {
	const char *fact, *right;	/* NULL: the version of the driver */
	const char *code, *says;
} services[] = {
	{ .fact = "fabric_manager", .right = "running",
	  .code = "fabricmanager_down",
	  .says = "there are NVSwitches, but the fabric manager does not "
		  "run" },
	{ .fact = "fabric_manager_version", .code = "fabricmanager_version",
	  .says = "the versions of the fabric manager and of the loaded driver "
		  "differ" },
	{ .fact = "nvlsm", .right = "running", .code = "nvlsm_down",
	  .says = "the NVLink subnet manager (nvlsm) is installed, but does "
		  "not run" },
	{ .fact = "ib_umad", .right = "yes", .code = "ib_umad_missing",
	  .says = "the kernel module ib_umad, which nvlsm needs, is not "
		  "loaded" },
};

/** Add the services that are wrong: as evidence to @because, a finding about
 *  the fabric, else each as a warning. */
static void judge_services(const struct run *run, int at,
			   struct finding *because, struct verdict *v)
{
	const struct fact_row *driver = fact_of(run, at, -1, "driver_loaded");

	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		const struct fact_row *fact = fact_of(run, at, -1,
						      services[i].fact);
		const char *right = services[i].right ? services[i].right :
				    driver ? driver->value : NULL;
		struct finding *f = because;

		if (!fact || !right || strcmp(fact->value, right) == 0) {
			continue;
		}
		if (f) {
			finding_more(f, "; %s", services[i].says);
		} else {
			f = add(run, part_at(PART_NODE, at, -1),
				services[i].code, false, v);
			finding_say(f, "%s: %s", run->nodes[at].name,
				    services[i].says);
		}
		if (!services[i].right) {
			finding_more(f, ": %s and %s", fact->value, right);
		}
		add_evidence(fact, f);
	}
}

/* ---- a node -------------------------------------------------------------- */

/** GPUs of one node in different cliques cannot reach each other by NVLink;
 *  @gpus as in judge_node(). */
static void judge_cliques(const struct run *run, int at, int gpus,
			  struct verdict *v)
{
	const struct fact_row *cluster, *clique, *in = NULL, *of = NULL;
	int first = -1;
	struct finding *f;

	for (int g = 0; g < gpus; g++) {
		cluster = fact_of(run, at, g, "fabric_cluster");
		clique = fact_of(run, at, g, "fabric_clique");
		if (!cluster || !clique) {
			continue;
		}
		if (first < 0) {
			first = g;
			in = cluster;
			of = clique;
		}
		if (strcmp(cluster->value, in->value) == 0 &&
		    strcmp(clique->value, of->value) == 0) {
			continue;
		}
		f = add(run, part_at(PART_NODE, at, -1), "fabric_cliques",
			false, v);
		finding_say(f, "%s: its GPUs are in different cliques of the "
			    "NVLink fabric: GPU %d in clique %s, GPU %d in "
			    "clique %s%s", run->nodes[at].name, first,
			    of->value, g, clique->value,
			    strcmp(cluster->value, in->value) == 0 ? "" :
			    " of another cluster");
		return;
	}
}

/** Judges node @at; no GPU of any node has the number @gpus or a higher one. */
static void judge_node(const struct run *run, int at, int gpus,
		       struct verdict *v)
{
	/* values of each GPU; NULL: it has none */
	const char *unready[SPEC_MAX_GPUS] = { NULL };
	const char *health[SPEC_MAX_GPUS] = { NULL };
	/* NCCL's own words; GPUs with a fabric are those that have NVLS */
	const char *without_nvls[SPEC_MAX_GPUS] = { NULL };
	const struct fact_row *caps = fact_of(run, at, -1, "nvidia_caps");
	bool switched = fact_of(run, at, -1, "nvswitches");
	struct finding *f = NULL;

	for (int g = 0; g < gpus; g++) {
		const struct fact_row *state =
			fact_of(run, at, g, "fabric_state");
		const struct fact_row *sick =
			fact_of(run, at, g, "fabric_health");
		const struct fact_row *nvls = fact_of(run, at, g, "nvls_why");
		bool ready = !state || strcmp(state->value, "completed") == 0;

		unready[g] = ready ? NULL : state->value;
		health[g] = ready && sick ? sick->value : NULL;
		without_nvls[g] = state && nvls ? nvls->value : NULL;
		switched |= (state && ready) ||
			    fact_of(run, at, g, "fabric_cluster") ||
			    fact_of(run, at, g, "nvswitch");
	}
	if (switched) {
		f = add_gpus(run, at, "fabric_not_ready", true,
			     "the NVLink fabric is not ready", unready, v);
	}
	judge_services(run, at, f, v);
	/* NCCL may use multicast objects but cannot: it falls back from NVLS */
	f = f || !switched ? NULL :
		add_gpus(run, at, "nvls_missing", false,
			 "NCCL cannot use NVLS", without_nvls, v);
	if (f && caps && strcmp(caps->value, "no") == 0) {
		finding_more(f, "; /dev/nvidia-caps is missing here, as in some "
			     "containers");
		add_evidence(caps, f);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		const char *with[SPEC_MAX_GPUS];

		for (int g = 0; g < SPEC_MAX_GPUS; g++) {
			with[g] = has_fault(health[g], faults[i].word);
		}
		add_gpus(run, at, "fabric_degraded", faults[i].fail,
			 faults[i].says, with, v);
	}
	judge_cliques(run, at, gpus, v);
}

void fabric_findings(const struct run *run, struct verdict *v)
{
	static const char *const probes[] = { "info", "gpu", NODE_PROBE, NULL };
	int gpus = 0;

	if (str_index(probes, run->probe) < 0 &&
	    !spec_transport_is(run->transport, XPORT_GPU)) {
		return;
	}
	run_foreach_fact(run, f) {
		const int gpu = run_number_in(f->scope, "gpu");

		if (gpu >= gpus && gpu < SPEC_MAX_GPUS) {
			gpus = gpu + 1;
		}
	}
	for (int i = 0; i < run->n_nodes; i++) {
		judge_node(run, i, gpus, v);
	}
}

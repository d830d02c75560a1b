/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings about the NVLink fabric of a node, by NVML's facts. */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/spec/spec.h"
#include "report/judge/pairs.h"

struct fabric_gpu {
	const struct fact_row *state, *health;	/* NULL: not reported */
	const struct fact_row *nvls;	/* why NCCL does not use it; or NULL */
	const char *cluster, *clique;
};

struct fabric_node {
	struct fabric_gpu gpus[SPEC_MAX_GPUS];
	const struct fact_row *manager, *version, *nvlsm, *umad, *caps;
	const char *driver;	/* NULL: not reported */
	bool switched;		/* there are NVSwitches */
	int n_states;		/* GPUs that report a state */
};

static void take_of_gpu(const struct fact_row *f, struct fabric_node *n)
{
	int gpu = run_number_in(f->scope, "gpu");
	struct fabric_gpu *g;

	if (gpu < 0 || gpu >= SPEC_MAX_GPUS) {
		return;
	}
	g = &n->gpus[gpu];
	if (strcmp(f->fact, "fabric_state") == 0) {
		n->n_states += !g->state;
		g->state = f;
		n->switched |= strcmp(f->value, "completed") == 0;
	} else if (strcmp(f->fact, "fabric_health") == 0) {
		g->health = f;
	} else if (strcmp(f->fact, "fabric_cluster") == 0) {
		g->cluster = f->value;
		n->switched = true;
	} else if (strcmp(f->fact, "fabric_clique") == 0) {
		g->clique = f->value;
	} else if (strcmp(f->fact, "nvls_why") == 0) {
		g->nvls = f;
	} else if (strcmp(f->fact, "nvswitch") == 0) {
		n->switched = true;
	}
}

static void take_of_node(const struct fact_row *f, struct fabric_node *n)
{
	const struct {
		const char *fact;
		const struct fact_row **to;
	} places[] = {
		{ "fabric_manager", &n->manager },
		{ "fabric_manager_version", &n->version },
		{ "nvlsm", &n->nvlsm }, { "ib_umad", &n->umad },
		{ "nvidia_caps", &n->caps },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (strcmp(f->fact, places[i].fact) == 0) {
			*places[i].to = f;
		}
	}
	if (strcmp(f->fact, "driver_loaded") == 0) {
		n->driver = f->value;
	} else if (strcmp(f->fact, "nvswitches") == 0) {
		n->switched = true;
	}
}

static bool is_ready(const struct fabric_gpu *g)
{
	return !g->state || strcmp(g->state->value, "completed") == 0;
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
				const struct fabric_node *n, const char *code,
				bool fail, const char *says,
				const char *const of[SPEC_MAX_GPUS],
				struct verdict *v)
{
	const char *name = run->nodes[at].name, *first = NULL;
	struct finding *f = NULL;
	int some = 0;
	bool all;

	for (int g = 0; g < SPEC_MAX_GPUS; g++) {
		some += of[g] != NULL;
	}
	all = some > 1 && some == n->n_states;
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
		add_evidence(n->gpus[g].state, f);
		add_evidence(n->gpus[g].health, f);
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

/** Returns the field @word of NVML's health mask of @g, a list "A+B:VALUE", or
 *  its value; NULL if it is not true. */
static const char *has_fault(const struct fabric_gpu *g, const char *word)
{
	const char *at = is_ready(g) && g->health ? g->health->value : NULL;
	size_t n = strlen(word);

	for (; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strncmp(at, word, n) == 0 && strchr(":+", at[n])) {
			return at[n] == ':' ? at + n + 1 : word;
		}
	}
	return NULL;
}

/* ---- services ------------------------------------------------------------ */

/** Add the services that are wrong: as evidence to @because, a finding about
 *  the fabric, else each as a warning. */
static void judge_services(const struct run *run, int at,
			   const struct fabric_node *n, struct finding *because,
			   struct verdict *v)
{
	const struct {
		const struct fact_row *fact;
		bool wrong;
		const char *code, *says;
	} services[] = {
		{ n->manager, n->manager &&
			      strcmp(n->manager->value, "running") != 0,
		  "fabricmanager_down", "there are NVSwitches, but the fabric "
					"manager does not run" },
		{ n->version, n->version && n->driver &&
			      strcmp(n->version->value, n->driver) != 0,
		  "fabricmanager_version",
		  "the versions of the fabric manager and of the loaded driver "
		  "differ" },
		{ n->nvlsm, n->nvlsm && strcmp(n->nvlsm->value, "running") != 0,
		  "nvlsm_down", "the NVLink subnet manager (nvlsm) is "
				"installed, but does not run" },
		{ n->umad, n->umad && strcmp(n->umad->value, "yes") != 0,
		  "ib_umad_missing", "the kernel module ib_umad, which nvlsm "
				     "needs, is not loaded" },
	};

	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		struct finding *f = because;

		if (!services[i].wrong) {
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
		if (services[i].fact == n->version) {
			finding_more(f, ": %s and %s", n->version->value,
				     n->driver);
		}
		add_evidence(services[i].fact, f);
	}
}

/* ---- a node -------------------------------------------------------------- */

/** GPUs of one node in different cliques cannot reach each other by NVLink. */
static void judge_cliques(const struct run *run, int at,
			  const struct fabric_node *n, struct verdict *v)
{
	const struct fabric_gpu *first = NULL;
	struct finding *f;

	for (int g = 0; g < SPEC_MAX_GPUS; g++) {
		const struct fabric_gpu *x = &n->gpus[g];

		if (!x->cluster || !x->clique) {
			continue;
		}
		first = first ? first : x;
		if (strcmp(x->cluster, first->cluster) == 0 &&
		    strcmp(x->clique, first->clique) == 0) {
			continue;
		}
		f = add(run, part_at(PART_NODE, at, -1), "fabric_cliques",
			false, v);
		finding_say(f, "%s: its GPUs are in different cliques of the "
			    "NVLink fabric: GPU %d in clique %s, GPU %d in "
			    "clique %s%s", run->nodes[at].name,
			    (int)(first - n->gpus), first->clique, g, x->clique,
			    strcmp(x->cluster, first->cluster) == 0 ? "" :
			    " of another cluster");
		return;
	}
}

static void judge_node(const struct run *run, int at,
		       const struct fabric_node *n, struct verdict *v)
{
	const char *unready[SPEC_MAX_GPUS] = { NULL };
	/* NCCL's own words; GPUs with a fabric are those that have NVLS */
	const char *without_nvls[SPEC_MAX_GPUS] = { NULL };
	struct finding *f = NULL;

	for (int g = 0; g < SPEC_MAX_GPUS; g++) {
		const struct fabric_gpu *x = &n->gpus[g];

		unready[g] = is_ready(x) ? NULL : x->state->value;
		without_nvls[g] = x->state && x->nvls ? x->nvls->value : NULL;
	}
	if (n->switched) {
		f = add_gpus(run, at, n, "fabric_not_ready", true,
			     "the NVLink fabric is not ready", unready, v);
	}
	judge_services(run, at, n, f, v);
	/* NCCL may use multicast objects but cannot: it falls back from NVLS */
	f = f || !n->switched ? NULL :
		add_gpus(run, at, n, "nvls_missing", false,
			 "NCCL cannot use NVLS", without_nvls, v);
	if (f && n->caps && strcmp(n->caps->value, "no") == 0) {
		finding_more(f, "; /dev/nvidia-caps is missing here, as in some "
			     "containers");
		add_evidence(n->caps, f);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		const char *with[SPEC_MAX_GPUS];

		for (int g = 0; g < SPEC_MAX_GPUS; g++) {
			with[g] = has_fault(&n->gpus[g], faults[i].word);
		}
		add_gpus(run, at, n, "fabric_degraded", faults[i].fail,
			 faults[i].says, with, v);
	}
	judge_cliques(run, at, n, v);
}

void fabric_findings(const struct run *run, struct verdict *v)
{
	static const char *const probes[] = { "info", "gpu", NODE_PROBE, NULL };
	struct fabric_node *nodes;
	int at = -1;

	if (str_index(probes, run->probe) < 0 &&
	    !spec_transport_is(run->transport, XPORT_GPU)) {
		return;
	}
	nodes = calloc((size_t)run->n_nodes + 1, sizeof(*nodes));
	v->failed |= !nodes;
	run_foreach_fact(run, f) {
		at = nodes ? run_find_node(run, f->node, at) : -1;
		if (at >= 0 && strcmp(f->scope, "node") == 0) {
			take_of_node(f, &nodes[at]);
		} else if (at >= 0) {
			take_of_gpu(f, &nodes[at]);
		}
	}
	for (int i = 0; nodes && i < run->n_nodes; i++) {
		judge_node(run, i, &nodes[i], v);
	}
	free(nodes);
}

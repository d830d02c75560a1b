/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of node: faults that a single node shows by itself. */
#include "report/judge/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "report/judge/findings.h"
#include "report/judge/memlock_verdict.h"

/* ---- facts that are a fault by themselves -------------------------------- */

/** The part that a fact is about. */
enum whose { OF_GPU, OF_NODE };

static const struct rule {
	const char *fact;
	const char *value;	/* NULL: any but "no" and 0 */
	enum whose whose;
	const char *code;
	bool fail;
	const char *says;	/* with the value */
} rules[] = {
	{ .fact = "lost", .whose = OF_GPU, .code = "gpu_lost", .fail = true,
	  .says = "the driver cannot reach it: %s" },
	{ .fact = "recovery", .value = "reset", .whose = OF_GPU,
	  .code = "xid_154_reset", .fail = true,
	  .says = "the driver requires a %s before it is used again" },
	{ .fact = "recovery", .value = "reboot", .whose = OF_GPU,
	  .code = "xid_154_reboot", .fail = true,
	  .says = "the driver requires a %s before it is used again" },
	{ .fact = "recovery", .value = "drain", .whose = OF_GPU,
	  .code = "xid_154_drain", .fail = true,
	  .says = "the driver reports that it should get no new work (%s)" },
	{ .fact = "row_remap_failed", .value = "on", .whose = OF_GPU,
	  .code = "row_remap_failed", .fail = true,
	  .says = "a bad row of its memory could not be remapped" },
	{ .fact = "row_remap_pending", .value = "on", .whose = OF_GPU,
	  .code = "rows_remapped",
	  .says = "a bad row of its memory will be remapped at the next "
		  "reset" },
	{ .fact = "ecc_uncorrected", .whose = OF_GPU, .code = "ecc_errors",
	  .fail = true,
	  .says = "%s uncorrectable ECC errors since the driver was loaded" },
	{ .fact = "throttled", .whose = OF_GPU, .code = "throttled",
	  .says = "its clocks are held down: %s" },
	{ .fact = FINDING_GPU_BUSY, .whose = OF_GPU, .code = FINDING_GPU_BUSY,
	  .says = "held by %s" },
	{ .fact = FINDING_GPU_IN_USE, .whose = OF_GPU,
	  .code = FINDING_GPU_IN_USE, .says = "held by %s" },
	{ .fact = "nvml", .value = "driver_mismatch", .whose = OF_NODE,
	  .code = "driver_mismatch", .fail = true,
	  .says = "the loaded driver and its libraries have different "
		  "versions" },
};

/* The node is number 0 of the run, which has no other. */

static struct finding *add(struct verdict *v, struct part p, const char *code,
			   bool fail, const struct fact_row *f)
{
	struct finding *x = finding_add(v, p, code);

	x->fail = fail;
	x->cells = x->explained = 1;
	v->cells[fail ? CELL_FAIL : CELL_PASS]++;
	finding_add_evidence(x, "%s %s %s%s%s (%s)", f->scope, f->fact,
			     f->value, f->unit[0] ? " " : "", f->unit,
			     f->source);
	return x;
}

static void apply_rules(const struct run *run, const struct fact_row *f,
			struct verdict *v)
{
	int gpu = run_number_in(f->scope, "gpu");

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *r = &rules[i];
		bool of_gpu = r->whose == OF_GPU;
		const char *at = strstr(r->says, "%s");
		struct finding *x;
		char who[16] = "";

		if (!(of_gpu ? gpu >= 0 : strcmp(f->scope, "node") == 0) ||
		    strcmp(f->fact, r->fact) != 0 ||
		    (r->value ? strcmp(f->value, r->value) != 0 :
				strcmp(f->value, "no") == 0 ||
				strcmp(f->value, "0") == 0)) {
			continue;
		}
		x = add(v, part_at(of_gpu ? PART_GPU : PART_NODE, 0,
				   of_gpu ? gpu : -1), r->code, r->fail, f);
		if (of_gpu) {
			snprintf(who, sizeof(who), "GPU %d of ", gpu);
		}
		finding_say(x, "%s%.64s: %.*s%s%s", who, run->nodes[0].name,
			    at ? (int)(at - r->says) : (int)strlen(r->says),
			    r->says, at ? f->value : "", at ? at + 2 : "");
	}
}

/* ---- ports and interfaces ------------------------------------------------ */

static bool is_port_down(const struct run *run, const struct fact_row *f)
{
	return strcmp(f->fact, "port_state") == 0 &&
	       strcmp(f->value, "ACTIVE") != 0 &&
	       !strstr(run_fact_beside(run, f, "port_phys_state"),
		       "Disabled") &&
	       !run_fact_beside(run, f, "software")[0];
}

static void judge_port(const struct run *run, const struct fact_row *f,
		       int index, struct verdict *v)
{
	const char *phys = run_fact_beside(run, f, "port_phys_state");
	struct part p = part_at(PART_NIC, 0, index);
	struct finding *x;
	bool waits;

	p.name = run_find_name(run, f->scope);
	if (!is_port_down(run, f)) {
		v->cells[CELL_PASS]++;
		return;
	}
	/* only InfiniBand links may wait for a subnet manager */
	waits = strcmp(run_fact_beside(run, f, "link_layer"),
		       "Ethernet") != 0 &&
		(strcmp(f->value, "INIT") == 0 ||
		 strcmp(f->value, "ARMED") == 0);
	x = add(v, p, waits ? "sm_missing" : "port_down", true, f);
	finding_say(x, "%s of %s: port is %s%s%s%s", f->scope,
		    run->nodes[0].name, f->value, phys[0] ? " (" : "", phys,
		    phys[0] ? ")" : "");
}

/** An interface that is switched off is so on purpose. */
static void judge_interface(const struct run *run, const struct fact_row *f,
			    struct verdict *v)
{
	struct part p = part_at(PART_NIC, 0, -1);
	bool told = false;	/* by its port, which is down */

	p.name = run_find_name(run, f->scope);
	if (strcmp(f->value, "no_carrier") != 0) {
		v->cells[CELL_PASS]++;
		return;
	}
	run_foreach_fact(run, g) {
		told = told || (is_port_down(run, g) &&
				strcmp(run_fact_beside(run, g, "netdev"),
				       f->scope) == 0);
	}
	if (!told) {
		finding_say(add(v, p, "if_down", true, f),
			    "%s of %s: has an address but no carrier",
			    f->scope, run->nodes[0].name);
	}
}

/** More times in 24 h than this are a fault of the cable or its ends, however
 *  short each was. */
#define FLAPS_MOST 4

/** Judge the link of interface @f->scope, which was away and came back: for
 *  longer than NCCL waits, if the interface is of an HCA port, or often. */
static void judge_away(const struct run *run, const struct fact_row *f,
		       struct verdict *v)
{
	const struct fact_row *window = run_find_fact(run, f->node, "node",
						      "nccl_ib_window");
	const double flaps = strtod(run_fact_beside(run, f, "link_flaps"),
				    NULL);
	const double ago_h = strtod(run_fact_beside(run, f, "link_away_ago"),
				    NULL) / 3600;
	struct part p = part_at(PART_NIC, 0, -1);
	bool hca = false;

	p.name = run_find_name(run, f->scope);
	run_foreach_fact(run, g) {
		hca = hca || (strcmp(g->fact, "netdev") == 0 &&
			      strcmp(g->value, f->scope) == 0);
	}
	if (hca && window &&
	    strtod(f->value, NULL) > strtod(window->value, NULL)) {
		finding_say(add(v, p, "link_away", false, f),
			    "%s of %s: its link was away for %s s and came "
			    "back %.1f h ago; NCCL here gives up after %s s "
			    "(%s), so jobs that used it may have "
			    "failed", f->scope,
			    run->nodes[0].name, f->value, ago_h, window->value,
			    window->source);
	} else if (flaps > FLAPS_MOST) {
		finding_say(add(v, p, "link_flapped", false, f),
			    "%s of %s: its link went down %.0f times in 24 h, "
			    "for at most %s s", f->scope, run->nodes[0].name,
			    flaps, f->value);
	}
}

/* ---- limits -------------------------------------------------------------- */

/** Judges the limits of the node.  The limit of locked memory counts only if
 *  the node has an HCA. */
static void judge_limits(const struct run *run, struct verdict *v)
{
	static const char *const checks[] = {	/* of locked memory */
		CHECK_SOFT, CHECK_HARD, CHECK_CAP, CHECK_UNIT,
		CHECK_LIMITS_CONF, CHECK_PROPAGATION, NULL
	};
	bool hca = run_find_fact(run, NULL, NULL, "port_state");
	bool gpus = run_find_fact(run, NULL, NULL, "uuid");
	struct memlock_row *some = calloc(run->rows + 1, sizeof(*some));
	size_t n = 0;

	v->failed = v->failed || !some;
	for (size_t i = 0; some && i < run->rows; i++) {
		const struct memlock_row *row = &run->memlock[i];

		if (hca || (gpus && str_index(checks, row->check) < 0)) {
			some[n++] = *row;
		}
	}
	memlock_find(run, some, n, v);
	free(some);
}

/* ---- failed checks ------------------------------------------------------- */

static void cannot(const struct run *run, const char *code, const char *what,
		   const char *why, struct verdict *v)
{
	struct finding *x = finding_add(v, part_at(PART_NODE, 0, -1), code);

	if (strcmp(what, "GPUs") != 0 || !shown_say(run, 0, x)) {
		finding_say(x, "%s: %s were not checked: %s",
			    run->nodes[0].name, what, why);
	}
	v->cells[CELL_NOT_RUN]++;
	v->cut = true;
}

static void judge_looks(const struct run *run, const struct node_look *looks,
			size_t n, struct verdict *v)
{
	for (size_t i = 0; i < n; i++) {
		if (looks[i].ok) {
			v->cells[CELL_PASS]++;
		} else {
			cannot(run, looks[i].code, looks[i].what,
			       looks[i].detail, v);
		}
	}
	run_foreach_fact(run, f) {
		const struct fact_row *why = run_find_fact(
			run, f->node, f->scope, "gpu_note");

		if (strcmp(f->fact, "nvml") != 0) {
			continue;
		}
		if (strcmp(f->value, "missing") == 0) {
			cannot(run, "library_missing", "GPUs",
			       why ? why->value : "there is no NVML", v);
		} else if (strcmp(f->value, "failed") == 0) {
			cannot(run, "open_failed", "GPUs",
			       why ? why->value : "NVML failed", v);
		}
	}
}

int node_judge(const struct run *run, const struct node_look *looks, size_t n,
	       struct verdict *v)
{
	int port = -1;

	*v = (struct verdict){ 0 };
	if (run->n_nodes < 1) {
		return verdict_close(run, v);
	}
	judge_limits(run, v);
	run_foreach_fact(run, f) {
		apply_rules(run, f, v);
		if (strcmp(f->fact, "port_state") == 0) {
			judge_port(run, f, ++port, v);
		} else if (strcmp(f->fact, "link") == 0) {
			judge_interface(run, f, v);
		} else if (strcmp(f->fact, "link_away") == 0) {
			judge_away(run, f, v);
		} else if (strcmp(f->fact, "uuid") == 0) {
			v->cells[CELL_PASS]++;
		}
	}
	port_findings(run, v);
	bond_findings(run, v);
	info_findings(run, v);
	fabric_findings(run, v);
	held_findings(run, v);
	judge_looks(run, looks, n, v);
	return verdict_close(run, v);
}

/* ---- codes that a site chooses ------------------------------------------- */

bool node_may_fail(const char *code)
{
	static const char *const never[] = {
		FINDING_GPU_BUSY, FINDING_GPU_IN_USE, "library_missing",
		"open_failed", "worker_hung", "worker_crashed", "worker_noise",
		"slurmd_unseen", "unknown", RECORD_STARVED, "could_not_measure",
		"interrupted", "out_of_time", NULL
	};

	return str_index(never, code) < 0;
}

bool node_next_code(const char **codes, char code[48])
{
	size_t n;

	*codes += strspn(*codes, ", \t");
	n = strcspn(*codes, ", \t");
	snprintf(code, 48, "%.*s", (int)n, *codes);
	*codes += n;
	return n > 0;
}

bool node_has_one_of(const struct verdict *v, const char *codes)
{
	char code[48];

	while (node_next_code(&codes, code)) {
		verdict_foreach(v, f) {
			if (strcmp(f->code, code) == 0 &&
			    node_may_fail(code)) {
				return true;
			}
		}
	}
	return false;
}

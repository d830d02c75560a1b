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
	  .says = "the driver asks for a %s before it is used again" },
	{ .fact = "recovery", .value = "reboot", .whose = OF_GPU,
	  .code = "xid_154_reboot", .fail = true,
	  .says = "the driver asks for a %s before it is used again" },
	{ .fact = "recovery", .value = "drain", .whose = OF_GPU,
	  .code = "xid_154_drain", .fail = true,
	  .says = "the driver wants no new work on it (%s)" },
	{ .fact = "row_remap_failed", .value = "on", .whose = OF_GPU,
	  .code = "row_remap_failed", .fail = true,
	  .says = "a bad row of its memory could not be replaced" },
	{ .fact = "row_remap_pending", .value = "on", .whose = OF_GPU,
	  .code = "rows_remapped",
	  .says = "a bad row of its memory is replaced at the next reset" },
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
	  .says = "the loaded driver is not of the version of its libraries" },
};

struct node_case {
	const struct run *run;
	struct verdict *v;
	int node;
};

static const char *name_of(const struct node_case *c)
{
	return c->run->nodes[c->node].name;
}

static struct finding *add(struct node_case *c, struct part p, const char *code,
			   bool fail, const struct fact_row *f)
{
	struct finding *x = finding_add(c->v, p, code);

	x->fail = fail;
	x->cells = x->explained = 1;
	c->v->cells[fail ? CELL_FAIL : CELL_PASS]++;
	finding_add_evidence(x, "%s %s %s%s%s (%s)", f->scope, f->fact,
			     f->value, f->unit[0] ? " " : "", f->unit,
			     f->source);
	return x;
}

static void add_rule(struct node_case *c, const struct rule *r, int gpu,
		     const struct fact_row *f)
{
	struct part p = r->whose == OF_GPU ?
				part_at(PART_GPU, c->node, gpu) :
				part_at(PART_NODE, c->node, -1);
	struct finding *x = add(c, p, r->code, r->fail, f);
	const char *at = strstr(r->says, "%s");
	char who[96];

	if (r->whose == OF_GPU) {
		snprintf(who, sizeof(who), "GPU %d of %.64s", gpu, name_of(c));
	} else {
		snprintf(who, sizeof(who), "%.64s", name_of(c));
	}
	finding_say(x, "%s: %.*s%s%s", who,
		    at ? (int)(at - r->says) : (int)strlen(r->says), r->says,
		    at ? f->value : "", at ? at + 2 : "");
}

static void apply_rules(struct node_case *c, const struct fact_row *f)
{
	int gpu = run_number_in(f->scope, "gpu");

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *r = &rules[i];
		bool whose = r->whose == OF_GPU ?
				     gpu >= 0 : strcmp(f->scope, "node") == 0;

		if (whose && strcmp(f->fact, r->fact) == 0 &&
		    (r->value ? strcmp(f->value, r->value) == 0 :
				strcmp(f->value, "no") != 0 &&
				strcmp(f->value, "0") != 0)) {
			add_rule(c, r, gpu, f);
		}
	}
}

/* ---- ports and interfaces ------------------------------------------------ */

static bool is_port_down(const struct node_case *c, const struct fact_row *f)
{
	return strcmp(f->fact, "port_state") == 0 &&
	       strcmp(f->value, "ACTIVE") != 0 &&
	       !strstr(run_fact_beside(c->run, f, "port_phys_state"),
		       "Disabled") &&
	       !run_fact_beside(c->run, f, "software")[0];
}

static void judge_port(struct node_case *c, const struct fact_row *f,
		       int index)
{
	const char *phys = run_fact_beside(c->run, f, "port_phys_state");
	struct part p = part_at(PART_NIC, c->node, index);
	struct finding *x;
	bool waits;

	p.name = run_find_name(c->run, f->scope);
	if (!is_port_down(c, f)) {
		c->v->cells[CELL_PASS]++;
		return;
	}
	/* only InfiniBand links may wait for a subnet manager */
	waits = strcmp(run_fact_beside(c->run, f, "link_layer"),
		       "Ethernet") != 0 &&
		(strcmp(f->value, "INIT") == 0 ||
		 strcmp(f->value, "ARMED") == 0);
	x = add(c, p, waits ? "sm_missing" : "port_down", true, f);
	finding_say(x, "%s of %s: port is %s%s%s%s", f->scope, name_of(c),
		    f->value, phys[0] ? " (" : "", phys, phys[0] ? ")" : "");
}

/** Returns true if @name is the interface of a port that is down. */
static bool is_of_port_down(const struct node_case *c, const char *name)
{
	run_foreach_fact(c->run, f) {
		if (is_port_down(c, f) &&
		    strcmp(run_fact_beside(c->run, f, "netdev"), name) == 0) {
			return true;
		}
	}
	return false;
}

/** One that is switched off is so on purpose. */
static void judge_interface(struct node_case *c, const struct fact_row *f)
{
	struct part p = part_at(PART_NIC, c->node, -1);

	p.name = run_find_name(c->run, f->scope);
	if (strcmp(f->value, "no_carrier") != 0) {
		c->v->cells[CELL_PASS]++;
	} else if (!is_of_port_down(c, f->scope)) {
		finding_say(add(c, p, "if_down", true, f),
			    "%s of %s: has an address and no carrier",
			    f->scope, name_of(c));
	}
}

static void judge_facts(struct node_case *c)
{
	int port = -1;

	run_foreach_fact(c->run, f) {
		apply_rules(c, f);
		if (strcmp(f->fact, "port_state") == 0) {
			judge_port(c, f, ++port);
		} else if (strcmp(f->fact, "link") == 0) {
			judge_interface(c, f);
		} else if (strcmp(f->fact, "uuid") == 0) {
			c->v->cells[CELL_PASS]++;
		}
	}
}

/* ---- limits -------------------------------------------------------------- */

static bool is_of_memlock(const struct memlock_row *r)
{
	static const char *const checks[] = {
		CHECK_SOFT, CHECK_HARD, CHECK_CAP, CHECK_UNIT,
		CHECK_LIMITS_CONF, CHECK_PROPAGATION, NULL
	};

	return str_index(checks, r->check) >= 0;
}

/** Judges the limits of the node.  The limit of locked memory counts only if
 *  the node has an HCA. */
static void judge_limits(const struct run *run, const struct memlock_rows *m,
			 struct verdict *v)
{
	bool hca = run_find_fact(run, NULL, NULL, "port_state");
	bool gpus = run_find_fact(run, NULL, NULL, "uuid");
	struct memlock_rows some = {
		.rows = calloc(m->n + 1, sizeof(*m->rows)),
	};

	v->failed = v->failed || !some.rows;
	for (size_t i = 0; some.rows && i < m->n; i++) {
		if (hca || (gpus && !is_of_memlock(&m->rows[i]))) {
			some.rows[some.n++] = m->rows[i];
		}
	}
	memlock_find(run, &some, v);
	free(some.rows);
}

/* ---- failed checks ------------------------------------------------------- */

static void cannot(struct node_case *c, const char *code, const char *what,
		   const char *why)
{
	struct finding *x =
		finding_add(c->v, part_at(PART_NODE, c->node, -1), code);

	if (strcmp(what, "GPUs") != 0 || !shown_say(c->run, c->node, x)) {
		finding_say(x, "%s: %s were not looked at: %s", name_of(c),
			    what, why);
	}
	c->v->cells[CELL_NOT_RUN]++;
	c->v->cut = true;
}

static void judge_looks(struct node_case *c, const struct node_look *looks,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (looks[i].ok) {
			c->v->cells[CELL_PASS]++;
		} else {
			cannot(c, looks[i].code, looks[i].what,
			       looks[i].detail);
		}
	}
	run_foreach_fact(c->run, f) {
		const struct fact_row *why = run_find_fact(
			c->run, f->node, f->scope, "gpu_note");

		if (strcmp(f->fact, "nvml") != 0) {
			continue;
		}
		if (strcmp(f->value, "missing") == 0) {
			cannot(c, "library_missing", "GPUs",
			       why ? why->value : "there is no NVML");
		} else if (strcmp(f->value, "failed") == 0) {
			cannot(c, "open_failed", "GPUs",
			       why ? why->value : "NVML failed");
		}
	}
}

int node_judge(const struct run *run, const struct memlock_rows *m,
	       const struct node_look *looks, size_t n, struct verdict *v)
{
	struct node_case c = { .run = run, .v = v };

	*v = (struct verdict){ 0 };
	if (run->n_nodes < 1) {
		return verdict_close(run, v);
	}
	judge_limits(run, m, v);
	judge_facts(&c);
	port_findings(run, v);
	info_findings(run, v);
	held_findings(run, v);
	judge_looks(&c, looks, n);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of every probe, and the verdict that they lead to. */
#include "report/judge/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/limit.h"
#include "lib/base/order.h"
#include "lib/base/str.h"
#include "report/judge/diagnose.h"
#include "report/judge/findings.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"
#include "report/symptoms/symptom.h"

/* ---- says switch --------------------------------------------------------- */

/* The switch port that a finding is about, if it is known. */

/** Returns the fact that names the switch of one of @nics; NULL: none. */
static const struct fact_row *find_switch(const struct run *run, int node,
					  const char *nics)
{
	for (size_t i = 0; nics[0] && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "switch") == 0 &&
		    strcmp(f->node, run->nodes[node].name) == 0 &&
		    str_names_meet(nics, f->scope)) {
			return f;
		}
	}
	return NULL;
}

static void say_nic(const struct run *run, struct finding *f)
{
	const char *nic = part_nic_name(run, &f->part), *port;
	const struct fact_row *to = f->part.node < 0 ? NULL :
				    find_switch(run, f->part.node, nic);
	char text[400];

	if (!to) {
		return;
	}
	port = run_fact_beside(run, to, "switch_port");
	snprintf(text, sizeof(text), "; connected to switch %.100s%s%.100s",
		 to->value, port[0] ? ", port " : "", port);
	finding_more(f, "%s", text);
	finding_add_evidence(f, "%s of %s%s (%s)", nic,
			     run->nodes[f->part.node].name, text + 1,
			     to->source);
}

/** Names the switch if all known ports of the rail are on one. */
static void say_rail(const struct run *run, struct finding *f)
{
	const struct fact_row *one = NULL;
	char text[200];
	int n = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct part nic = part_at(PART_NIC, i, f->part.index);
		const struct fact_row *to =
			find_switch(run, i, part_nic_name(run, &nic));

		if (!to) {
			continue;
		}
		if (one && strcmp(one->value, to->value) != 0) {
			return;
		}
		one = to;
		n++;
	}
	if (n > 1) {
		snprintf(text, sizeof(text), "; connected to switch %.100s",
			 one->value);
		finding_more(f, "%s", text);
		finding_add_evidence(f, "%d of its ports%s (%s)", n, text + 1,
				     one->source);
	}
}

/* ---- act ----------------------------------------------------------------- */

/* Commands to type next: the remedy of data/symptoms.ini with the names of this
 * run filled in, and the command that tests again. */

/** The first node of a leaf switch. */
static int leaf_node(const struct run *run, int leaf)
{
	int node = 0;

	while (run->nodes[node].leaf != leaf + 1) {
		node++;
	}
	return node;
}

/** The node of the part of @f, or for a part without one that of the example,
 *  or any; -1: none. */
static int act_node(const struct run *run, const struct finding *f)
{
	int node = f->part.node;

	if (part_leaf(&f->part) >= 0) {
		node = leaf_node(run, part_leaf(&f->part));
	} else if (node < 0 && f->n_members > 0) {
		node = f->members[0];
	} else if (node < 0 && f->src >= 0) {
		node = run->ranks[f->src].node;
	}
	return node < 0 && run->n_nodes > 0 ? 0 : node;
}

/** The node at the other end: of the part, of the example, or any other. */
static int act_peer(const struct run *run, const struct finding *f)
{
	int peer = f->part.peer_node;

	if (part_peer_leaf(&f->part) >= 0) {
		peer = leaf_node(run, part_peer_leaf(&f->part));
	} else if (peer < 0 && f->src >= 0) {
		peer = run->ranks[f->src].node;
		peer = peer != act_node(run, f) ? peer :
						  run->ranks[f->dst].node;
	}
	if (peer < 0 && run->n_nodes > 1) {
		peer = act_node(run, f) == 0;
	}
	return peer;
}

/** Names that data/symptoms.ini has in braces; those from the first path on are
 *  quoted for the shell. */
static const char *const act_names[] = {
	"node", "peer", "nic", "gpu", "rail", "pid", "logs", "run",
	"reference", NULL
};
#define ACT_PATHS 6

/** Append the value of @name; @user has one for each of act_names, NULL: not
 *  known here. */
static bool add_name(void *user, const char *name, size_t len, struct str *out)
{
	const char *const *values = user;
	const size_t from = out->len;
	size_t i = 0;

	while (act_names[i] && (strlen(act_names[i]) != len ||
				memcmp(act_names[i], name, len) != 0)) {
		i++;
	}
	if (!act_names[i] || !values[i]) {
		return false;
	}
	if (i >= ACT_PATHS) {
		str_add_quoted(out, values[i]);
		return true;
	}
	str_add(out, values[i]);
	str_plain_from(out, from);	/* of a stranger */
	return true;
}

/** Return true if @command of a remedy is of use for @run: not one of Slurm if
 *  a real run had no Slurm, nor a setting whose effect was tested. */
static bool is_of_use(const struct run *run, const char *command)
{
	static const char *const slurm[] = {
		"scontrol ", "srun ", "sinfo ", "squeue ", "sacct ", NULL
	};
	const char *launcher = run_file(run->json).launcher;

	for (int i = 0; slurm[i] && !run_is_model(run); i++) {
		if (str_starts(command, slurm[i]) &&
		    spec_launcher_is(launcher, LAUNCHER_PRETENDS |
					       LAUNCHER_HOSTS)) {
			return false;
		}
	}
	return !str_starts(command, "export ") ||
	       !diagnose_settles(run, command + strlen("export "));
}

/**
 * Appends @command of a remedy as it is typed for @run: for pretend nodes
 * without "ssh @node ", and the quotes around what follows it; of a probe of
 * gpucheck with the nodes of the run.  The nodes of a simulated run exist
 * nowhere: its commands are unchanged.
 */
static void add_command(const struct run *run, const char *node,
			const char *command, struct str *out)
{
	struct str far = STR_INIT;
	const char *line;
	size_t len;
	bool quoted;

	str_add(&far, "ssh ");
	str_add(&far, node);
	str_plain_from(&far, strlen("ssh "));
	str_addch(&far, ' ');
	str_add(out, "\n" TELL_COMMAND);
	if (run_is_model(run)) {
		str_add(out, command);
	} else if (tell_is_local(run) &&
		   str_starts(command, str_text(&far))) {
		line = command + far.len;
		len = strlen(line);
		quoted = len > 1 && line[0] == '\'' && line[len - 1] == '\'';
		str_addmem(out, line + quoted, len - 2 * quoted);
	} else if (!tell_there(run, command, out)) {
		str_add(out, command);
	}
	str_release(&far);
}

/** Append the remedy @text as it applies to @run; text whose commands are all
 *  of no use is left out with them. */
static void add_remedy(const struct run *run, const char *node,
		       const char *text, struct str *out)
{
	const size_t indent = strlen(TELL_COMMAND);
	struct str line = STR_INIT, part = STR_INIT;
	bool useful = true;	/* the text, or one of its commands */

	for (bool more = true; more; text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		str_reset(&line);
		str_addmem(&line, text, len);
		text += len;
		more = *text == '\n';
		if (!str_starts(str_text(&line), TELL_COMMAND)) {
			str_add(out, useful ? str_text(&part) : "");
			str_reset(&part);
			str_addf(&part, "\n%s", str_text(&line));
			useful = !str_starts(more ? text + 1 : "",
					     TELL_COMMAND);
		} else if (is_of_use(run, str_text(&line) + indent)) {
			useful = true;
			add_command(run, node, str_text(&line) + indent,
				    &part);
		}
	}
	str_add(out, useful ? str_text(&part) : "");
	str_release(&line);
	str_release(&part);
}

static void add_again(const struct run *run, const struct finding *f,
		      const char *more, struct str *out)
{
	char option[64] = "";	/* option that @more sets again */
	const char *const without[] = { option, NULL };
	const bool pair = f->src >= 0 && !run->mesh;

	if (!pair && run_file(run->json).imported) {
		return;		/* it was not gpucheck that measured it */
	}
	sscanf(more, "--%63[^= ]", option);
	str_addf(out, "\n%s%s:\n" TELL_COMMAND,
		 pair ? "same pair again" : "retest", tell_legend(run));
	if (!pair && !*more && tell_retest(run, out)) {
		tell_passed_on(run, out);
	} else if (!pair) {
		tell_again(run, without, out);
		str_addf(out, "%s%s", *more ? " " : "", more);
		tell_passed_on(run, out);
	} else {
		tell_command(run, run->transport, f->src, f->dst, out);
	}
}

/** Fill in f->act. */
static void says_act(const struct run *run, struct finding *f)
{
	const struct part *p = &f->part;
	const char *const where[] = {
		f->scatter ? "scatter" : part_kind_name(p->kind),
		run->transport, run->probe,
		run_file(run->json).launcher, NULL
	};
	const struct symptom *x = symptom_for(symptoms_builtin(), f->code,
					      where);
	const int node = act_node(run, f), peer = act_peer(run, f);
	const char *nic = p->kind == PART_NIC ? part_nic_name(run, p) : "";
	char index[16], pid[16], logs[sizeof(run->dir) + sizeof(RUN_LOGS)];
	const char *values[] = {
		node >= 0 ? run->nodes[node].name : NULL,
		peer >= 0 ? run->nodes[peer].name : NULL,
		nic[0] ? nic : NULL,
		p->index >= 0 ? index : NULL, p->index >= 0 ? index : NULL,
		p->kind == PART_PROCESS ? pid : NULL,
		run->dir[0] ? logs : NULL, run->dir[0] ? run->dir : NULL,
		json_string_value(run_option(run, "reference")),
	};
	struct str text = STR_INIT, test = STR_INIT, out = STR_INIT;
	bool told = p->kind == PART_CONFIG;

	snprintf(index, sizeof(index), "%d", p->index);
	snprintf(pid, sizeof(pid), "%d", p->peer_index);
	snprintf(logs, sizeof(logs), "%s/" RUN_LOGS, run->dir);
	if (run->drill || run_is_model(run)) {
		str_addf(&out, "\n(%s) on real nodes:",
			 run->drill ? "drill" : "simulated");
	}
	if (x) {
		symptom_remedy(x, add_name, values, &text);
	}
	add_remedy(run, values[0] ? values[0] : "", str_text(&text), &out);
	/* what tells it from the first other part for which there is a test */
	for (size_t i = 0; i < f->n_or && !told; i++) {
		told = tell_apart(run, p, &f->or_parts[i], f->src, f->dst,
				  &test);
	}
	str_addf(&out, "%s%s", test.len > 0 ? "\n" : "", str_text(&test));
	if (run->dir[0] && diagnose_can(run, f)) {
		str_add(&out, "\nFind the layer that loses the rate, and "
			"settings that help:\n" TELL_COMMAND
			"gpucheck p2p --resume ");
		str_add_quoted(&out, run->dir);
		str_add(&out, " --diagnose");
	}
	/* of a limit --resume will do; a job that was looked at is not ours */
	if (!limit_is(f->code) && strcmp(run->probe, "hang") != 0) {
		add_again(run, f, x ? str_text(&x->again) : "", &out);
	}
	finding_set_act(f, str_text(&out) + (out.len > 0));
	str_release(&text);
	str_release(&test);
	str_release(&out);
}

/* ---- absent findings ----------------------------------------------------- */

/* Nodes and ranks that the run should have had: if no node has an agent, the
 * launcher or the path to the coordinator failed, not the nodes; and a launcher
 * may start fewer nodes than requested. */

/** Fewer say nothing about what they share. */
#define MIN_NODES 2

/** For every probe, called last: if @v names every node because it has no
 *  agent, replace these findings by one that names no node. */
static void absent_findings(const struct run *run, struct verdict *v)
{
	uint8_t *absent = calloc((size_t)run->n_nodes + 1, 1);
	char detail[620] = "";
	struct finding *f;
	int n = 0;

	v->failed = v->failed || !absent;
	for (size_t i = 0; absent && i < v->n; i++) {
		f = &v->findings[i];
		if (strcmp(f->code, "agent_missing") != 0) {
			continue;
		}
		if (f->part.node >= 0) {
			absent[f->part.node] = 1;
		}
		for (size_t k = 0; k < f->n_members; k++) {
			absent[f->members[k]] = 1;
		}
	}
	for (int i = 0; absent && i < run->n_nodes; i++) {
		n += absent[i];
	}
	free(absent);
	if (n < MIN_NODES || n < run->n_nodes) {
		return;
	}
	for (size_t i = v->n; i-- > 0;) {
		f = &v->findings[i];
		if (strcmp(f->code, "agent_missing") == 0) {
			STR_COPY(detail, f->n_evidence > 0 ? f->evidence[0] :
				 "");
			finding_remove(v, i);
		}
	}
	f = finding_add(v, part_of_kind(PART_INTER_NODE), "agent_missing");
	f->fail = true;
	for (int i = 0; i < CELL_CLASSES; i++) {
		f->cells += v->cells[i];
	}
	f->explained = f->cells;
	finding_say(f, "None of the %d nodes reported: check settings, "
		    "firewall or launcher; no node is suspected", run->n_nodes);
	if (detail[0]) {
		finding_add_evidence(f, "%s", detail);
	}
}

/* For every probe: adds a finding if the launcher started fewer nodes or ranks
 * than --nodes and --gpus-per-node ask for; the run is then partial. */
static void few_findings(const struct run *run, struct verdict *v)
{
	/* -G does not apply to ranks that are ports or addresses */
	int64_t gpus = run->ports || run->mesh ? 0 :
		json_integer_value(run_option(run, "gpus-per-node"));
	int64_t nodes = json_integer_value(run_option(run, "nodes"));
	int64_t ranks = 0;
	bool few = run->n_nodes < nodes;
	char come[48] = "", wanted[48] = "";
	struct finding *f;
	const json_t *list = run_file(run->json).nodes;

	if (run->n_nodes == 0 || run_file(run->json).retest.given) {
		return;		/* not begun, or of a part of another run */
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const int has = run_entry(list, i).gpus;

		few |= has > 0 && has < gpus;
		ranks += has;
	}
	if (!few) {
		return;
	}
	nodes = nodes > 0 ? nodes : run->n_nodes;
	if (gpus > 0 && ranks > 0) {
		snprintf(come, sizeof(come), " with %lld rank%s",
			 (long long)ranks, ranks == 1 ? "" : "s");
		snprintf(wanted, sizeof(wanted), " with %lld",
			 (long long)(nodes * gpus));
	}
	f = finding_add(v, part_of_kind(PART_CONFIG), "too_few");
	finding_say(f, "Only %d node%s%s started, %lld%s were requested: those "
		    "that did not start were not tested", run->n_nodes,
		    run->n_nodes == 1 ? "" : "s", come, (long long)nodes,
		    wanted);
	v->cut = true;
}

/* ---- limit findings ------------------------------------------------------ */

/*
 * Findings about resources that gpucheck's own processes lacked.  The cause is
 * how gpucheck was started, not a node or GPU: tests that could not run are
 * "not run" and can be repeated.
 */

static void add_limit(const struct run *run, const char *code, size_t left,
		      struct verdict *v)
{
	struct finding *f = finding_add(v, part_of_kind(PART_LIMIT), code);
	const char *why = "";
	struct str names = STR_INIT;
	int named = 0;

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		f->cells += v->cells[c];
	}
	f->explained = left;
	for (int i = 0; i < run->n_nodes; i++) {
		const struct event_row *e = run_find_event(run, code,
						       run->nodes[i].name);

		if (e) {
			finding_add_member(f, i);
			finding_list_name(&names, &named, run->nodes[i].name);
			if (why[0]) {	/* the first is in the sentence */
				finding_add_evidence(f, "%s: %s", e->node,
						     e->detail);
			}
			why = why[0] ? why : e->detail;
		}
	}
	v->cut |= left == 0;	/* without rows that say so */
	if (f->n_members == 1) {
		f->part.node = f->members[0];
	}
	finding_say(f, "gpucheck's own processes%s%s ran into a limit%s%s",
		    named > 0 ? " on " : "", str_text(&names),
		    why[0] ? ": " : "", why);
	str_release(&names);
	if (f->explained > 0) {
		finding_more(f, "; %zu of %zu tests were not run",
			     f->explained, f->cells);
	}
}

/* Limits that our own processes ran into, and what they kept from being
 * measured. */
static void limit_findings(const struct run *run, struct verdict *v)
{
	static const char *const codes[] = {
		LIMIT_FILES, LIMIT_TASKS, LIMIT_MEMORY, LIMIT_DISK,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		size_t left = 0;
		bool said = false;

		run_foreach_cell(run, at) {
			left += run->cells[at].class == CELL_NOT_RUN &&
				strcmp(run_cell_code(run, at), codes[i]) == 0;
		}
		/* where there are no cells of pairs, which may have been
		 * tested later after all */
		for (int k = 0; k < run->n_nodes &&
				(run->n_ranks == 0 || run->mesh); k++) {
			said |= run_find_event(run, codes[i],
					   run->nodes[k].name) != NULL;
		}
		if (left > 0 || said) {
			add_limit(run, codes[i], left, v);
		}
	}
}

/* ---- verdict ------------------------------------------------------------- */

const char *verdict_status_name(enum verdict_status s)
{
	static const char *const names[] = {
		[VERDICT_PASS]	  = "pass",
		[VERDICT_WARN]	  = "warn",
		[VERDICT_FAIL]	  = "fail",
		[VERDICT_PARTIAL] = "partial",
		[VERDICT_RUNNING] = "running",
		[VERDICT_PENDING] = "pending",
		[VERDICT_UNKNOWN] = "unknown",
	};

	return names[s];
}

/* ---- status and exit code ------------------------------------------------ */

static const struct order_key by_weight[] = {
	ORDER_DOWN(struct finding, fail),
	ORDER_DOWN(struct finding, explained),
	ORDER_UP(struct finding, part.kind),
	ORDER_UP(struct finding, part.node),
	ORDER_UP(struct finding, part.index),
	ORDER_UP(struct finding, part.peer_node),
	ORDER_UP(struct finding, part.peer_index),
	ORDER_UP(struct finding, part.direction),
	ORDER_UP(struct finding, code),
	ORDER_END
};

static enum verdict_status status_of(const struct run *run,
				     const struct verdict *v)
{
	verdict_foreach(v, f) {
		if (f->fail) {
			return VERDICT_FAIL;
		}
	}
	if (verdict_measured(v) == 0 ||
	    (v->unsaved && !verdict_is_cut(run, v))) {
		return VERDICT_UNKNOWN;
	}
	return verdict_is_cut(run, v) || v->open ? VERDICT_PARTIAL :
	       v->n > 0		      ? VERDICT_WARN : VERDICT_PASS;
}

void verdict_set_unsaved(const struct run *run, struct verdict *v,
			 const char *file)
{
	v->unsaved = file;
	v->status = status_of(run, v);
}

int verdict_whole(struct verdict *v)
{
	verdict_foreach(v, f) {
		v->failed = v->failed || f->failed;
	}
	if (v->failed) {
		verdict_release(v);
		return -1;
	}
	return 0;
}

int verdict_close(const struct run *run, struct verdict *v)
{
	limit_findings(run, v);
	bare_findings(run, v);
	absent_findings(run, v);
	few_findings(run, v);
	verdict_foreach(v, f) {
		enum part_kind kind = f->part.kind;

		/* the switch and port, from facts; they are not blamed */
		if (kind == PART_NIC || (kind == PART_GPU && run->ports)) {
			say_nic(run, f);
		} else if (kind == PART_RAIL) {
			say_rail(run, f);
		}
		if (!f->act[0]) {
			says_act(run, f);
		}
	}
	drain_weigh(run, v);
	order_sort(v->findings, v->n, sizeof(*v->findings), by_weight);
	retest_weigh(run, v);
	v->status = status_of(run, v);
	v->exclude = calloc((size_t)run->n_nodes + 1, sizeof(*v->exclude));
	v->failed = v->failed || !v->exclude;
	for (int i = 0; v->exclude && i < run->n_nodes; i++) {
		size_t k = 0;

		/* excluding a node helps if the fault is in a single node, and
		 * is not about how the node was started */
		while (k < v->n &&
		       !(v->findings[k].fail &&
			 !gone_code(v->findings[k].code)->set_up &&
			 part_is(&v->findings[k].part,
				 KINDS_IN_NODE | KIND(LIMIT)) &&
			 finding_sits_in(&v->findings[k], i))) {
			k++;
		}
		if (k < v->n) {
			STR_COPY(v->exclude[v->n_exclude++],
				 run->nodes[i].name);
		}
	}
	v->failed = next_good(run, v) < 0 || v->failed;
	return verdict_whole(v);
}

void verdict_release(struct verdict *v)
{
	if (!v) {
		return;
	}
	verdict_foreach(v, f) {
		finding_release(f);
	}
	finding_release(&v->lost);
	free(v->findings);
	free(v->exclude);
	free(v->good);
	free(v->accepted.says);
	free(v->tests);
	*v = (struct verdict){ 0 };
}

int verdict_exit(const struct run *run, const struct verdict *v)
{
	if (verdict_measured(v) == 0) {
		return CODE_UNABLE;
	}
	if (verdict_is_cut(run, v)) {
		return CODE_PARTIAL;
	}
	if (v->unsaved) {
		return CODE_UNABLE;
	}
	if (v->status == VERDICT_FAIL || v->still ||
	    (v->status == VERDICT_WARN && run->strict)) {
		return CODE_FAULT;
	}
	return v->open ? CODE_PARTIAL : CODE_HEALTHY;
}

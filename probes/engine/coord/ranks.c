/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks as the run goes on, and what the files say of them. */
#include "probes/engine/coord/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "probes/engine/coord/work.h"
#include "probes/sim/model.h"

/* Maximum facts kept per worker; a worker reports fewer when it is ready. */
#define FACTS_MAX 256

bool ranks_pretend(const struct ranks *r)
{
	const struct coord_agent *a = agents_next(r->c->agents, NULL);

	return r->layout.n_nodes > 1 && a != NULL && a->pretend;
}

bool ranks_share_machine(const struct ranks *r)
{
	bool shared = r->layout.n_nodes < r->layout.n_ranks;
	json_t *seen = json_object();

	for (int i = 0; i < r->layout.n_ranks && !shared; i++) {
		const struct coord_agent *a = r->all[i].agent;

		if (a != NULL && a->boot_id[0] != '\0') {
			shared = json_object_get(seen, a->boot_id) != NULL;
			json_object_set_new(seen, a->boot_id, json_true());
		}
	}
	json_decref(seen);
	return shared;
}

const char *ranks_part(const struct ranks *r, int rank)
{
	const struct rank *k = &r->all[rank];
	const json_t *gpus;

	if (k->state == RANK_MISSING || k->agent == NULL) {
		return "";
	}
	if (k->part[0] != '\0' || !xport_is(r->ops, XPORT_GPU)) {
		return k->part;
	}
	gpus = inventory_seen(k->agent->inventory).gpus;
	return inventory_part(json_array_get(gpus, (size_t)k->slot)).uuid;
}

#define PLANNED_PORTS 96

/* ---- workers ------------------------------------------------------------ */

/* Write the ports that NCCL is given for a pair, "mlx5_0:1,mlx5_3:1"; "" = all
 * that it takes: pretend nodes have none, and --pxn uses those of other
 * GPUs. */
static void planned_ports(const struct ranks *r, int rank, bool pxn,
			  char buf[PLANNED_PORTS])
{
	const struct layout *l = &r->layout;
	const struct cluster_rank *k = &l->ranks[rank];
	char name[LAYOUT_NIC];
	size_t len = 0;

	buf[0] = '\0';
	if (!xport_is(r->ops, XPORT_SETTINGS) || pxn || l->nic_names == NULL ||
	    r->c->probe->kind != PROBE_PAIRS || ranks_pretend(r) ||
	    r->c->spec.nic_choice != NIC_CHOICE_PLAN) {
		return;
	}
	STR_COPY(name, l->nic_names[layout_nic_at(l, k->node,
						  l->own[rank].planned)]);
	for (char *at = name, *one; (one = strsep(&at, "+")) != NULL;) {
		if (one[0] != '\0' && len < PLANNED_PORTS) {
			len += (size_t)snprintf(
				buf + len, PLANNED_PORTS - len, "%s%s%s",
				len > 0 ? "," : "", one,
				strchr(one, ':') == NULL ? ":1" : "");
		}
	}
}

static json_t *workers_of(struct ranks *r, const struct coord_agent *a,
			bool pxn, const char **node)
{
	json_t *workers = json_array();
	char ports[PLANNED_PORTS];

	/* those of a model are none */
	for (int i = 0; !ranks_model(r) && i < r->layout.n_ranks; i++) {
		if (r->all[i].agent != a || r->all[i].state > RANK_READY) {
			continue;
		}
		planned_ports(r, i, pxn, ports);
		json_array_append_new(workers,
				      json_pack("{s:i,s:i,s:s}", "rank", i,
						"local_rank", r->all[i].slot,
						"part", r->c->probe->ports ?
							r->all[i].part :
							ports));
		*node = r->layout.nodes[r->layout.ranks[i].node].name;
	}
	return workers;
}

/* Those that work, and of a model all, are renewed from @from to @to. */
static void renew(struct ranks *r, enum rank_state from, enum rank_state to)
{
	for (int i = 0; i < r->layout.n_ranks; i++) {
		if (r->all[i].state == from) {
			r->all[i].state = to;
		}
	}
}

void ranks_start(struct ranks *r, const struct pass *p, json_t *env,
		 const struct order_how *how)
{
	struct coord *c = r->c;
	const json_t *run = c->log->run;
	const char *drill = run_file(run).drill_text;
	struct coord_agent *a = NULL;
	struct spec spec = c->spec;
	enum drill_layer layer;
	char buf[IP_TEXT];
	const char *reached = agents_reached(c->agents, buf);
	json_t *model = NULL;

	renew(r, RANK_READY, RANK_OPENING);
	spec.pxn = p->pxn;
	spec.production_settings = spec.production_settings || p->as_jobs;
	spec.memory = p->memory;
	/* of all contrasts, workers only need to know this one */
	spec.contrast = p->failover ? CONTRAST_FAILOVER : CONTRAST_NONE;
	layer = drill_layer_of(r->ops->name, c->probe->ports, &spec);
	if (ranks_model(r)) {
		model = model_json(run_file(run).nodes, drill, layer,
				   (uint64_t)spec.seed, p);
	}
	while ((a = agents_next(c->agents, a)) != NULL) {
		const char *node = a->node;
		json_t *workers = workers_of(r, a, p->pxn, &node), *msg;

		msg = message_new(MSG_START,
				  "{s:s,s:s,s:b,s:I,s:o,s:o,s:O?,s:o?,s:O?,s:s?}",
				  "transport", r->ops->name, "node", node,
				  "pretend", ranks_pretend(r), "open_ns",
				  (json_int_t)r->ops->open_timeout_ns,
				  "options", spec_json(&spec), "workers",
				  workers,
				  "env", env, "how",
				  how != NULL ? schema_json(order_how_fields,
							    how) : NULL,
				  "model", model, "reached",
				  a->beside ? reached : NULL);
		agents_send(a, msg);
	}
	json_decref(model);
	if (ranks_model(r)) { /* nobody will say so */
		renew(r, RANK_OPENING, RANK_READY);
	}
}

/* Sends r->entry to the agent of @rank, and empties it. */
static void send_entry(struct ranks *r, int64_t rank, enum message_type type)
{
	struct coord_agent *a = r->all[rank].agent;

	if (r->entry.failed) {
		agents_send(a, NULL);
	} else if (a != NULL) {
		wire_send_entry(&a->wire, type, r->entry.data, r->entry.len);
	}
	str_reset(&r->entry);
}

void ranks_order(struct ranks *r, const struct order *o)
{
	order_add(o, &r->entry);
	send_entry(r, o->rank, MSG_TASK);
}

void ranks_tell(struct ranks *r, enum message_type type,
		const struct order_word *o)
{
	order_word_add(o, &r->entry);
	send_entry(r, o->rank, type);
}

void ranks_word(struct ranks *r, int rank, enum message_type type, int64_t id)
{
	agents_send(r->all[rank].agent,
		    id < 0 ? message_new(type, "{s:i}", "rank", rank) :
			     message_new(type, "{s:I,s:i}", "id",
					 (json_int_t)id, "rank", rank));
}

bool ranks_settled(const struct ranks *r)
{
	for (int i = 0; i < r->layout.n_ranks; i++) {
		if (r->all[i].state == RANK_OPENING) {
			return false;
		}
	}
	return true;
}

void ranks_out(struct ranks *r, int rank, enum rank_state state,
	       const char *code, const char *detail)
{
	struct rank *k = &r->all[rank];

	if (k->state > RANK_READY) {
		return;
	}
	k->state = state;
	STR_COPY(k->code, code);
	STR_COPY(k->detail, detail);
	run_log_event(r->c->log, ranks_node(r, rank), rank, code, "%s", detail);
	r->events->out(r, rank, code, detail);
}

enum outcome ranks_outcome(const char *code, enum outcome failed)
{
	return limit_is(code) || strcmp(code, RECORD_STARVED) == 0 ?
		       OUTCOME_NOT_RUN : failed;
}

/* With 16 processes on 2 cores both ends of a test wait for a CPU half of the
 * time each; two processes that wait for each other do not. */
bool ranks_starved(int64_t late_ns, int64_t wall_ns)
{
	return 3 * late_ns > wall_ns;
}

void ranks_note_limit(struct ranks *r, int rank, const char *code,
		      const char *detail)
{
	struct rank *k = &r->all[rank];

	if (!k->limited) {
		k->limited = true;
		run_log_event(r->c->log, ranks_node(r, rank), rank, code, "%s",
			      detail);
	}
}

/* ---- what is heard of them ----------------------------------------------- */

static void worker_ready(struct ranks *r, int rank, const json_t *msg)
{
	struct rank *k = &r->all[rank];
	const struct message_in in = message_read(msg);

	if (k->state != RANK_OPENING) {
		return;
	}
	free(k->ticket);
	k->ticket = in.ticket[0] != '\0' ? strdup(in.ticket) : NULL;
	if (!r->keeps_facts || k->facts == NULL) {
		json_decref(k->facts);
		k->facts = json_incref(in.facts);
	}
	k->state = RANK_READY;
	if (r->events->ready != NULL) {
		r->events->ready(r, rank);
	}
}

void ranks_learn(struct ranks *r, int rank, const json_t *facts)
{
	struct rank *k = &r->all[rank];
	json_t *f;
	size_t i;

	json_array_foreach(facts, i, f)
	{
		/* a worker has a few things to tell, and tells them once */
		if (json_array_size(k->facts) < FACTS_MAX) {
			json_array_append(k->facts, f);
		}
	}
}

static void worker_died(struct ranks *r, int rank, const json_t *msg)
{
	const struct message_in in = message_read(msg);
	const char *limit = in.code, *step = in.step;
	const bool hung = in.hung;
	const char *code = limit[0] ? limit : hung ? "worker_hung" :
						     "worker_crashed";
	struct xport_result end;
	char how[280], why[400];

	if (limit[0] != '\0') {
		snprintf(how, sizeof(how), "the kernel killed its worker: %s",
			 in.detail);
	} else if (hung) {
		snprintf(how, sizeof(how), "worker hung and was killed");
	} else if (in.signal != 0) {
		snprintf(how, sizeof(how), "worker crashed with signal %d (%s)",
			 in.signal, strsignal(in.signal));
	} else {
		snprintf(how, sizeof(how), "worker ended with exit code %d",
			 in.exit);
	}
	run_log_event(r->c->log, ranks_node(r, rank), rank, "worker_died",
		      "%s; last: %s", how, step);
	if (r->all[rank].state == RANK_READY) {
		r->all[rank].state = RANK_OPENING;
	}
	r->all[rank].late_ns = in.late_ns;
	xport_result_init(&end);
	if (limit[0] != '\0') {
		ranks_note_limit(r, rank, limit, how);
	}
	xport_fail(&end, limit[0] ? OUTCOME_NOT_RUN :
		   hung ? OUTCOME_TIMEOUT : OUTCOME_CRASHED, code,
		   "%s while %s", how, step[0] ? step : "starting");
	r->events->ended(r, rank, in.id, &end);
	/* of a run that is stopped, we may have killed it */
	if (in.retired && r->c->phase < COORD_STOP) {
		snprintf(why, sizeof(why), "its worker died twice, last: %s",
			 how);
		ranks_out(r, rank, RANK_RETIRED,
			  limit[0] ? limit : "rank_retired",
			  limit[0] ? how : why);
	}
}

/* Returns true if @rank belongs to agent @a; otherwise notes a foreign
 * message. */
static bool is_rank_of(const struct ranks *r, int64_t rank,
		       struct coord_agent *a)
{
	char what[40];

	if (rank >= 0 && rank < r->layout.n_ranks && r->all[rank].agent == a) {
		return true;
	}
	snprintf(what, sizeof(what), "a message of rank %lld", (long long)rank);
	agents_foreign(a, what);
	return false;
}

void ranks_entry(void *work, struct coord_agent *a, enum message_type type,
		 const void *bytes, size_t n)
{
	struct ranks *r = work;
	struct order_report report;
	struct order_word word;

	/* the deadline of a task covers an entry that cannot be read */
	if (type != MSG_DONE) {
		if (order_word_read(bytes, n, &word, NULL) == 0 &&
		    is_rank_of(r, word.rank, a)) {
			r->events->word(r, (int)word.rank, type, &word);
		}
		return;
	}
	if (order_report_read(bytes, n, &report, NULL) < 0) {
		return;
	}
	if (is_rank_of(r, report.rank, a)) {
		ranks_learn(r, (int)report.rank, report.facts);
		r->events->report(r, (int)report.rank, &report);
	}
	order_report_release(&report);
}

void ranks_message(void *work, struct coord_agent *a, json_t *msg)
{
	struct ranks *r = work;
	int64_t rank = message_int(msg, "rank");
	struct message_in in;

	/* one that is not about a rank is not for this work */
	if (json_object_get(msg, "rank") == NULL || !is_rank_of(r, rank, a)) {
		return;
	}
	switch (message_type(msg)) {
	case MSG_READY:
		worker_ready(r, (int)rank, msg);
		break;
	case MSG_DIED:
		worker_died(r, (int)rank, msg);
		break;
	case MSG_UNUSABLE:
		in = message_read(msg);
		run_log_event(r->c->log, ranks_node(r, (int)rank), (int)rank,
			      "unusable", "%s: %s", in.code, in.detail);
		ranks_out(r, (int)rank, RANK_UNUSABLE, in.code, in.detail);
		break;
	default:
		r->events->said(r, (int)rank, msg);
	}
}

void ranks_agent_lost(void *work, struct coord_agent *a, const char *detail)
{
	struct ranks *r = work;

	for (int i = 0; i < r->layout.n_ranks; i++) {
		if (r->all[i].agent == a) {
			ranks_out(r, i, RANK_LOST, agents_lost_code(a), detail);
		}
	}
}

void ranks_agent_late(void *work, int boot_rank, const char *node,
		      const char *detail)
{
	struct ranks *r = work;

	for (int i = 0; i < r->layout.n_ranks; i++) {
		struct rank *k = &r->all[i];

		if (k->state == RANK_MISSING && k->agent == NULL &&
		    (k->boot_rank == boot_rank + 1 ||
		     (k->boot_rank == 0 &&
		      strcmp(ranks_node(r, i), node) == 0))) {
			STR_COPY(k->code, RECORD_STARVED);
			STR_COPY(k->detail, detail);
		}
	}
}

/* ---- files -------------------------------------------------------------- */

static void write_node_facts(struct ranks *r, int node)
{
	struct run_log *log = r->c->log;
	const struct cluster_node *n = &r->layout.nodes[node];
	const struct coord_agent *seen = NULL;
	const char *state = "ok";
	char text[16];

	snprintf(text, sizeof(text), "%d", n->gpus);
	run_log_fact(log, n->name, "node", "gpus_expected", text, "", "plan");
	if (r->gpus_found[node] < 0) {
		state = n->gpus > 0 ? r->all[n->first_rank].code :
				      "agent_missing";
	} else {
		snprintf(text, sizeof(text), "%d", r->gpus_found[node]);
		run_log_fact(log, n->name, "node", "gpus_found", text, "",
			     "inventory");
	}
	for (int i = 0; i < n->gpus; i++) {
		const struct rank *k = &r->all[n->first_rank + i];

		if (k->agent == NULL || k->agent == seen) {
			continue;
		}
		seen = k->agent;
		if (seen->lost) {
			state = agents_lost_code(seen);
		}
		agents_inventory_facts(log, n->name, seen);
		agents_facts(log, n->name, seen, seen->last_words);
	}
	run_log_fact(log, n->name, "node", "state", state, "", "coordinator");
	if (seen == NULL) {
		agents_absent_facts(r->c->agents, n->name);
	}
}

static const char *rank_state_name(const struct ranks *r, const struct rank *k)
{
	/* Opening at the end: the others were done before it was needed. */
	static const char *const states[] = {
		[RANK_OPENING] = "opening", [RANK_READY] = "ok",
		[RANK_MISSING] = NULL,	    [RANK_UNUSABLE] = "open_failed",
		[RANK_RETIRED] = "retired", [RANK_LOST] = "agent_lost",
	};

	const char *const *code = r->ops->lacks;

	if (limit_is(k->code)) {
		return "short";
	}
	/* it has no transport because it lacks something through no fault of
	 * its own, see xport_ops.lacks */
	while (code != NULL && *code != NULL && strcmp(*code, k->code) != 0) {
		code++;
	}
	if (k->state == RANK_UNUSABLE && code != NULL && *code != NULL) {
		return "lacking";
	}
	return k->state == RANK_MISSING ? k->code : states[k->state];
}

static void write_rank_facts(struct ranks *r, int rank)
{
	struct run_log *log = r->c->log;
	const struct rank *k = &r->all[rank];
	const struct cluster_rank *l = &r->layout.ranks[rank];
	const char *node = r->layout.nodes[l->node].name;
	char scope[24], nic[LAYOUT_NIC];

	if (k->state == RANK_MISSING && k->agent == NULL &&
	    r->gpus_found[l->node] < 0) {
		return; /* the node's own state says it */
	}
	snprintf(scope, sizeof(scope), "%s%d", r->c->probe->part, l->gpu);
	if (k->part[0] != '\0') {
		run_log_fact(log, node, scope, "port", k->part, "", "plan");
	}
	agents_facts(log, node, k->agent, k->facts);
	layout_nic(&r->layout, rank, nic);
	for (size_t i = 0; i < r->drill.n; i++) {
		const struct drill_fault *f = &r->drill.faults[i];
		const char *of = f->part == DRILL_GPU ? scope :
				 f->part == DRILL_NIC ? nic :
				 l->gpu == 0	      ? "node" : NULL;

		if (f->fact[0][0] && of && drill_has_end(f, &r->layout, rank)) {
			run_log_fact(log, node, of, f->fact[0], f->fact[1],
				     "", "drill");
		}
	}
	run_log_fact(log, node, scope, "state", rank_state_name(r, k), "",
		     "coordinator");
	if (k->state != RANK_READY && k->detail[0] != '\0') {
		run_log_fact(log, node, scope, "state_detail", k->detail, "",
			     "coordinator");
		run_log_fact(log, node, scope, "state_code", k->code, "",
			     "coordinator");
	}
}

void ranks_write_facts(void *work)
{
	struct ranks *r = work;

	/* what the nodes say now; an earlier part of the run may have failed
	 * before it had a plan, but not before it had facts */
	rundir_table_restart(&r->c->log->facts, NULL);
	/* the GPUs that Slurm allocated, for nodes without an agent too;
	 * report/judge compares them */
	for (size_t i = 0; i < r->given.n; i++) {
		const struct allocation_part *part = &r->given.parts[i];
		size_t n = 0;
		char **names = hostlist_expand(part->nodes, &n, NULL);
		char text[16];

		snprintf(text, sizeof(text), "%d", part->gpus);
		for (size_t k = 0; k < n; k++) {
			run_log_fact(r->c->log, names[k], "node",
				     ALLOCATION_FACT, text, "", "scontrol");
		}
		hostlist_free(names, n);
	}
	for (int i = 0; i < r->layout.n_nodes; i++) {
		write_node_facts(r, i);
	}
	for (int i = 0; i < r->layout.n_ranks; i++) {
		write_rank_facts(r, i);
	}
}

/* The first one that says it says it for all. */
json_t *ranks_settings(const struct ranks *r)
{
	json_t *settings = json_object(), *f;
	size_t i;

	for (int k = 0; k < r->layout.n_ranks; k++) {
		json_array_foreach(r->all[k].facts, i, f)
		{
			if (agents_fact_of_run(f)) {
				const struct fact one = fact_of(f);

				json_object_set_new(settings, one.fact,
						    json_text(one.value));
			}
		}
		if (json_object_size(settings) > 0) {
			break;
		}
	}
	return settings;
}

void ranks_put_plan(struct ranks *r, json_t *run, const int64_t *sizes,
		    int n_sizes, json_t *settings)
{
	json_t *list = json_array(), *nodes = json_array();

	for (int i = 0; i < n_sizes; i++) {
		json_array_append_new(list, json_integer(sizes[i]));
	}
	/* with the GPU or port that each rank is, for a run that continues this
	 * one */
	for (int i = 0; i < r->layout.n_nodes; i++) {
		const struct cluster_node *n = &r->layout.nodes[i];
		json_t *node = run_node_json(n->name, n->first_rank, n->gpus,
					     n->nics);
		json_t *parts = json_array();
		bool known = false;

		for (int k = 0; k < n->gpus; k++) {
			const char *part = ranks_part(r, n->first_rank + k);

			part = part[0] != '\0' ? part :
			       before_part(r->c->before, n->name, k);
			known = known || part[0] != '\0';
			json_array_append_new(parts, part[0] != '\0' ?
					      json_text(part) : json_null());
		}
		if (known) {
			json_object_set(node, "parts", parts);
		}
		json_decref(parts);
		layout_put_nics(&r->layout, i, node);
		if (r->gpus_found[i] < 0 &&
		    before_missing(r->c->before, n->name)) {
			json_object_set_new(node, "missing", json_true());
		}
		json_array_append_new(nodes, node);
	}
	json_object_set_new(run, "transport", json_string(r->ops->name));
	json_object_set_new(run, "nodes", nodes);
	json_object_set_new(run, "sizes", list);
	json_object_set_new(run, "settings",
			    settings != NULL ? json_incref(settings)
					     : ranks_settings(r));
}

void ranks_release(struct ranks *r)
{
	for (int i = 0; r->all != NULL && i < r->layout.n_ranks; i++) {
		free(r->all[i].ticket);
		json_decref(r->all[i].facts);
	}
	drill_release(&r->drill);
	layout_release(&r->layout);
	allocation_release(&r->given);
	free(r->all);
	free(r->gpus_found);
	json_decref(r->port_names);
	str_release(&r->entry);
}

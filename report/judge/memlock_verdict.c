/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/memlock_verdict.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/judge/gone.h"
#include "report/judge/memlock_chain.h"
#include "report/judge/says.h"

/** As many names as a line holds. */
#define NAMES_MAX 3
#define EVIDENCE_MAX 8

/** What the rows say about one node. */
struct node_view {
	char name[64];
	struct chain chain;
	struct chain_answer answer;
	const struct memlock_row *unit, *conf;
};

/** What a finding says before the names of its nodes are known. */
struct like {
	enum part_kind kind;
	bool fail;
	const char *hca;
	char code[48];
	char what[600];
};

struct judging {
	const struct run *run;
	struct verdict *v;
	struct node_view *nodes;
	size_t n_nodes;
	struct chain_level login;
	const struct memlock_row *login_conf, *propagation;
	bool failed;		/* no memory */
};

static const char *const proofs[] = {
	CHECK_CQ, CHECK_QP, CHECK_MR, CHECK_MLOCK,
};

static bool is_proof(const struct memlock_row *row)
{
	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
		if (strcmp(row->check, proofs[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_check(const struct memlock_row *row, const char *check)
{
	return strcmp(row->check, check) == 0;
}

/* ---- rows into chains -------------------------------------------------- */

static void take_level(struct chain_level *l, const struct memlock_row *row)
{
	if (is_check(row, CHECK_CAP)) {
		l->has_cap = strcmp(row->code, CODE_HAS_CAP) == 0;
	} else if (is_check(row, CHECK_HARD)) {
		l->hard = row->limit_B;
	} else if (is_check(row, CHECK_SOFT)) {
		l->exists = row->outcome != OUTCOME_SKIPPED;
		l->known = row->limit_B != RECORD_NONE;
		l->soft = row->limit_B;
		l->hard = l->known && l->hard < l->soft ? l->soft : l->hard;
	}
}

static struct node_view *view_of(struct judging *j, const char *name)
{
	struct node_view *list;

	/* rows of a node stand together, most of the time */
	for (size_t i = j->n_nodes; i > 0; i--) {
		if (strcmp(j->nodes[i - 1].name, name) == 0) {
			return &j->nodes[i - 1];
		}
	}
	list = grow(j->nodes, j->n_nodes, sizeof(*list));
	if (!list) {
		j->failed = true;
		return NULL;
	}
	j->nodes = list;
	list[j->n_nodes] = (struct node_view){ 0 };
	STR_COPY(list[j->n_nodes].name, name);
	return &list[j->n_nodes++];
}

static void take_login(struct judging *j, const struct memlock_row *row)
{
	if (is_check(row, CHECK_PROPAGATION)) {
		j->propagation = row;
	} else if (is_check(row, CHECK_LIMITS_CONF)) {
		j->login_conf = row;
	} else {
		take_level(&j->login, row);
	}
}

static void take_row(struct judging *j, const struct memlock_row *row)
{
	enum memlock_context context = memlock_context_parse(row->context);
	struct node_view *view;

	if (context == MEMLOCK_LOGIN) {
		take_login(j, row);
		return;
	}
	view = view_of(j, row->node);
	if (!view || context == MEMLOCK_CONTEXTS) {
		return;
	}
	take_level(&view->chain.level[context], row);
	if (is_check(row, CHECK_UNIT)) {
		view->unit = row;
	} else if (is_check(row, CHECK_LIMITS_CONF)) {
		view->conf = row;
	} else if (is_check(row, CHECK_SOFT) &&
		   row->needed_B > view->chain.needed_B) {
		view->chain.needed_B = row->needed_B;
	}
}

static enum chain_propagation propagation_of(const struct memlock_row *row)
{
	if (!row || row->outcome != OUTCOME_OK) {
		return CHAIN_UNASKED;
	}
	return strcmp(row->code, CODE_KEPT) == 0 ? CHAIN_KEPT :
						   CHAIN_PROPAGATED;
}

/* ---- findings ---------------------------------------------------------- */

static bool same(const struct finding *f, const struct like *like, int name)
{
	return strcmp(f->code, like->code) == 0 && f->fail == like->fail &&
	       f->part.kind == like->kind && f->part.name == name &&
	       strcmp(f->says, like->what) == 0;
}

/** The finding like @like, of which @node is one more case. */
static struct finding *add_finding(struct judging *j, const struct like *like,
				   const char *node)
{
	int name = like->hca ? run_find_name(j->run, like->hca) : 0;
	struct part part = part_of_kind(like->kind);
	struct verdict *v = j->v;
	struct finding *f;
	size_t i = 0;
	int at;

	while (i < v->n && !same(&v->findings[i], like, name)) {
		i++;
	}
	part.name = name;
	f = i < v->n ? &v->findings[i] : finding_add(v, &part);
	at = run_find_node(j->run, node, -1);	/* of a login shell: none */
	if (!f || (at >= 0 && finding_add_member(f, at) < 0)) {
		j->failed = true;
		return NULL;
	}
	f->fail = like->fail;
	f->set_up = gone_is_set_up(like->code);
	STR_COPY(f->code, like->code);
	STR_COPY(f->says, like->what);
	f->cells++;
	return f;
}

static void add_evidence(struct judging *j, struct finding *f,
			 const char *text)
{
	if (f && f->n_evidence < EVIDENCE_MAX &&
	    finding_add_evidence(f, text) < 0) {
		j->failed = true;
	}
}

/* ---- findings about the chain ------------------------------------------ */

static const struct link_words {
	enum part_kind kind;
	const char *code;
	const char *what;	/* %s is the limit */
} link_words[CHAIN_LINKS] = {
	[LINK_SLURMD] = { .kind = PART_LIMIT, .code = "memlock_slurmd",
		.what = "slurmd is limited to %s of locked memory; jobs "
			"inherit this limit" },
	[LINK_PROPAGATION] = { .kind = PART_CONFIG, .code = "memlock_propagated",
		.what = "jobs are limited to %s of locked memory: Slurm "
			"propagates the limit of the login shell" },
	[LINK_BATCH] = { .kind = PART_LIMIT, .code = "memlock_batch",
		.what = "the batch script is limited to %s of locked memory, "
			"less than slurmd and login shell" },
	[LINK_STEP] = { .kind = PART_LIMIT, .code = "memlock_step",
		.what = "job steps are limited to %s of locked memory, less "
			"than the shell that started them" },
	[LINK_CONTAINER] = { .kind = PART_LIMIT, .code = "memlock_container",
		.what = "processes in the container are limited to %s of "
			"locked memory" },
	[LINK_SHELL] = { .kind = PART_LIMIT, .code = "memlock_shell",
		.what = "processes are limited to %s of locked memory, a "
			"default: no file sets it" },
};

/** "login 64 KiB, slurmd unlimited, batch 64 KiB, step 64 KiB" */
static void chain_text(const struct chain *c, char *buf, size_t size)
{
	struct str text = STR_INIT;
	char bytes[32];

	for (int i = 0; i < MEMLOCK_CONTEXTS; i++) {
		const struct chain_level *l = &c->level[i];

		if (l->exists) {
			str_addf(&text, "%s%s %s", text.len ? ", " : "",
				 memlock_context_name((enum memlock_context)i),
				 l->known ? memlock_bytes(l->soft, bytes,
							  sizeof(bytes)) :
					    "unknown");
		}
	}
	str_copy(buf, size, str_text(&text));
	str_release(&text);
}

static void add_source(struct judging *j, struct finding *f, const char *who,
		       const struct memlock_row *row)
{
	char text[640];

	if (row && row->outcome == OUTCOME_OK) {
		snprintf(text, sizeof(text), "%s: %s%s%s", who, row->source,
			 row->source[0] && row->detail[0] ? ": " : "",
			 row->detail);
		add_evidence(j, f, text);
	}
}

/** Once slurmd is repaired, would the login shell's limit be next? */
static bool login_is_next(const struct judging *j, const struct chain *c)
{
	return j->login.known && j->login.soft < c->needed_B &&
	       c->propagation != CHAIN_KEPT;
}

static void add_chain_evidence(struct judging *j,
			       const struct node_view *view,
			       enum chain_link link,
			       struct finding *f)
{
	char text[400];

	if (f->n_evidence > 0) {
		return;		/* of the first node that has it */
	}
	chain_text(&view->chain, text, sizeof(text));
	add_evidence(j, f, text);
	if (link == LINK_SLURMD) {
		add_source(j, f, "systemd", view->unit);
		if (login_is_next(j, &view->chain)) {
			add_evidence(j, f, "the next limit: the login shell's, which "
					"Slurm propagates");
		}
	} else if (link == LINK_PROPAGATION) {
		add_source(j, f, "Slurm", j->propagation);
		add_source(j, f, "login shell", j->login_conf);
	} else if (link == LINK_SHELL) {
		add_source(j, f, "pam_limits", view->conf);
	}
}

static void add_chain_finding(struct judging *j, struct node_view *view,
			      const struct chain_fault *fault)
{
	const struct link_words *w = &link_words[fault->link];
	struct like like = { .kind = w->kind, .fail = true };
	struct finding *f;
	char bytes[32];

	memlock_bytes(fault->limit_B, bytes, sizeof(bytes));
	STR_COPY(like.code, w->code);
	if (fault->link == LINK_SHELL && view->conf &&
	    view->conf->limit_B == fault->limit_B) {
		STR_COPY(like.code, "memlock_limits_conf");
		snprintf(like.what, sizeof(like.what),
			 "processes are limited to %s of locked memory by %s",
			 bytes, view->conf->source);
	} else {
		struct str text = STR_INIT;
		const char *at = strstr(w->what, "%s");

		str_addmem(&text, w->what, (size_t)(at - w->what));
		str_add(&text, bytes);
		str_add(&text, at + 2);
		STR_COPY(like.what, str_text(&text));
		str_release(&text);
	}
	f = add_finding(j, &like, view->name);
	if (f) {
		add_chain_evidence(j, view, fault->link, f);
	}
}

static void count(struct judging *j, enum cell_class class)
{
	j->v->cells[class]++;
}

static void count_chain(struct judging *j, const struct node_view *view)
{
	for (int i = 0; i < MEMLOCK_CONTEXTS; i++) {
		const struct chain_level *l = &view->chain.level[i];

		if (!(view->answer.judged & 1u << i)) {
			continue;
		}
		count(j, !l->known ? CELL_NOT_RUN :
			 l->soft < view->chain.needed_B ? CELL_FAIL :
							  CELL_PASS);
	}
}

static void judge_chain(struct judging *j, struct node_view *view)
{
	struct like unseen = {
		.kind = PART_CONFIG, .code = "slurmd_unseen",
		.what = "slurmd's limit cannot be read; the job's limit is "
			"sufficient",
	}, unread = {
		.kind = PART_LIMIT, .code = CODE_UNKNOWN,
		.what = "this user cannot read a limit of locked memory that "
			"the result depends on",
	};

	view->chain.level[MEMLOCK_LOGIN] = j->login;
	view->chain.propagation = propagation_of(j->propagation);
	chain_judge(&view->chain, &view->answer);
	count_chain(j, view);
	for (size_t i = 0; i < view->answer.n; i++) {
		add_chain_finding(j, view, &view->answer.faults[i]);
	}
	if (view->answer.unknown) {
		add_finding(j, &unread, view->name);
	}
	if (view->answer.slurmd_unseen && view->answer.n == 0) {
		add_finding(j, &unseen, view->name);
	}
}

/* ---- findings about the rest ------------------------------------------- */

static void proof_text(const struct memlock_row *row, char *buf, size_t size)
{
	char ok[32], fail[32], need[32];

	snprintf(buf, size, "%s%s%s: works up to %s, fails at %s, needed %s",
		 row->hca, row->hca[0] ? " " : "", row->check,
		 memlock_bytes(row->max_ok_B, ok, sizeof(ok)),
		 memlock_bytes(row->min_fail_B, fail, sizeof(fail)),
		 memlock_bytes(row->needed_B, need, sizeof(need)));
}

/** The chain's finding that a break at the limit belongs to. */
static struct finding *limit_finding(struct judging *j, int node)
{
	for (size_t i = 0; i < j->v->n; i++) {
		struct finding *f = &j->v->findings[i];

		for (size_t k = 0;
		     k < f->n_members && strncmp(f->code, "memlock_", 8) == 0;
		     k++) {
			if (f->members[k] == node) {
				return f;
			}
		}
	}
	return NULL;
}

static void judge_proof(struct judging *j, const struct memlock_row *row)
{
	struct like like = {
		.kind = row->hca[0] ? PART_NIC : PART_CONFIG, .fail = true,
		.hca = row->hca,
	};
	bool at_limit = strcmp(row->code, CODE_ENOMEM) == 0;
	int node = run_find_node(j->run, row->node, -1);
	struct finding *f = NULL;
	char text[400];

	count(j, cells_class_of(row->outcome));
	if (row->outcome == OUTCOME_NOT_RUN) {
		like.fail = false;
		STR_COPY(like.code, row->code);
		snprintf(like.what, sizeof(like.what), "%s%s%s was not "
			 "tested: %s", row->hca, row->hca[0] ? " " : "",
			 row->check, row->detail);
		add_finding(j, &like, row->node);
	}
	if (row->outcome != OUTCOME_ERROR) {
		return;
	}
	if (at_limit) {
		f = limit_finding(j, node);
		like.kind = PART_LIMIT;
	}
	if (f) {
		f->cells++;
	} else {
		STR_COPY(like.code, row->code);
		snprintf(like.what, sizeof(like.what), "%s%s%s: %s", row->hca,
			 row->hca[0] ? " " : "", row->check, row->detail);
		f = add_finding(j, &like, row->node);
	}
	if (f && row->max_ok_B != RECORD_NONE &&
	    f->n_members > 0 && f->members[0] == node) {
		proof_text(row, text, sizeof(text));
		add_evidence(j, f, text);
	}
}

/** A node without, or with no more, rows of its own. */
static void judge_end(struct judging *j, const struct memlock_row *row)
{
	struct like like = { .kind = PART_NODE, .fail = true };

	count(j, cells_class_of(row->outcome));
	if (row->outcome == OUTCOME_NOT_RUN) {
		return;		/* the run was stopped: nobody's fault */
	}
	STR_COPY(like.code, row->code);
	STR_COPY(like.what, row->detail);
	add_finding(j, &like, row->node);
}

static void judge_neighbour(struct judging *j, const struct memlock_row *row)
{
	struct like like = { .kind = PART_CONFIG };

	if (row->outcome == OUTCOME_ERROR) {
		STR_COPY(like.code, row->code);
		snprintf(like.what, sizeof(like.what), "%s: %s", row->check,
			 row->detail);
		add_finding(j, &like, row->node);
	}
}

static void judge_row(struct judging *j, const struct memlock_row *row)
{
	enum memlock_context context = memlock_context_parse(row->context);

	if (context == MEMLOCK_CONTEXTS) {
		judge_end(j, row);
	} else if (is_proof(row)) {
		if (row->outcome != OUTCOME_SKIPPED) {
			judge_proof(j, row);
		}
	} else if (!is_check(row, CHECK_SOFT)) {
		judge_neighbour(j, row);
	}
}

/* ---- the verdict ------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

void memlock_sort_names(char (*nodes)[64], size_t n)
{
	qsort(nodes, n, sizeof(*nodes), by_name);
}

void memlock_names(char (*nodes)[64], size_t n, struct str *out)
{
	size_t shown = n <= NAMES_MAX ? n : NAMES_MAX - 1;

	for (size_t i = 0; i < shown; i++) {
		str_addf(out, "%s%s", i ? ", " : "", nodes[i]);
	}
	if (shown < n) {
		str_addf(out, " and %zu more", n - shown);
	}
}

/** All cases of @f are known: whom it is about, and what to do. */
static int close_finding(const struct run *run, struct finding *f)
{
	char (*nodes)[64] = calloc(f->n_members + 1, sizeof(*nodes));
	struct str says = STR_INIT;

	if (!nodes) {
		return -1;
	}
	for (size_t i = 0; i < f->n_members; i++) {
		STR_COPY(nodes[i], run->nodes[f->members[i]].name);
	}
	memlock_sort_names(nodes, f->n_members);
	memlock_names(nodes, f->n_members, &says);
	str_addf(&says, "%s: %s", f->n_members ? "" : "the login shell",
		 f->says);
	STR_COPY(f->says, str_text(&says));
	f->part.node = f->n_members == 1 ? f->members[0] : -1;
	f->explained = f->cells;
	f->n_first = f->n_evidence;
	says_act(run, f, -1, -1);
	str_release(&says);
	free(nodes);
	return 0;
}

int memlock_judge(const struct run *run, const struct memlock_rows *m,
		  struct verdict *v)
{
	struct judging j = { .run = run, .v = v };

	*v = (struct verdict){ 0 };
	for (size_t i = 0; i < m->n; i++) {
		take_row(&j, &m->rows[i]);
	}
	for (size_t i = 0; i < j.n_nodes; i++) {
		judge_chain(&j, &j.nodes[i]);
	}
	for (size_t i = 0; i < m->n; i++) {
		judge_row(&j, &m->rows[i]);
	}
	for (size_t i = 0; i < v->n; i++) {
		j.failed = close_finding(run, &v->findings[i]) < 0 || j.failed;
	}
	free(j.nodes);
	if (j.failed || verdict_close(run, v) < 0) {
		verdict_release(v);
		return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/ladder_verdict.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "report/judge/gone.h"
#include "report/judge/ladder_match.h"

#define VERDICT_SCHEMA 1
#define EVIDENCE_PER_RUNG 3

/** What is taken for one and the same fault. */
struct group {
	size_t first;		/* the lowest rung that saw it */
	json_t *members;	/* [{"rung", "finding"}], the lowest first */
	json_t *parts;		/* what it may be: alternatives of the first
				 * that no later one ruled out */
};

struct ladder {
	const struct ladder_rung *rungs;
	size_t n;
	const struct ladder_facts *facts;
	struct group *groups;
	size_t n_groups;
	bool failed;		/* memory ran out */
};

static bool is_fail(const json_t *finding)
{
	return strcmp(json_member(finding, "severity"), "fail") == 0;
}

static struct ladder_said said(const struct ladder *l, size_t rung,
			       const json_t *part)
{
	return (struct ladder_said){ .probe = l->rungs[rung].row.rung,
				     .part = part };
}

/** The finding itself and what stands in its "or". */
static json_t *parts_of(const json_t *finding)
{
	json_t *parts = json_array(), *part;
	size_t i;

	json_array_append(parts, (json_t *)finding);
	json_array_foreach(json_object_get(finding, "or"), i, part) {
		json_array_append(parts, part);
	}
	return parts;
}

/** What @g may still be if it is one of @others as well; [] when nothing. */
static json_t *common(const struct ladder *l, const struct group *g,
		      size_t rung, const json_t *others)
{
	json_t *both = json_array(), *mine, *other;
	size_t i, k;

	json_array_foreach(g->parts, i, mine) {
		json_array_foreach(others, k, other) {
			if (ladder_same(said(l, g->first, mine),
					said(l, rung, other),
					l->facts->netdevs)) {
				json_array_append(both, mine);
				break;
			}
		}
	}
	return both;
}

static bool join(struct ladder *l, struct group *g, size_t rung,
		 json_t *finding)
{
	l->failed = l->failed ||
		    json_array_append_new(g->members,
					  json_pack("{s:i, s:O}", "rung",
						    (int)rung, "finding",
						    finding)) < 0;
	return true;
}

/** Into the group that it is about the same as. */
static bool join_same(struct ladder *l, size_t rung, json_t *finding)
{
	json_t *parts = parts_of(finding);
	bool joined = false;

	for (size_t i = 0; i < l->n_groups && !joined; i++) {
		struct group *g = &l->groups[i];
		json_t *both;

		if (g->first == rung) {
			break;	/* a rung's own are different ones */
		}
		both = common(l, g, rung, parts);
		if (json_array_size(both) > 0) {
			json_decref(g->parts);
			g->parts = json_incref(both);
			joined = join(l, g, rung, finding);
		}
		json_decref(both);
	}
	json_decref(parts);
	return joined;
}

/** Into the group that explains it. */
static bool join_cause(struct ladder *l, size_t rung, json_t *finding)
{
	for (size_t i = 0; i < l->n_groups; i++) {
		struct group *g = &l->groups[i];
		json_t *first = json_object_get(json_array_get(g->members, 0),
						"finding");

		if (g->first < rung &&
		    ladder_explains(said(l, g->first, first),
				    said(l, rung, finding),
				    l->facts->netdevs)) {
			return join(l, g, rung, finding);
		}
	}
	return false;
}

static void add_group(struct ladder *l, size_t rung, json_t *finding)
{
	struct group *grown = realloc(l->groups, (l->n_groups + 1) *
							 sizeof(*grown));

	if (!grown) {
		l->failed = true;
		return;
	}
	l->groups = grown;
	l->groups[l->n_groups] = (struct group){
		.first = rung,
		.members = json_array(),
		.parts = parts_of(finding),
	};
	join(l, &l->groups[l->n_groups++], rung, finding);
}

static void sort_out(struct ladder *l)
{
	for (size_t rung = 0; rung < l->n; rung++) {
		json_t *finding;
		size_t i;

		json_array_foreach(json_object_get(l->rungs[rung].verdict,
						   "findings"), i, finding) {
			if (json_is_object(finding) &&
			    !join_same(l, rung, finding) &&
			    !join_cause(l, rung, finding)) {
				add_group(l, rung, finding);
			}
		}
	}
}

/* ---- one finding of a group --------------------------------------------- */

static size_t rung_of(const json_t *member)
{
	return (size_t)json_integer_value(json_object_get(member, "rung"));
}

/** The finding of the lowest rung whose first choice is @part, or NULL. */
static json_t *speaker(const struct ladder *l, const struct group *g,
		       const json_t *part)
{
	json_t *member;
	size_t i;

	json_array_foreach(g->members, i, member) {
		json_t *finding = json_object_get(member, "finding");

		if (ladder_same(said(l, g->first, part),
				said(l, rung_of(member), finding),
				l->facts->netdevs)) {
			return finding;
		}
	}
	return NULL;
}

/** "NIC 2 of n0", from the fields alone. */
static void name_part(const json_t *part, struct str *out)
{
	const json_t *index = json_object_get(part, "index");

	str_add(out, json_member(part, "kind"));
	if (json_is_integer(index)) {
		str_addf(out, " %d", (int)json_integer_value(index));
	}
	if (json_member(part, "node")[0]) {
		str_addf(out, " of %s", json_member(part, "node"));
	}
	if (json_member(part, "peer_node")[0]) {
		str_addf(out, " and %s", json_member(part, "peer_node"));
	}
}

static json_int_t number(const json_t *finding, const char *key)
{
	return json_integer_value(json_object_get(finding, key));
}

/** Names of the rungs of @g, each once. */
static json_t *rungs_of(const struct ladder *l, const struct group *g)
{
	json_t *names = json_array(), *member;
	size_t i, last = l->n;

	json_array_foreach(g->members, i, member) {
		if (rung_of(member) != last) {
			last = rung_of(member);
			json_array_append_new(
				names, json_text(l->rungs[last].row.rung));
		}
	}
	return names;
}

/** What each rung saw, "p2p: ..."; @spoken is what "says" says already. */
static json_t *evidence_of(const struct ladder *l, const struct group *g,
			   const json_t *spoken)
{
	json_t *list = json_array(), *member, *line;
	size_t i, k;

	json_array_foreach(g->members, i, member) {
		const char *rung = l->rungs[rung_of(member)].row.rung;
		const json_t *finding = json_object_get(member, "finding");
		struct str text = STR_INIT;

		if (finding != spoken) {
			str_addf(&text, "%s: %s", rung,
				 json_member(finding, "says"));
			json_array_append_new(list, json_text(str_text(&text)));
		}
		json_array_foreach(json_object_get(finding, "evidence"), k,
				   line) {
			if (k == EVIDENCE_PER_RUNG &&
			    json_array_size(g->members) > 1) {
				break;
			}
			str_reset(&text);
			str_addf(&text, "%s: %s", rung,
				 json_string_value(line) ?
					 json_string_value(line) : "");
			json_array_append_new(list, json_text(str_text(&text)));
		}
		str_release(&text);
	}
	return list;
}

/** "... (ib; p2p and allreduce as well)" is left to "rungs"; here: what the
 *  rungs have in common, where none of them says so alone. */
static json_t *says_of(const struct ladder *l, const struct group *g,
		       const json_t *part, const json_t *spoken)
{
	struct str text = STR_INIT;
	json_t *says, *name, *names;
	size_t i;

	if (spoken) {
		return json_text(json_member(spoken, "says"));
	}
	names = rungs_of(l, g);
	name_part(part, &text);
	str_add(&text, ": the one part that explains what");
	json_array_foreach(names, i, name) {
		str_addf(&text, "%s %s", i == 0 ? "" :
			 i + 1 < json_array_size(names) ? "," : " and",
			 json_string_value(name));
	}
	str_add(&text, " found");
	says = json_text(str_text(&text));
	json_decref(names);
	str_release(&text);
	return says;
}

/** The fields of the part @from into @to. */
static void set_part(json_t *to, const json_t *from)
{
	static const char *const keys[] = {
		"kind", "node", "index", "peer_node", "peer_index",
		"direction", "name", "uplinks", "members", NULL
	};

	for (int i = 0; keys[i]; i++) {
		json_t *value = json_object_get(from, keys[i]);

		if (value) {
			json_object_set(to, keys[i], value);
		}
	}
}

static json_t *merge(const struct ladder *l, const struct group *g)
{
	const json_t *part = json_array_get(g->parts, 0);
	json_t *spoken = speaker(l, g, part), *member;
	json_t *first = json_object_get(json_array_get(g->members, 0),
					"finding");
	json_t *out = json_copy(spoken ? spoken : first), *others;
	json_int_t cells = 0, explained = 0;
	bool fail = false;
	size_t i;

	json_array_foreach(g->members, i, member) {
		const json_t *finding = json_object_get(member, "finding");

		cells += number(finding, "cells");
		explained += number(finding, "explained");
		fail = fail || is_fail(finding);
	}
	others = json_array();
	json_array_foreach(g->parts, i, member) {
		if (i > 0) {
			json_t *other = json_object();

			set_part(other, member);
			json_array_append_new(others, other);
		}
	}
	/* the number of a part is that of the rung that speaks of it */
	set_part(out, spoken ? spoken : part);
	json_object_set_new(out, "severity",
			    json_string(fail ? "fail" : "warn"));
	json_object_set_new(out, "cells", json_integer(cells));
	json_object_set_new(out, "explained", json_integer(explained));
	json_object_set_new(out, "or", others);
	json_object_set_new(out, "says", says_of(l, g, part, spoken));
	json_object_set_new(out, "evidence", evidence_of(l, g, spoken));
	json_object_set_new(out, "rungs", rungs_of(l, g));
	return out;
}

/* ---- the whole ---------------------------------------------------------- */

/** A rung that could not measure what is there. */
static json_t *broken_rung(const struct ladder_rung *r)
{
	struct str says = STR_INIT;
	json_t *json;

	str_addf(&says, "%s could not measure: %s", r->row.rung,
		 r->row.detail);
	json = json_pack("{s:s, s:n, s:n, s:n, s:n, s:s, s:s, s:s, s:i, s:i,"
			 " s:[], s:o, s:s, s:[], s:[s]}",
			 "kind", "config", "node", "index", "peer_node",
			 "peer_index", "direction", "both", "severity", "warn",
			 "code", r->row.code, "cells", 0, "explained", 0, "or",
			 "says", json_text(str_text(&says)), "do",
			 "see to what it names, then run that probe again: its "
			 "words are in logs/",
			 "evidence", "rungs", r->row.rung);
	str_release(&says);
	return json;
}

/** Those that fail first, each in the order in which they were found. */
static json_t *list_findings(const struct ladder *l)
{
	json_t *list = json_array(), *warnings = json_array();

	for (size_t i = 0; i < l->n_groups; i++) {
		json_t *finding = merge(l, &l->groups[i]);

		json_array_append_new(is_fail(finding) ? list : warnings,
				      finding);
	}
	for (size_t i = 0; i < l->n; i++) {
		if (l->rungs[i].row.outcome == OUTCOME_ERROR) {
			json_array_append_new(warnings,
					      broken_rung(&l->rungs[i]));
		}
	}
	json_array_extend(list, warnings);
	json_decref(warnings);
	return list;
}

/** Of all rungs together; *@measured counts those that came to something. */
static json_t *sum_cells(const struct ladder *l, json_int_t *measured)
{
	json_t *sums = json_object();

	*measured = 0;
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		const char *name = cell_class_name((enum cell_class)c);
		json_int_t sum = 0;

		for (size_t i = 0; i < l->n; i++) {
			sum += number(json_object_get(l->rungs[i].verdict,
						      "cells"), name);
		}
		*measured += c == CELL_SKIPPED || c == CELL_NOT_RUN ? 0 : sum;
		json_object_set_new(sums, name, json_integer(sum));
	}
	return sums;
}

/** Leaving out a node helps against what sits in it alone. */
static bool sits_in_node(const json_t *finding)
{
	static const char *const kinds[] = {
		"node", "intra_node", "nic", "gpu", "limit", NULL
	};

	for (int i = 0; kinds[i]; i++) {
		if (strcmp(json_member(finding, "kind"), kinds[i]) == 0) {
			return is_fail(finding) &&
			       !gone_is_set_up(json_member(finding, "code")) &&
			       json_member(finding, "node")[0];
		}
	}
	return false;
}

static json_t *list_excluded(const json_t *findings,
			     const struct ladder_facts *facts)
{
	json_t *set = json_object(), *list = json_array(), *f;
	const char *node;
	size_t i;

	json_array_foreach(findings, i, f) {
		if (sits_in_node(f)) {
			json_object_set_new(set, json_member(f, "node"),
					    json_true());
		}
	}
	/* without all of them there is nothing left to run on */
	if (json_object_size(set) != facts->n_nodes) {
		json_object_foreach(set, node, f) {
			json_array_append_new(list, json_text(node));
		}
	}
	json_decref(set);
	return list;
}

static const char *status_of(const json_t *findings, json_int_t measured)
{
	if (is_fail(json_array_get(findings, 0))) {
		return "fail";		/* those come first */
	}
	return measured == 0 ? "unknown" :
	       json_array_size(findings) > 0 ? "warn" : "pass";
}

json_t *ladder_verdict(const struct ladder_rung *rungs, size_t n,
		       const struct ladder_facts *facts)
{
	struct ladder l = { .rungs = rungs, .n = n, .facts = facts };
	json_t *findings, *cells, *verdict = NULL;
	json_int_t measured;

	sort_out(&l);
	findings = list_findings(&l);
	cells = sum_cells(&l, &measured);
	if (!l.failed) {
		verdict = json_pack("{s:i, s:s, s:s, s:b, s:O, s:O, s:o}",
				    "schema", VERDICT_SCHEMA, "probe", "all",
				    "status", status_of(findings, measured),
				    "drill", facts->drill, "cells", cells,
				    "findings", findings, "exclude",
				    list_excluded(findings, facts));
	}
	json_decref(cells);
	json_decref(findings);
	for (size_t i = 0; i < l.n_groups; i++) {
		json_decref(l.groups[i].members);
		json_decref(l.groups[i].parts);
	}
	free(l.groups);
	return verdict;
}

int ladder_exit(const struct ladder_rung *rungs, size_t n, bool whole,
		bool strict, const json_t *verdict)
{
	const char *status = json_member(verdict, "status");
	bool usage = false, unable = false, partial = !whole;

	for (size_t i = 0; i < n; i++) {
		const struct rung_row *row = &rungs[i].row;

		usage = usage || (row->outcome == OUTCOME_ERROR &&
				  row->exit_code == CODE_USAGE);
		unable = unable || row->outcome == OUTCOME_ERROR;
		partial = partial || row->outcome == OUTCOME_NOT_RUN ||
			  row->exit_code == CODE_PARTIAL;
	}
	if (usage || unable) {
		return usage ? CODE_USAGE : CODE_UNABLE;
	}
	if (partial) {
		return CODE_PARTIAL;
	}
	if (strcmp(status, "unknown") == 0) {
		return CODE_UNABLE;
	}
	return strcmp(status, "fail") == 0 ||
			       (strict && strcmp(status, "warn") == 0) ?
		       CODE_FAULT :
		       CODE_HEALTHY;
}

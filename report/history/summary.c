/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "report/base/grow.h"

#define MAX_GB_S 1e9
#define ID_SHOWN 8	/* of the ID in the name of a file */

void summary_release(struct summary *s)
{
	if (!s) {
		return;
	}
	for (size_t i = 0; i < s->n_nodes; i++) {
		free(s->nodes[i].gpu_GB_s);
		free(s->nodes[i].nic_GB_s);
	}
	free(s->nodes);
	free(s->findings);
	free(s->rail_GB_s);
	*s = (struct summary){ 0 };
}

/* ---- its file ----------------------------------------------------------- */

int summary_file(const struct summary *s, char name[SUMMARY_FILE],
		 struct err *e)
{
	char time[32];
	size_t n = 0;

	for (const char *c = s->started_utc; *c && *c != '.' && n < 30; c++) {
		if (*c != '-' && *c != ':' && *c != 'Z') {
			time[n++] = *c;
		}
	}
	time[n] = '\0';
	snprintf(name, SUMMARY_FILE, "%sZ-%s-%.*s.json", time, s->probe,
		 ID_SHOWN, s->id);
	return summary_is_file(name) ? 0 :
	       err_set(e, 0, "the run has no time and no ID by which the "
			     "history could know it");
}

static bool digits(const char **c, size_t n, const char *allowed)
{
	size_t got = strspn(*c, allowed);

	*c += got < n ? got : n;
	return got >= n;
}

bool summary_is_file(const char *name)
{
	static const char dec[] = "0123456789", hex[] = "0123456789abcdef";
	static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *c = name;
	size_t len;

	if (!digits(&c, 8, dec) || *c++ != 'T' || !digits(&c, 6, dec) ||
	    !str_starts(c, "Z-")) {
		return false;
	}
	c += 2;
	len = strspn(c, word);
	c += len;
	return len > 0 && len < 16 && *c++ == '-' &&
	       digits(&c, ID_SHOWN, hex) && strcmp(c, ".json") == 0;
}

/* ---- to JSON ------------------------------------------------------------ */

static json_t *reals_json(const double *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, json_real_or_null(v[i]));
	}
	return list;
}

json_t *summary_node_json(const struct summary_node *n)
{
	return json_pack("{s:o, s:b, s:o, s:o, s:o}", "node",
			 json_text(n->name), "tested", n->tested, "bw_GB_s",
			 json_real_or_null(n->bw_GB_s), "gpu_GB_s",
			 reals_json(n->gpu_GB_s, n->n_gpus), "nic_GB_s",
			 reals_json(n->nic_GB_s, n->n_nics));
}

static json_t *finding_json(const struct summary_finding *f)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "kind",
			 f->kind, "node", json_text_or_null(f->node), "index",
			 json_int_or_null(f->index), "peer_node",
			 json_text_or_null(f->peer_node), "peer_index",
			 json_int_or_null(f->peer_index), "name",
			 json_text_or_null(f->name), "severity",
			 f->fail ? "fail" : "warn", "code", f->code);
}

json_t *summary_json(const struct summary *s)
{
	json_t *findings = json_array(), *nodes = json_array();

	for (size_t i = 0; i < s->n_findings; i++) {
		json_array_append_new(findings, finding_json(&s->findings[i]));
	}
	for (size_t i = 0; i < s->n_nodes; i++) {
		json_array_append_new(nodes, summary_node_json(&s->nodes[i]));
	}
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:s, "
			 "s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "schema", SUMMARY_SCHEMA, "id", s->id, "probe",
			 s->probe, "version", s->version, "started_utc",
			 s->started_utc, "ended_utc", s->ended_utc, "status",
			 s->status, "drill", s->drill, "model", s->model,
			 "transport", s->transport, "schedule", s->schedule,
			 "size_B", (json_int_t)s->size_B, "ranks",
			 (json_int_t)s->ranks, "node_count",
			 (json_int_t)s->of_nodes, "inter_GB_s",
			 json_real_or_null(s->inter_GB_s), "intra_GB_s",
			 json_real_or_null(s->intra_GB_s), "busbw_GB_s",
			 json_real_or_null(s->busbw_GB_s), "rail_GB_s",
			 reals_json(s->rail_GB_s, s->n_rails), "findings",
			 findings, "nodes", nodes);
}

/* ---- from JSON ---------------------------------------------------------- */

/** The list of figures @key into *@v; 0, or -1 with @e. */
static int take_reals(const json_t *obj, const char *key, double **v,
		      size_t *n, struct err *e)
{
	json_t *list = json_get_array(obj, key, SPEC_MAX_GPUS, e), *x;
	size_t i;

	if (!list) {
		return -1;
	}
	*v = calloc(json_array_size(list) + 1, sizeof(**v));
	if (!*v) {
		return err_set(e, ENOMEM, "cannot read '%s'", key);
	}
	*n = json_array_size(list);
	json_array_foreach(list, i, x) {
		double value = json_is_null(x) ? NAN : json_number_value(x);

		if (!json_is_null(x) &&
		    (!json_is_number(x) || !(value >= 0) || value > MAX_GB_S)) {
			return err_set(e, 0, "'%s' has an entry that is no "
				       "bandwidth", key);
		}
		(*v)[i] = value;
	}
	return 0;
}

static int take_node(struct summary *s, const json_t *obj, struct err *e)
{
	const struct summary_node n = { .tested = true, .bw_GB_s = NAN };
	/* in its place already, so that it is freed whatever comes */
	struct summary_node *at = grow_add(&s->nodes, &s->n_nodes, &n,
					   sizeof(n));

	if (!at) {
		return err_set(e, ENOMEM, "cannot read a node");
	}
	return json_get_text(obj, "node", at->name, sizeof(at->name), e) < 0 ||
	       json_opt_bool(obj, "tested", &at->tested, e) < 0 ||
	       json_opt_real(obj, "bw_GB_s", 0, MAX_GB_S, &at->bw_GB_s, e) <
		       0 ||
	       take_reals(obj, "gpu_GB_s", &at->gpu_GB_s, &at->n_gpus, e) <
		       0 ||
	       take_reals(obj, "nic_GB_s", &at->nic_GB_s, &at->n_nics, e) < 0 ?
		       -1 : 0;
}

static int take_finding(struct summary *s, const json_t *obj, struct err *e)
{
	struct summary_finding f = { .index = -1, .peer_index = -1 };
	char severity[8] = "";

	if (json_get_text(obj, "kind", f.kind, sizeof(f.kind), e) < 0 ||
	    json_opt_text(obj, "node", f.node, sizeof(f.node), e) < 0 ||
	    json_opt_text(obj, "peer_node", f.peer_node, sizeof(f.peer_node),
			  e) < 0 ||
	    json_opt_text(obj, "name", f.name, sizeof(f.name), e) < 0 ||
	    json_opt_int(obj, "index", 0, INT32_MAX, &f.index, e) < 0 ||
	    json_opt_int(obj, "peer_index", 0, INT32_MAX, &f.peer_index, e) <
		    0 ||
	    json_get_text(obj, "severity", severity, sizeof(severity), e) < 0 ||
	    json_get_text(obj, "code", f.code, sizeof(f.code), e) < 0) {
		return -1;
	}
	f.fail = strcmp(severity, "fail") == 0;
	return grow_add(&s->findings, &s->n_findings, &f, sizeof(f)) ? 0 :
	       err_set(e, ENOMEM, "cannot read a finding");
}

/** Each entry of the list @key to @take. */
static int take_each(struct summary *s, const json_t *obj, const char *key,
		     size_t max,
		     int (*take)(struct summary *s, const json_t *x,
				 struct err *e), struct err *e)
{
	json_t *list = json_get_array(obj, key, max, e), *x;
	struct err why;
	size_t i;

	if (!list) {
		return -1;
	}
	json_array_foreach(list, i, x) {
		if (take(s, x, &why) < 0) {
			return err_set(e, why.code, "entry %zu of '%s': %s",
				       i + 1, key, why.text);
		}
	}
	return 0;
}

static int take_head(struct summary *s, const json_t *obj, struct err *e)
{
	int64_t schema = 0;

	if (json_get_int(obj, "schema", 1, INT32_MAX, &schema, e) < 0) {
		return -1;
	}
	if (schema != SUMMARY_SCHEMA) {
		return err_set(e, 0, "format %" PRId64 ", which a later "
			       "version of gpucheck wrote", schema);
	}
	if (json_get_text(obj, "id", s->id, sizeof(s->id), e) < 0 ||
	    json_get_text(obj, "probe", s->probe, sizeof(s->probe), e) < 0 ||
	    json_get_text(obj, "started_utc", s->started_utc,
			  sizeof(s->started_utc), e) < 0 ||
	    json_get_text(obj, "status", s->status, sizeof(s->status), e) <
		    0 ||
	    json_get_bool(obj, "drill", &s->drill, e) < 0 ||
	    json_get_bool(obj, "model", &s->model, e) < 0) {
		return -1;
	}
	s->started_s = clock_utc_s(s->started_utc);
	return s->started_s >= 0 ? 0 :
	       err_set(e, 0, "'started_utc' is no time: '%s'", s->started_utc);
}

static int take_all(struct summary *s, const json_t *obj, struct err *e)
{
	return take_head(s, obj, e) < 0 ||
	       json_opt_text(obj, "version", s->version, sizeof(s->version),
			     e) < 0 ||
	       json_opt_text(obj, "ended_utc", s->ended_utc,
			     sizeof(s->ended_utc), e) < 0 ||
	       json_opt_text(obj, "transport", s->transport,
			     sizeof(s->transport), e) < 0 ||
	       json_opt_text(obj, "schedule", s->schedule,
			     sizeof(s->schedule), e) < 0 ||
	       json_opt_int(obj, "size_B", 0, INT64_MAX, &s->size_B, e) < 0 ||
	       json_opt_int(obj, "ranks", 0, INT32_MAX, &s->ranks, e) < 0 ||
	       json_get_int(obj, "node_count", 0, SUMMARY_NODES, &s->of_nodes,
			    e) < 0 ||
	       json_opt_real(obj, "inter_GB_s", 0, MAX_GB_S, &s->inter_GB_s,
			     e) < 0 ||
	       json_opt_real(obj, "intra_GB_s", 0, MAX_GB_S, &s->intra_GB_s,
			     e) < 0 ||
	       json_opt_real(obj, "busbw_GB_s", 0, MAX_GB_S, &s->busbw_GB_s,
			     e) < 0 ||
	       take_reals(obj, "rail_GB_s", &s->rail_GB_s, &s->n_rails, e) <
		       0 ||
	       take_each(s, obj, "findings", SUMMARY_FINDINGS, take_finding,
			 e) < 0 ||
	       take_each(s, obj, "nodes", SUMMARY_NODES, take_node, e) < 0 ?
		       -1 : 0;
}

/** The JSON object in @text, not too long; NULL with @e. */
static json_t *parse_text(const char *text, size_t len, struct err *e)
{
	if (len > SUMMARY_BYTES) {
		err_set(e, EFBIG, "%zu bytes, more than %d", len,
			SUMMARY_BYTES);
		return NULL;
	}
	return json_parse(text, len, e);
}

int summary_parse(const char *text, size_t len, struct summary *s,
		  struct err *e)
{
	json_t *obj = parse_text(text, len, e);
	int rc;

	*s = (struct summary){ .inter_GB_s = NAN, .intra_GB_s = NAN,
			       .busbw_GB_s = NAN };
	rc = obj ? take_all(s, obj, e) : -1;
	json_decref(obj);
	if (rc < 0) {
		summary_release(s);
	}
	return rc;
}

int summary_parse_node(const char *text, size_t len, struct summary *s,
		       struct err *e)
{
	json_t *obj = parse_text(text, len, e);
	int rc = !obj ? -1 :
		 s->n_nodes < SUMMARY_NODES ? take_node(s, obj, e) :
		 err_set(e, 0, "more than %d nodes", SUMMARY_NODES);

	json_decref(obj);
	return rc;
}

/* ---- beside others ------------------------------------------------------ */

bool summary_alike(const struct summary *a, const struct summary *b)
{
	return strcmp(a->probe, b->probe) == 0 &&
	       strcmp(a->transport, b->transport) == 0 &&
	       strcmp(a->schedule, b->schedule) == 0 &&
	       a->size_B == b->size_B && a->ranks == b->ranks &&
	       a->of_nodes == b->of_nodes;
}

bool summary_has_pairs(const struct summary *s)
{
	return isfinite(s->inter_GB_s) || isfinite(s->intra_GB_s);
}

const char *summary_setup(const struct summary *s, char buf[SUMMARY_SETUP])
{
	char size[32] = "";
	int n;

	if (s->size_B > 0) {
		units_size_text((uint64_t)s->size_B, size, sizeof(size));
	}
	n = snprintf(buf, SUMMARY_SETUP, "%s%s%s%s%s%s%s %" PRId64 " node%s",
		     s->probe, s->transport[0] ? " " : "", s->transport,
		     size[0] ? " " : "", size, s->schedule[0] ? " " : "",
		     s->schedule, s->of_nodes, s->of_nodes == 1 ? "" : "s");
	if (s->ranks > 0 && n < SUMMARY_SETUP) {
		snprintf(buf + n, (size_t)(SUMMARY_SETUP - n),
			 " %" PRId64 " rank%s", s->ranks,
			 s->ranks == 1 ? "" : "s");
	}
	return buf;
}

bool summary_counts(const struct summary *s, bool all)
{
	return strcmp(s->status, "unknown") != 0 &&
	       (all || (!s->drill && !s->model));
}

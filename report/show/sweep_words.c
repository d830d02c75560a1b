/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sweep.h"

#include <errno.h>

#include "report/diff/curve_diff.h"
#include "report/show/judged.h"
#include "report/base/wrap.h"

/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

int sweep_json(const struct sweep *s, const json_t *verdict, FILE *out,
	       struct err *e)
{
	const char *before = "\n";
	int rc = 0;

	fputs("{\"run\": ", out);
	json_dumpf(s->json, out, JSON_COMPACT);
	fputs(",\n\"verdict\": ", out);
	json_dumpf(verdict, out, JSON_COMPACT);
	fputs(",\n\"rows\": [", out);
	for (size_t i = 0; i < s->n && rc == 0; i++) {
		json_t *row = record_json(&schema_allreduce, &s->rows[i]);

		fputs(before, out);
		rc = row ? json_dumpf(row, out, ROW_FLAGS) : -1;
		json_decref(row);
		before = ",\n";
	}
	fputs("]}\n", out);
	return rc < 0 ? err_set(e, errno, "cannot write JSON") : 0;
}

static const char *curve_words(const struct curve *c)
{
	return c->name[0] ? c->name : c->first->op[0] ? c->first->op :
							"the collective";
}

/** One finding for a curve that falls short of the reference. */
static json_t *short_finding(const struct curve_diff *d)
{
	const struct allreduce_row *row = d->now->first;
	struct str says = STR_INIT;
	json_t *json;

	str_addf(&says, "%s falls short of the reference%s%s at %zu of %zu "
		 "sizes: ", curve_words(d->now), d->then->name[0] ? " " : "",
		 d->then->name, d->count[POINT_WORSE], d->n);
	curve_diff_sizes(d, POINT_WORSE, &says);
	json = json_pack("{s:s, s:n, s:n, s:n, s:n, s:s, s:s, s:s, s:I, s:I, "
			 "s:[], s:s, s:s, s:[], s:[], s:n}", "kind",
			 row->nodes == RECORD_NONE ? "config" :
			 row->nodes > 1 ? "inter_node" : "intra_node",
			 "node", "index", "peer_node", "peer_index",
			 "direction", "both", "severity", "fail",
			 "code", "below_reference",
			 "cells", (json_int_t)d->n,
			 "explained", (json_int_t)d->count[POINT_WORSE], "or",
			 "says", str_text(&says), "do",
			 "gpucheck p2p and gpucheck ib: is a link slow? "
			 "Compare NCCL_* and the library with those of the "
			 "reference", "evidence", "members", "score");
	str_release(&says);
	return json;
}

int sweep_against(const struct sweep *s, const struct sweep *reference,
		  json_t *verdict)
{
	json_t *findings = json_object_get(verdict, "findings");

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct curve *c = &s->curves[i];
		const struct curve *then = curve_partner(c, reference);
		struct curve_diff d;
		int rc = 0;

		if (!then) {
			continue;
		}
		if (curve_compare(c, then, &d) < 0) {
			return -1;
		}
		if (d.count[POINT_WORSE] > 0) {
			rc = json_array_append_new(findings,
						   short_finding(&d));
			json_object_set_new(verdict, "status",
					    json_string("fail"));
		}
		curve_diff_release(&d);
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}

void sweep_beside(const struct curve *c, const struct sweep *reference,
		  struct str *out)
{
	const struct curve *then = curve_partner(c, reference);
	struct str sizes = STR_INIT;
	struct curve_diff d;

	if (!then) {
		str_addf(out, "%s: no curve of the reference has the same "
			 "collective, ranks and type", curve_words(c));
	} else if (curve_compare(c, then, &d) == 0) {
		str_addf(out, "%s beside the reference%s%s: %zu of %zu sizes "
			 "within the noise, %zu slower, %zu faster, %zu off "
			 "alone", curve_words(c), then->name[0] ? " " : "",
			 then->name, d.count[POINT_SAME], d.n,
			 d.count[POINT_WORSE] + d.count[POINT_LOST],
			 d.count[POINT_BETTER], d.count[POINT_NOISY]);
		curve_diff_sizes(&d, POINT_NOISY, &sizes);
		str_addf(out, sizes.len ? " (%s)" : "%s", str_text(&sizes));
		curve_diff_release(&d);
	}
	str_release(&sizes);
}

static void add_crossovers(const struct sweep *s, const struct curve *of,
			   const struct wrap *w)
{
	struct str text = STR_INIT;

	sweep_crossovers(s, of, &text);
	if (text.len > 0) {
		wrap_text(w, 2, str_text(&text));
	}
	str_release(&text);
}

void sweep_words(const struct sweep *s, const struct sweep *reference,
		 int width, struct str *out)
{
	int columns = width > 0 ? width : JUDGED_FILE_WIDTH;
	const struct wrap w = { .out = out, .width = columns };

	if (s->n > 0) {
		str_addch(out, '\n');
		sweep_table(s, width, out);
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		if (sweep_leads(s, i)) {
			sweep_compare_table(s, &s->curves[i], columns, out);
			add_crossovers(s, &s->curves[i], &w);
		}
	}
	if (reference) {
		str_addch(out, '\n');
		for (size_t i = 0; i < s->n_curves; i++) {
			struct str text = STR_INIT;

			sweep_beside(&s->curves[i], reference, &text);
			wrap_text(&w, 2, str_text(&text));
			str_release(&text);
		}
	}
}

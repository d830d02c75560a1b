/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a collective, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <string.h>

#include "lib/data/json.h"
#include "lib/spec/spec.h"
#include "report/judge/caption.h"
#include "report/judge/collective.h"
#include "report/show/collective_show.h"

static void release(void *more)
{
	struct collective_pair *s = more;

	sweep_release(&s->now);
	sweep_release(&s->read);
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	struct collective_pair *s = j->more;
	const char *reference = j->ask.reference;

	if (sweep_read(dir, &j->run, &s->now, e) < 0) {
		return -1;
	}
	if (!reference[0]) {	/* what the run itself was given */
		reference = json_member(json_object_get(j->run.json, "options"),
					"reference");
	}
	if (reference[0] && sweep_reference(reference, &s->read, e) < 0) {
		return -1;
	}
	s->reference = reference[0] ? &s->read : NULL;
	return collective_judge(&j->run, &s->now, s->reference, &j->verdict);
}

static json_int_t count_gpus(const json_t *nodes)
{
	json_int_t n = 0;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		int64_t gpus = 0;

		json_opt_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, NULL);
		n += gpus;
	}
	return n;
}

/** "allreduce on 2 nodes with 16 GPUs: nccl, <UTC>", as far as run.json, maybe
 *  of tables that were imported, tells. */
static void add_what(const struct run *run, struct str *out)
{
	const json_t *nodes = json_object_get(run->json, "nodes");
	json_int_t gpus = count_gpus(nodes);
	size_t n = json_array_size(nodes);
	char utc[CAPTION_UTC_SIZE];

	str_add(out, run->probe);
	if (n > 0) {
		str_addf(out, " on %zu node%s with %lld %s%s", n,
			 n == 1 ? "" : "s", (long long)gpus,
			 spec_transport_rank(run->transport),
			 gpus == 1 ? "" : "s");
	}
	str_addf(out, ": %s", run->transport[0] ? run->transport :
		 json_object_get(run->json, "imported") ? "imported" :
							  "no transport");
	caption_utc(run->started_utc, utc);
	str_addf(out, "%s%s", utc[0] ? ", " : "", utc);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	struct str what = STR_INIT;

	if (i == 0) {
		add_what(&j->run, &what);
		str_copy(buf, size, str_text(&what));
		str_release(&what);
	} else if (i == 1) {
		caption_count("row", j->verdict.cells,
			      cell_class_name(CELL_SLOW), buf, size);
	}
	return i < 2;
}

static void say(struct str *text, const struct wrap *w)
{
	if (text->len > 0) {
		wrap_text(w, 2, str_text(text));
	}
	str_reset(text);
}

/** Tables, comparison of several curves and with the reference. */
static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	const struct collective_pair *both = j->more;
	const struct sweep *s = &both->now;
	const struct wrap w = { .out = out, .width = width > 0 ?
					    width : JUDGED_FILE_WIDTH };
	struct str text = STR_INIT;

	(void)style;	/* a table has no picture */
	if (s->n > 0) {
		str_addch(out, '\n');
		collective_table(s, width, out);
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		if (sweep_leads(s, i)) {
			collective_compare(s, &s->curves[i], w.width, out);
			collective_crossovers(s, &s->curves[i], &text);
			say(&text, &w);
		}
	}
	str_add(out, both->reference ? "\n" : "");
	for (size_t i = 0; both->reference && i < s->n_curves; i++) {
		collective_beside(&s->curves[i], both->reference, &text);
		say(&text, &w);
	}
	str_release(&text);
	return 0;
}

static int draw(const struct judged *j, const char *dir, struct err *e)
{
	const struct collective_pair *s = j->more;

	return curves_render(dir, &s->now, s->reference, e);
}

static bool takes(const char *probe)
{
	return collective_parse(probe) != COLLECTIVES;
}

const struct judged_kind judged_collective = {
	.takes = takes,
	.more_size = sizeof(struct collective_pair),
	.judge = judge,
	.release = release,
	.references = true,
	.head = head,
	.below = below,
	.html = collective_html,
	.draw = draw,
};

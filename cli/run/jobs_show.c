/* SPDX-License-Identifier: BSD-3-Clause */
/* --jobs=pairs: what would be submitted. */
#include "cli/run/jobs_ask.h"

#include <stdio.h>

#include <jansson.h>

#include "cli/plan/forecast.h"
#include "cli/run/jobs.h"
#include "lib/base/exit_code.h"
#include "lib/data/json.h"
#include "probes/probe.h"

/** About how long one takes to measure, and all of them; NAN: not known. */
static double forecast_s(const struct session *s, const struct jobs_ask *a,
			 const char *probe)
{
	struct spec part = s->spec;
	struct forecast f;
	double time_s;

	part.nodes = 2 * a->plan.group;
	part.nodelist[0] = part.exclude[0] = '\0';
	STR_COPY(part.pairs, a->kind);
	if (part.gpus_per_node == 0) {
		part.gpus_per_node = a->gpus;
	}
	forecast_make(&part, probe_find(probe), "sbatch", FORECAST_RANKS, &f);
	time_s = f.time_s;
	forecast_release(&f);
	return time_s;
}

void jobs_say_plan(const struct session *s, const struct jobs_ask *a,
		   const char *probe, struct str *out)
{
	const double one_s = forecast_s(s, a, probe);
	const int lanes = (size_t)s->spec.lanes < a->plan.n ?
				  (int)s->spec.lanes : (int)a->plan.n;
	char text[32];

	str_addf(out, "%zu job%s of %d nodes in %d lane%s, %d round%s of %zu "
		 "nodes", a->plan.n, a->plan.n == 1 ? "" : "s",
		 2 * a->plan.group, lanes, lanes == 1 ? "" : "s",
		 a->plan.rounds, a->plan.rounds == 1 ? "" : "s", a->n);
	if (a->busy + a->down > 0) {
		str_addf(out, " (%zu busy, %zu down)", a->busy, a->down);
	}
	if (one_s > 0) {
		str_addf(out, ", about %s to measure each",
			 forecast_time(one_s, text, sizeof(text)));
	}
}

int jobs_describe(const struct session *s, const struct probe_start *t,
		  const struct jobs_ask *a, struct err *e)
{
	struct spec spec = s->spec;
	struct launch_request r = t->r;
	struct str out = STR_INIT;
	const struct jobs_part *first = &a->plan.parts[0];
	int rc;

	STR_COPY(spec.nodelist, str_text(&first->nodes));
	spec.exclude[0] = '\0';
	spec.nodes = 0;
	r.spec = &spec;
	r.nodelist = str_text(&first->nodes);
	r.dir = "DIR/" JOBS_PARTS "/0001-1";
	r.lane = "gpucheck-ID-1";
	r.after = "DIR";
	r.gpus = a->gpus ? a->gpus : -1;
	rc = t->ops->describe(&r, &out, e);
	str_add(&out, "\n# This is the script of job 1.\n# ");
	jobs_say_plan(s, a, t->r.probe, &out);
	str_addch(&out, '\n');
	for (size_t i = 0; i < a->plan.n; i++) {
		str_addf(&out, "# job %zu, lane %d: %s\n", i + 1,
			 a->plan.parts[i].lane,
			 str_text(&a->plan.parts[i].nodes));
	}
	fputs(rc < 0 ? "" : str_text(&out), stdout);
	str_release(&out);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

int jobs_show_plan(const struct session *s, const struct jobs_ask *a,
		   const char *probe)
{
	struct str out = STR_INIT;
	const double one_s = forecast_s(s, a, probe);

	if (s->spec.json) {
		json_t *json = json_pack(
			"{s:i, s:I, s:i, s:I, s:i, s:o}", "schema", 1, "jobs",
			(json_int_t)a->plan.n, "nodes_of_each",
			2 * a->plan.group, "lanes",
			(json_int_t)s->spec.lanes, "rounds", a->plan.rounds,
			"time_s_of_each", one_s > 0 ? json_real(one_s) :
						      json_null());

		json_print(json, stdout, JSON_INDENT(1));
		json_decref(json);
	} else {
		jobs_say_plan(s, a, probe, &out);
		fputs(str_text(&out), stdout);
	}
	putchar('\n');
	str_release(&out);
	return CODE_HEALTHY;
}

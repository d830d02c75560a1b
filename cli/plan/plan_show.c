/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "lib/base/exit_code.h"
#include "cli/front/options.h"
#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "cli/plan/budget.h"
#include "cli/plan/tiers.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "sbatch/args.h"
#include "sbatch/launcher.h"

/** What would start it, and in @why where that is. */
static const char *choose_launcher(const struct spec *s, char *why,
				   size_t size)
{
	const struct launcher_ops *ops;
	struct spec asked = *s;

	if (s->node) {
		snprintf(why, size, "on this node (--node)");
		return launcher_local.name;
	}
	asked.dry_run = true;	/* a look at what runs elsewhere */
	ops = launcher_choose(&asked, why, size, NULL);
	if (!ops) {
		snprintf(why, size, "as a batch job, on a cluster with Slurm");
	}
	return ops ? ops->name : launcher_sbatch.name;
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *count_json(int64_t n)
{
	return n > 0 ? json_integer(n) : json_null();
}

static json_t *real_json(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *cheaper_json(const struct session *s, const struct forecast *f)
{
	struct str line = STR_INIT;
	double time_s;
	int k = forecast_sample(f, &time_s);
	json_t *json;

	if (!k) {
		return json_null();
	}
	plan_command(s, k, &line);
	json = json_pack("{s:i, s:f, s:o}", "sample", k, "time_s", time_s,
			 "command", json_text(str_text(&line)));
	str_release(&line);
	return json;
}

static json_t *forecast_json(const struct forecast *f)
{
	double hours = f->time_s / 3600;
	bool gpu = f->ops && xport_is(f->ops, XPORT_GPU);

	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"probe", f->probe->name,
		"transport", f->ops ? json_string(f->ops->name) : json_null(),
		"nodes", count_json(f->nodes), "ranks", count_json(f->ranks),
		"assumed", f->assumed && f->probe->kind != PROBE_NODES ?
				   json_pack("[s]", "gpus-per-node") :
				   json_array(),
		"cells", count_json((int64_t)f->cells),
		"rounds", count_json((int64_t)f->turns),
		"sizes", count_json(f->sizes),
		"variants", count_json(f->variants),
		"time_s", real_json(f->time_s),
		"time_least_s", real_json(f->least_s),
		"time_most_s", real_json(f->most_s),
		"bytes", real_json(f->bytes),
		"retry_s", real_json(f->retry_s),
		"follow_up_s", real_json(f->follow_s),
		"neighbours", count_json(f->neighbours),
		"neighbours_kept", count_json(f->kept),
		"node_hours", real_json(hours * (double)f->nodes), "gpu_hours",
		real_json(gpu ? hours * (double)f->ranks : NAN));
}

/* ---- one probe, or several --------------------------------------------- */

static int print_json(json_t *json)
{
	struct err e;
	int rc = json ? json_print(json, stdout,
				   JSON_INDENT(2) | JSON_REAL_PRECISION(6)) :
			-1;

	json_decref(json);
	putchar('\n');
	if (rc < 0 && !ferror(stdout)) {
		err_set(&e, 0, "no memory for the plan");
		talk_err(&e);
		return CODE_UNABLE;
	}
	return CODE_HEALTHY;
}

static int show_one(struct session *s, const struct probe *probe,
		    const char *launcher, const char *why)
{
	struct str out = STR_INIT, left_out = STR_INIT;
	struct forecast f;
	json_t *json, *more;
	int code = CODE_HEALTHY;

	budget_fit(&s->spec, probe, launcher, &left_out);
	forecast_make(&s->spec, probe, launcher, PLAN_RANKS, &f);
	if (s->spec.json) {
		more = forecast_json(&f);
		json = json_pack("{s:i, s:s}", "schema", 1, "launcher",
				 launcher);
		json_object_update(json, more);
		json_object_set_new(json, "cheaper", cheaper_json(s, &f));
		json_object_set_new(json, "tiers", tiers_json(&f));
		json_object_set_new(json, "left_out",
				    json_text(str_text(&left_out)));
		json_decref(more);
		code = print_json(json);
	} else {
		str_addf(&out, "%s%s%s, %s\n\n", probe->name,
			 f.ops ? " by " : "", f.ops ? f.ops->name : "", why);
		plan_words(s, &f, &out);
		if (left_out.len > 0) {
			str_add(&out, "\n--budget: ");
			wrap_text(&(struct wrap){ .out = &out, .width = 80 }, 2,
				  str_text(&left_out));
		}
		if (!s->spec.quiet) {
			screen_print(&out, stdout);
		}
	}
	str_release(&out);
	str_release(&left_out);
	forecast_release(&f);
	return code;
}

/** What each() of a conductor goes through. */
struct several {
	const struct command *const *commands;
	const char *launcher;
	struct str text;
	json_t *list;
	double least_s, most_s;	/* of all together, as far as known */
	double bytes;		/* from node to node */
};

static void add_probe(struct several *all, const struct forecast *f)
{
	char cells[32] = "-", time[80];
	const char *bound = !isnan(f->time_s)	? "about " :
			    isnan(f->least_s)	? "at most " :
			    isnan(f->most_s)	? "at least " : "";

	if (f->cells) {
		snprintf(cells, sizeof(cells), "%zu", f->cells);
	}
	plan_time_text(f, time, sizeof(time));
	all->least_s += !isnan(f->time_s) ? f->time_s :
			!isnan(f->least_s) ? f->least_s : 0;
	all->most_s += !isnan(f->time_s) ? f->time_s :
		       !isnan(f->most_s) ? f->most_s :
		       !isnan(f->least_s) ? f->least_s : 0;
	all->bytes += f->bytes > 0 ? f->bytes : 0;
	str_addf(&all->text, "  %-11s %10s  %s%s\n", f->probe->name,
		 cells, time[0] ? bound : "",
		 time[0] ? time : "not known in advance");
	json_array_append_new(all->list, forecast_json(f));
}

static void see_step(void *arg, const char *probe, const struct args *line,
		     const char *why_not)
{
	struct several *all = arg;
	struct str left_out = STR_INIT;
	struct session s = { .whole = true };
	struct forecast f;

	if (!line) {
		str_addf(&all->text, "  %-11s %10s  not run: %s\n", probe, "-",
			 why_not);
		return;
	}
	s.argc = (int)line->n;
	s.argv = line->argv;
	if (options_parse(&s, command_find(all->commands, probe), NULL) == 0) {
		/* the launcher that a step is told is that inside the job */
		budget_fit(&s.spec, probe_find(probe), all->launcher,
			   &left_out);
		forecast_make(&s.spec, probe_find(probe), all->launcher,
			      PLAN_RANKS, &f);
		add_probe(all, &f);
		if (left_out.len > 0) {
			str_add(&all->text, "    ");
			wrap_text(&(struct wrap){ .out = &all->text,
						  .width = 80 }, 6,
				  str_text(&left_out));
		}
		str_release(&left_out);
		forecast_release(&f);
	}
	options_release(&s);
}

static int show_all(const struct session *s, const struct conductor *c,
		    const char *launcher, const char *why)
{
	const struct step_place place = {
		.self = "gpucheck", .dir = "", .spec = &s->spec,
		.commands = s->commands,
		.launcher = launcher, .takes = c->takes,
	};
	struct several all = { .commands = s->commands,
			       .launcher = launcher, .list = json_array() };
	char least[32], most[32], bytes[32];
	int code = CODE_HEALTHY;

	c->each(&place, see_step, &all);
	if (s->spec.json) {
		code = print_json(json_pack(
			"{s:i, s:s, s:O, s:f, s:f, s:f}", "schema", 1,
			"launcher", launcher, "probes", all.list,
			"time_least_s", all.least_s, "time_most_s", all.most_s,
			"bytes", all.bytes));
	} else {
		forecast_time(all.least_s, least, sizeof(least));
		forecast_time(all.most_s, most, sizeof(most));
		units_size_text((uint64_t)all.bytes, bytes, sizeof(bytes));
		printf("%s, one after the other, %s\n\n"
		       "  %-11s %10s  time\n%s  %-11s %10s  about %s%s%s, and "
		       "the start of each\n",
		       c->name, why, "probe", "tests", str_text(&all.text),
		       "total", "", least,
		       strcmp(least, most) == 0 ? "" : " to ",
		       strcmp(least, most) == 0 ? "" : most);
		if (all.bytes > 0) {
			printf("  %-11s %10s  from node to node, about\n",
			       "bytes", bytes);
		}
		printf("\n\"gpucheck plan COMMAND\" shows details.\n");
	}
	json_decref(all.list);
	str_release(&all.text);
	return code;
}

int plan_show(struct session *s, const char *probe,
	      const struct conductor *c)
{
	char why[320];
	const char *launcher = choose_launcher(&s->spec, why, sizeof(why));

	return c && c->each ? show_all(s, c, launcher, why) :
			      show_one(s, probe_find(probe), launcher, why);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* --retest: test the faulty parts of an earlier run again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/data/rundir.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"
#include "report/show/judged.h"
#include "sbatch/launcher.h"

/** Take the options of the run, and those of now that change no test.  The run
 *  of another user may name programs and libraries: of it only the harmless
 *  ones, such as the pairs and nodes to measure. */
static int take_options(struct session *s, const struct left *l,
			struct err *e)
{
	static const char *const single[] = { "jobs", "max-jobs", "deadline" };
	const bool by_ssh = options_typed(s, "ssh");
	char launcher[sizeof(s->spec.launcher)];
	struct spec fresh;

	if (l->foreign) {
		for (const struct spec_option *o = spec_options; o->name; o++) {
			if (o->harmless && !s->typed[o - spec_options]) {
				spec_take(&s->spec, &l->spec, o);
			}
		}
		talk("other users can write to '%s': of its options only nodes, "
		     "pairs, sizes and transport are taken", l->dir);
		return 0;
	}
	memcpy(launcher, s->spec.launcher, sizeof(launcher));
	if (left_options(s, &l->spec, "retest", tell_retest_options, "",
			 e) < 0) {
		return -1;
	}
	spec_init(&fresh);
	for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++) {
		spec_take(&s->spec, &fresh, spec_find(single[i]));
	}
	if (!options_typed(s, "inject")) {
		spec_take(&s->spec, &fresh, spec_find("inject"));
	}
	if (by_ssh) {
		memcpy(s->spec.launcher, launcher, sizeof(launcher));
		s->spec.local = false;
	}
	return 0;
}

/** Set option @name to @text, which rows of a file decided. */
static int take_text(struct spec *s, const char *name, const struct str *text)
{
	return text->len > 0 ?
		       spec_set(s, spec_find(name), str_text(text), NULL) : 0;
}

/** Take the plan: measure only that. */
static int take_plan(struct session *s, const struct left *l,
		     const struct retest_plan *p, struct err *e)
{
	struct spec *spec = &s->spec;
	/* that its user starts agents on these nodes */
	const bool trusts = !spec->ssh[0] && !spec->local &&
			    spec_launcher_is(spec->launcher[0] ?
						     spec->launcher :
						     l->launcher,
					     LAUNCHER_ONCE);

	spec->nodes = 0;
	spec->exclude[0] = '\0';
	spec->sample = 0;
	spec->budget_ns = 0;
	spec->quick = false;
	spec->nodelist[0] = '\0';
	if ((!trusts && take_text(spec, "nodelist", &p->nodes) < 0) ||
	    take_text(spec, "pairs", &p->pairs) < 0) {
		err_set(e, 0, "%zu findings are too many for one retest",
			json_array_size(p->parts));
		return err_hint(e, "omit --retest: use a normal run for this "
				"many parts");
	}
	return 0;
}

/** Take the words after "--" of the first command if the launcher is the
 *  same. */
static void take_extra(struct session *s, struct left *l)
{
	char why[320];
	const struct launcher_ops *ops;

	if (l->foreign) {
		return;
	}
	if (!s->spec.launcher[0] && !s->spec.local && !s->spec.ssh[0] &&
	    !spec_launcher_is(l->launcher, LAUNCHER_SLURM)) {
		STR_COPY(s->spec.launcher, l->launcher);
	}
	ops = launcher_choose(&s->spec, why, sizeof(why), NULL);
	if (!s->extra[0] && ops && strcmp(ops->name, l->launcher) == 0) {
		s->extra = l->extra;
	}
}

/** Retests the run in l->dir.  Returns an exit code, with @e on failure. */
static int run(struct session *s, struct left *l, const struct judged *j,
	       const char *probe,
	       int (*check)(struct session *s, struct str *drill,
			    struct err *e),
	       const struct conductor *c, struct err *e)
{
	struct retest_plan p;
	char word[PATH_MAX];
	int code = CODE_USAGE;
	json_t *retest = NULL;

	if (retest_plan(&j->run, &j->verdict, &p) < 0) {
		err_set(e, ENOMEM, "no memory for a retest");
		code = CODE_UNABLE;
	} else if (json_array_size(p.parts) == 0) {
		err_set(e, 0, "the run in '%s' has no findings to retest: %s",
			l->dir, verdict_status_name(j->verdict.status));
		if (left_count(l, NULL) < 0 || !left_is_whole(l)) {
			err_hint(e, "to run its missing tests: \"gpucheck %s "
				 "--resume %s\"", probe,
				 str_quoted_dir(l->dir, word, sizeof(word)));
		}
	} else if (take_options(s, l, e) == 0 && take_plan(s, l, &p, e) == 0) {
		take_extra(s, l);
		retest = run_part_json("retest", &(struct run_file){
			.retest = { .dir = l->dir, .parts = p.parts } });
		s->retest = retest;
		talk("retesting %zu finding%s of '%s' on %s, and on %zu "
		     "healthy node%s", json_array_size(p.parts),
		     json_array_size(p.parts) == 1 ? "" : "s", l->dir,
		     str_text(&p.nodes), p.n_controls,
		     p.n_controls == 1 ? "" : "s");
		code = probe_run(s, check, c);
		s->retest = NULL;
		json_decref(retest);
	}
	retest_plan_release(&p);
	return code;
}

int retest_main(struct session *s, const char *probe,
		int (*check)(struct session *s, struct str *drill,
			     struct err *e),
		const struct conductor *c)
{
	const struct judged_ask ask = { .reference = "", .brief = true };
	struct left *l = calloc(1, sizeof(*l));
	struct judged *j = NULL;
	struct err e = { 0 };
	int code = CODE_USAGE;

	if (!l) {
		err_set(&e, ENOMEM, "no memory for a run");
	} else if (s->plan) {
		err_set(&e, 0, "plan does not go with --retest");
	} else if (!realpath(s->spec.retest, l->dir)) {
		rundir_missing(s->spec.retest, &e);
	} else if (left_read(l, probe, "retest", &e) == 0) {
		STR_COPY(s->spec.retest, l->dir);
		if (judged_make(l->dir, NULL, &ask, &j, &e) < 0) {
			code = CODE_UNABLE;
		} else {
			code = run(s, l, j, probe, check, c, &e);
		}
	}
	if (e.text[0]) {
		talk_err(&e);
	}
	judged_free(j);
	if (l) {
		left_release(l);
		free(l);
	}
	return code;
}

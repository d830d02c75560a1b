/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/srun_step.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"

/** Components of one step that every Slurm with them takes. */
#define MAX_COMPONENTS 128
/** Steps of several components in any job, by "srun A : B". */
#define COMPONENTS_SINCE 201100

/** Neighbours that get the same words. */
struct component {
	const struct allocation_part *first; /* NULL: those that srun chooses */
	size_t n;
	int gpus;		/* of each, 0: nothing is said of them */
	int group;		/* of a heterogeneous job, -1: it is none */
	bool alone;		/* its GPUs are asked for in all: by node Slurm
				 * compares them with every node of the job */
};

/* ---- one component ---------------------------------------------------------
 */

static void add_versioned(int version, struct args *a)
{
	static const struct {
		int since, until;
		const char *word;
	} words[] = {
		{ .word = "--cpu-bind=none" },
		/* "Invalid --gpu-bind" before */
		{ .since = 210801, .word = "--gpu-bind=none" },
		{ .word = "--kill-on-bad-exit=0" },
		{ .word = "--no-kill" },
		{ .since = 201100, .word = "--overlap" },
		/* these alone gave a step one CPU a task, not the node's.
		 * --cpus-per-task would name one number for nodes of all
		 * sizes, and fails where --hint left half of the threads */
		{ .since = 201100, .until = 201103, .word = "--whole" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const int until = words[i].until;

		if (version == 0 ? until == 0 :
				   version >= words[i].since &&
					   (until == 0 || version < until)) {
			args_add(a, words[i].word);
		}
	}
}

/** @what is @names, which is released. */
static void add_list(const char *what, struct str *names, struct args *a)
{
	struct str list = STR_INIT;

	hostlist_shorten(&list, str_text(names));
	args_addf(a, "%s=%s", what, str_text(&list));
	a->failed |= names->failed || list.failed;
	str_release(&list);
	str_release(names);
}

/** The words for srun; of a roll call without those of a container, whose image
 *  may take minutes to import.  Returns true if there are such. */
static bool add_words(const struct launch_request *r, bool muster,
		      struct args *a)
{
	struct args words = { 0 };
	bool image = false;

	args_add_all(&words, r->extra);
	args_add_srun(&words, r->spec);
	for (size_t i = 0; i < words.n; i++) {
		const char *word = words.argv[i];

		if (!muster || (!str_starts(word, "--container") &&
				!str_starts(word, "--no-container"))) {
			args_add(a, word);
			continue;
		}
		image = true;
		/* "--container-image IMAGE" */
		i += !strchr(word, '=') && i + 1 < words.n &&
		     words.argv[i + 1][0] != '-';
	}
	a->failed |= words.failed;
	args_release(&words);
	return image;
}

static void add_component(struct srun_step *s, const struct launch_request *r,
			  const char *name, const struct component *c)
{
	struct args *a = &s->line;
	bool image;

	args_add(a, a->n ? ":" : "srun");
	if (c->group >= 0) {
		args_addf(a, "--het-group=%d", c->group);
	}
	if (name) {
		args_addf(a, "--job-name=%s", name);
	}
	args_addf(a, "--mpi=%s", s->pmi2 && !s->muster ? "pmi2" : "none");
	args_addf(a, "--nodes=%zu", c->n);
	args_addf(a, "--ntasks=%zu", c->n);
	args_add(a, "--ntasks-per-node=1");
	if (c->gpus) {
		args_addf(a, c->alone ? "--gpus=%d" : "--gres=gpu:%d", c->gpus);
	}
	add_versioned(s->version, a);
	if (c->first) {
		struct str names = STR_INIT;

		for (size_t i = 0; i < c->n; i++) {
			str_addf(&names, "%s%s", i ? "," : "",
				 c->first[i].nodes);
		}
		add_list("--nodelist", &names, a);
	} else {
		args_add_places(a, r->nodelist, r->spec);
	}
	image = add_words(r, s->muster, a);
	if (image) {
		/* this program may be in the image only */
		args_words(a, "/bin/sh -c");
		args_add(a, "echo \"" MUSTER_HERE "$SLURMD_NODENAME\"");
	} else if (s->muster) {
		args_add(a, r->self);
		args_add(a, MUSTER_COMMAND);
	} else {
		launcher_add_agent(r, a);
	}
}

/* ---- which there are ---------------------------------------------------- */

static bool is_left_out(const struct launch_request *r, const char *name)
{
	return r->nodelist ? !hostlist_has(r->nodelist, name) ||
				     hostlist_has(r->spec->exclude, name) :
			     spec_leaves_out(r->spec, name);
}

/** Append the nodes that DIR/absent of @r names and @r does not leave out, with
 *  commas. */
static void list_absent(const struct launch_request *r, struct str *names)
{
	FILE *f = rundir_open(r->dir, RUN_ABSENT, NULL);
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		json_t *news = json_loads(line, 0, NULL);
		const char *node = run_entry_of(news).node;

		if (node[0] && strspn(node, HOSTLIST_NAME_CHARS) ==
					strlen(node) &&
		    !is_left_out(r, node) &&
		    !hostlist_has(str_text(names), node)) {
			str_addf(names, "%s%s", names->len > 0 ? "," : "",
				 node);
		}
		json_decref(news);
	}
	free(line);
	if (f) {
		fclose(f);
	}
}

/** Add the nodes of the job @all that @r is to have, a part each, in order, to
 *  @p: without those in the list @lost, which cannot start an agent.  Returns
 *  false without memory. */
static bool find_places(const struct allocation *all,
			const struct launch_request *r, const char *lost,
			struct allocation *p)
{
	size_t most = r->spec->nodes > 0 ? (size_t)r->spec->nodes : SIZE_MAX;
	bool fits = true;

	for (size_t i = 0; fits && i < all->n; i++) {
		const struct allocation_part *part = &all->parts[i];
		size_t n = 0;
		char **names = hostlist_expand(part->nodes, &n, NULL);

		for (size_t k = 0; fits && k < n && p->n < most; k++) {
			fits = is_left_out(r, names[k]) ||
			       hostlist_has(lost, names[k]) ||
			       allocation_add(p, names[k], strlen(names[k]),
					      part->gpus, part->group) == 0;
		}
		hostlist_free(names, n);
	}
	return fits;
}

static bool is_heterogeneous(const struct allocation *all)
{
	return all->n > 0 && all->parts[all->n - 1].group > 0;
}

/** The least that a node of @group has. */
static int least(const struct allocation *all, int group)
{
	int gpus = ALLOCATION_MAX_GPUS;

	for (size_t i = 0; i < all->n; i++) {
		if (all->parts[i].group == group && all->parts[i].gpus < gpus) {
			gpus = all->parts[i].gpus;
		}
	}
	return all->n ? gpus : 0;
}

/** The component of @p that begins at @at. */
static struct component component_at(const struct allocation *all,
				     const struct allocation *p, size_t at)
{
	const struct allocation_part *first = &p->parts[at];
	struct component c = {
		.first = first, .n = 1, .gpus = first->gpus,
		.group = is_heterogeneous(all) ? first->group : -1,
		.alone = first->gpus > least(all, first->group),
	};

	while (!c.alone && at + c.n < p->n && first[c.n].gpus == c.gpus &&
	       first[c.n].group == first->group) {
		c.n++;
	}
	return c;
}

/** Return true if the nodes @p need several components, and srun takes so
 *  many. */
static bool takes_components(const struct srun_step *s,
			     const struct allocation *p)
{
	const struct allocation *all = &s->alloc;
	bool even = !is_heterogeneous(all);
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		even = even && all->parts[i].gpus == all->parts[0].gpus;
	}
	if (even || (s->version != 0 && s->version < COMPONENTS_SINCE)) {
		return false;
	}
	for (size_t at = 0; at < p->n; n++) {
		at += component_at(all, p, at).n;
	}
	return n > 0 && n <= MAX_COMPONENTS;
}

/* ---- environment -------------------------------------------------------- */

static void compose_env(struct srun_step *s, const struct allocation *p,
			const char *lost, char *const inherited[])
{
	/* srun needs these to find its job.  Other variables of Slurm's
	 * commands, of which each version has more, describe the step. */
	static const char *const needed[] = {
		"SLURM_CONF", "SLURM_JOB", "SLURM_HET_", "SLURM_CLUSTER",
		"SLURM_PACK_", "SLURM_WORKING_CLUSTER", NULL
	};
	struct allocation meant = { 0 };
	struct str text = STR_INIT;
	char **names;
	size_t n = 0;

	for (; *inherited; inherited++) {
		const char *v = *inherited;
		size_t i = 0;

		while (needed[i] && !str_starts(v, needed[i])) {
			i++;
		}
		if ((str_starts(v, "SLURM_") || str_starts(v, "SRUN_")) &&
		    !needed[i]) {
			args_addf(&s->env, "%.*s", (int)strcspn(v, "="), v);
		}
	}
	/* whatever other variables say about the ranks of its processes */
	args_addf(&s->env, "GPUCHECK_BOOT=%s",
		  s->pmi2 ? "pmi2" : "rendezvous");
	for (size_t i = 0; i < p->n; i++) {
		const struct allocation_part *at = &p->parts[i];

		allocation_add(&meant, at->nodes, strlen(at->nodes), at->gpus,
			       0);
	}
	names = lost[0] ? hostlist_expand(lost, &n, NULL) : NULL;
	for (size_t i = 0; i < n; i++) {
		/* less than 0, which is not added: not a node of the job */
		allocation_add(&meant, names[i], strlen(names[i]),
			       allocation_gpus(&s->alloc, names[i]), 0);
	}
	hostlist_free(names, n);
	allocation_text(&meant, &text);
	if (text.len > 0) {
		args_addf(&s->env, ALLOCATION_ENV "=%s", str_text(&text));
	}
	s->env.failed |= text.failed;
	str_release(&text);
	allocation_release(&meant);
}

/* ---- as a whole --------------------------------------------------------- */

int64_t srun_step_nodes(const struct spec *s)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	const char *count = getenv("SLURM_JOB_NUM_NODES");
	int64_t n = 0;

	if (list && (s->nodelist[0] || s->exclude[0])) {
		n = spec_nodes_left(s, list, NULL);
	}
	if (n == 0 && count) {
		units_parse_int(count, 1, SPEC_MAX_NODES, &n, NULL);
	}
	return n;
}

/** Return true if srun starts the step in an OCI container: Slurm writes its
 *  environment before that of PMI2 is known, so agents meet by a file. */
static bool in_oci_container(const struct launch_request *r)
{
	struct args words = { 0 };
	bool in = false;

	args_add_all(&words, r->extra);
	args_add_srun(&words, r->spec);
	for (size_t i = 0; i < words.n && !in; i++) {
		in = strcmp(words.argv[i], "--container") == 0 ||
		     str_starts(words.argv[i], "--container=");
	}
	args_release(&words);
	return in;
}

void srun_step_compose(struct srun_step *s, const struct launch_request *r,
		       const char *name, char *const inherited[])
{
	struct str lost = STR_INIT, ranks = STR_INIT;
	struct allocation p = { 0 };	/* of a node each */
	struct component c;
	bool several;

	s->pmi2 = s->pmi2 && !in_oci_container(r);
	list_absent(r, &lost);
	s->line.failed |= !find_places(&s->alloc, r, str_text(&lost), &p);
	for (size_t i = 0; i < p.n; i++) {
		str_addf(&s->nodes, "%s%s", i ? "," : "", p.parts[i].nodes);
	}
	compose_env(s, &p, str_text(&lost), inherited);
	several = takes_components(s, &p);
	if (several || (p.n > 0 && lost.len > 0)) {
		/* name the nodes by rank where Slurm's node list does not: lost
		 * ones have the last ranks */
		str_addf(&ranks, "%s%s%s", str_text(&s->nodes),
			 lost.len > 0 ? "," : "", str_text(&lost));
		add_list("GPUCHECK_NODELIST", &ranks, &s->env);
	}
	/* several components: their ranks are in the order of the line, not of
	 * Slurm's node list */
	for (size_t at = 0; several && at < p.n; at += c.n) {
		c = component_at(&s->alloc, &p, at);
		add_component(s, r, name, &c);
	}
	if (!several) {
		/* of a heterogeneous job, the nodes of its first group */
		c = (struct component){
			.gpus = least(&s->alloc, 0), .group = -1,
			.first = lost.len > 0 ? p.parts : NULL,
		};
		while (c.n < p.n && p.parts[c.n].group == 0) {
			c.n++;
		}
		if (c.n == 0) {
			c.n = (size_t)(r->spec->nodes > 0 ?
					       r->spec->nodes :
					       srun_step_nodes(r->spec));
		}
		c.n += c.n == 0;
		add_component(s, r, name, &c);
	}
	allocation_release(&p);
	str_release(&lost);
}

void srun_step_ask(struct srun_step *s)
{
	const char *job = getenv("SLURM_JOB_ID");

	s->pmi2 = slurm_has_pmi2();
	s->version = slurm_srun_version();
	if (job) {
		slurm_job_allocation(job, &s->alloc, NULL);
	}
}

void srun_step_describe(const struct srun_step *s, struct str *out)
{
	struct args words = { 0 };

	for (size_t i = 0; i < s->env.n; i++) {
		if (!strchr(s->env.argv[i], '=')) {
			args_unset(&words, s->env.argv[i]);
		}
	}
	for (size_t i = 0; i < s->env.n; i++) {
		if (strchr(s->env.argv[i], '=')) {
			args_add(&words, s->env.argv[i]);
		}
	}
	args_add_all(&words, s->line.argv);
	args_line(&words, out);
	str_addch(out, '\n');
	out->failed |= words.failed;
	args_release(&words);
}

int srun_step_become(struct srun_step *s, struct err *e)
{
	struct str line = STR_INIT;

	if (s->line.failed || s->env.failed) {
		return err_set(e, ENOMEM, "no memory for a command line");
	}
	srun_step_describe(s, &line);
	fprintf(stderr, "%s", str_text(&line));
	str_release(&line);
	for (size_t i = 0; i < s->env.n; i++) {
		putenv(s->env.argv[i]);	/* without "=" it goes */
	}
	execvp(s->line.argv[0], s->line.argv);
	return err_set(e, errno, "cannot start '%s'", s->line.argv[0]);
}

void srun_step_release(struct srun_step *s)
{
	allocation_release(&s->alloc);
	args_release(&s->line);
	args_release(&s->env);
	str_release(&s->nodes);
}

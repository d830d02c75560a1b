/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/allocation.h"
#include "lib/spec/spec.h"
#include "sbatch/slurm.h"

#define MAX_GPUS ALLOCATION_MAX_GPUS

/** Nodes of one partition. */
struct partition {
	char name[64];
	int64_t nodes, with_features;
	int64_t with_gpus[MAX_GPUS + 1];	/* of those, by their GPUs */
};

bool slurm_fit_features(const char *wanted, const char *has)
{
	if (!wanted || strpbrk(wanted, "|[]()*!")) {
		return true;
	}
	for (size_t n; *wanted; wanted += n + (wanted[n] != '\0')) {
		const char *at = has;
		bool found = false;

		n = strcspn(wanted, "&,");
		for (size_t k; *at && !found; at += k + (at[k] != '\0')) {
			k = strcspn(at, ",");
			found = k == n && strncmp(at, wanted, n) == 0;
		}
		if (n > 0 && !found) {
			return false;
		}
	}
	return true;
}

/** Nodes that have @gpus each, or more. */
static int64_t count_with(const struct partition *p, int64_t gpus)
{
	int64_t n = 0;

	for (int64_t i = gpus; i <= MAX_GPUS; i++) {
		n += p->with_gpus[i];
	}
	return n;
}

/** Return the number of GPUs that most nodes have, or fewer so that @nodes have
 *  it; 0: none has any. */
static int64_t usual_gpus(const struct partition *p, int64_t nodes)
{
	int64_t best = 0;

	for (int64_t i = 1; i <= MAX_GPUS; i++) {
		if (p->with_gpus[i] > 0 && (best == 0 || p->with_gpus[i] >=
							 p->with_gpus[best])) {
			best = i;
		}
	}
	for (int64_t i = best; i > 0 && count_with(p, best) < nodes; i--) {
		best = p->with_gpus[i - 1] > 0 && i > 1 ? i - 1 : best;
	}
	return best;
}

/** Which lines are meant: of one partition, the default one, or all. */
enum which { NAMED, DEFAULT, ALL };

/** Add the lines of @text that are meant, "debug*|2|gpu:8|a,b", to @p. */
static void read_partition(const struct slurm_fit *f, enum which which,
			   const char *name, size_t len, const char *text,
			   struct partition *p)
{
	*p = (struct partition){ 0 };
	for (size_t end; *text; text += end + (text[end] == '\n')) {
		char line[4096], *at = line, *word[4] = { NULL };
		size_t n;
		int64_t nodes;
		bool usual;

		end = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)end, text);
		for (size_t i = 0; i < 4 && at; i++) {
			word[i] = strsep(&at, "|");
		}
		n = strcspn(word[0], "*");
		usual = word[0][n] == '*';
		word[0][n] = '\0';
		if (!word[3] || (which == DEFAULT && !usual) ||
		    (which == NAMED &&
		     (n != len || strncmp(word[0], name, len) != 0)) ||
		    units_parse_int(word[1], 0, 1000000, &nodes, NULL) < 0) {
			continue;
		}
		STR_COPY(p->name, word[0]);
		p->nodes += nodes;
		if (slurm_fit_features(f->features, word[3])) {
			p->with_features += nodes;
			p->with_gpus[slurm_gres_gpus(word[2])] += nodes;
		}
	}
}

/** "partition 'a' has 3 nodes, 1 of them with feature x, 0 with 8 GPUs". */
static int refuse(const struct slurm_fit *f, const struct partition *p,
		  int64_t gpus, struct err *e)
{
	const int64_t with = count_with(p, gpus);
	struct str has = STR_INIT;

	str_addf(&has, "partition '%s' has %" PRId64 " node%s", p->name,
		 p->nodes, p->nodes == 1 ? "" : "s");
	if (p->with_features < p->nodes) {
		str_addf(&has, ", %" PRId64 " of them with --constraint=%s",
			 p->with_features, f->features);
	}
	if (with < p->with_features) {
		str_addf(&has, ", %" PRId64 " of them with %" PRId64 " GPU%s",
			 with, gpus, gpus == 1 ? "" : "s");
	}
	err_set(e, 0, "%s, and %" PRId64 " %s asked for", str_text(&has),
		f->nodes, f->nodes == 1 ? "is" : "are");
	str_release(&has);
	return err_hint(e, "-N asks for fewer nodes, -G for fewer GPUs of each, "
			   "\"-- --partition=NAME\" for nodes elsewhere");
}

int slurm_fit_parse(const struct slurm_fit *f, const char *text, int64_t *gpus,
		    struct err *e)
{
	struct partition best = { 0 }, all, p;
	const char *name = f->partitions;
	int64_t usual, there;

	/* the partition of those that are wanted that has most such nodes */
	if (!name) {
		read_partition(f, DEFAULT, NULL, 0, text, &best);
	}
	for (size_t n; name && *name; name += n + (name[n] == ',')) {
		n = strcspn(name, ",");
		read_partition(f, NAMED, name, n, text, &p);
		if (p.name[0] && (!best.name[0] ||
				  count_with(&p, f->gpus) >
					  count_with(&best, f->gpus))) {
			best = p;
		}
	}
	read_partition(f, ALL, NULL, 0, text, &all);
	there = usual_gpus(&all, 1);
	usual = best.name[0] ? usual_gpus(&best, f->nodes) : there;
	/* a cluster without GPUs refuses --gres, and tcp needs none */
	*gpus = usual == 0 && !f->on_gpus ? 0 :
		f->gpus > 0		  ? f->gpus :
		usual > 0		  ? usual : there;
	/* nodes of both kinds: of an exclusive job all that they have */
	if (!f->on_gpus && best.name[0] &&
	    count_with(&best, *gpus) < f->nodes) {
		*gpus = 0;
	}
	/* what is no gres here Slurm knows better than we */
	return best.name[0] &&
			       count_with(&best, there > 0 ? *gpus : 0) <
				       f->nodes ?
		       refuse(f, &best, there > 0 ? *gpus : 0, e) : 0;
}

/* ---- what a job asks for ------------------------------------------------- */

const char *slurm_fit_option(char *const extra[], const char *name,
			     char letter)
{
	const char *found = NULL, *next;

	for (; extra && *extra; extra++) {
		const char *word = *extra;
		const size_t n = strcspn(word, "=");

		next = extra[1] ? extra[1] : "";
		if (str_starts(word, "--") && n > 2 &&
		    strncmp(word + 2, name, n - 2) == 0) {
			found = word[n] ? word + n + 1 : next;
		} else if (letter && word[0] == '-' && word[1] == letter) {
			found = word[2] ? word + 2 : next;
		}
	}
	return found;
}

const char *slurm_fit_asked(char *const extra[], const char *name, char letter,
			    const char *variable)
{
	const char *typed = slurm_fit_option(extra, name, letter);

	return typed ? typed : getenv(variable);
}

/** A site's plugin may choose the partition of a job. */
static bool is_routed(void)
{
	struct str out = STR_INIT;
	const char *at;
	bool routed = true;

	if (slurm_ask("scontrol show config", NULL, &out, NULL) == 0 &&
	    (at = strstr(str_text(&out), "JobSubmitPlugins"))) {
		at += strcspn(at, "=\n");
		at += *at == '=';
		at += strspn(at, " ");
		routed = !str_starts(at, "(null)") && *at != '\n';
	}
	str_release(&out);
	return routed;
}

int64_t slurm_fit_limit(const char *text, const char *partitions)
{
	int64_t least = 0;

	for (size_t end; *text; text += end + (text[end] == '\n')) {
		const size_t n = strcspn(text, "*|\n");
		const char *at = partitions;
		bool meant = !partitions && text[n] == '*';
		int64_t days = 0, of[3] = { 0 }, minutes;
		int words = 0, used = 0;

		end = strcspn(text, "\n");
		for (size_t k; at && *at && !meant;
		     at += k + (at[k] == ',')) {
			k = strcspn(at, ",");
			meant = k == n && strncmp(at, text, n) == 0;
		}
		at = memchr(text, '|', end);
		/* "[days-]hours:minutes:seconds" or "minutes:seconds" */
		if (meant && at) {
			words = sscanf(++at, "%" SCNd64 "-%n", &days, &used);
			days = words == 1 && used > 0 ? days : 0;
			words = sscanf(at + used,
				       "%" SCNd64 ":%" SCNd64 ":%" SCNd64,
				       &of[0], &of[1], &of[2]);
		}
		minutes = words < 2 ? 0 : days * 24 * 60 +
			  (words == 3 ? 60 * of[0] + of[1] : of[0]);
		if (minutes > 0 && (least == 0 || minutes < least)) {
			least = minutes;
		}
	}
	return least;
}

int64_t slurm_fit_minutes(const struct launch_request *r, bool *answers)
{
	struct str out = STR_INIT;
	int64_t limit = 0;

	*answers = slurm_ask(SLURM_FIT_LIMITS, NULL, &out, NULL) == 0;
	if (*answers) {
		limit = slurm_fit_limit(
			str_text(&out),
			slurm_fit_asked(r->extra, "partition", 'p',
					"SBATCH_PARTITION"));
	}
	str_release(&out);
	return limit;
}

int slurm_fit_ask(const struct launch_request *r, int64_t nodes, int64_t *gpus,
		  struct err *e)
{
	struct slurm_fit f = {
		.partitions = slurm_fit_asked(r->extra, "partition", 'p',
				    "SBATCH_PARTITION"),
		.features = slurm_fit_asked(r->extra, "constraint", 'C',
				  "SBATCH_CONSTRAINT"),
		.nodes = nodes, .gpus = r->spec->gpus_per_node,
		.on_gpus = !r->any_node &&
			   !spec_transport_is(r->spec->transport,
					      XPORT_SOCKETS | XPORT_MODEL),
	};
	struct str out = STR_INIT;
	struct err why = { 0 };
	int64_t any;
	int rc;

	slurm_ask(SLURM_FIT_SINFO, NULL, &out, NULL);
	rc = slurm_fit_parse(&f, str_text(&out), gpus, &why);
	if (rc < 0 && slurm_fit_option(r->extra, "gres", '\0')) {
		/* which GPUs these are Slurm may judge, not how many nodes */
		f.gpus = 0;
		f.on_gpus = false;
		rc = slurm_fit_parse(&f, str_text(&out), &any, &why);
	}
	str_release(&out);
	/* if other options decide which nodes, or how many, Slurm decides */
	if (rc == 0 || slurm_fit_option(r->extra, "nodes", 'N') ||
	    slurm_fit_asked(r->extra, "clusters", 'M', "SLURM_CLUSTERS") ||
	    slurm_fit_asked(r->extra, "reservation", '\0',
			    "SBATCH_RESERVATION") || is_routed()) {
		return 0;
	}
	if (e) {
		*e = why;
	}
	return -1;
}

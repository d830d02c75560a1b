/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_lanes.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

#define MAX_LINE   (PATH_MAX + 256)
#define MAX_NUMBER 1000000000
#define MAX_RESERVED 16384

/* ---- jobs in the queue --------------------------------------------------- */

bool slurm_parse_queued(const char **text, struct slurm_job *q)
{
	char line[MAX_LINE], *at, *id, *state, *reason;

	while (slurm_next_line(text, line, sizeof(line))) {
		at = line;
		id = strsep(&at, "|");
		state = strsep(&at, "|");
		reason = at ? strsep(&at, "|") : NULL;
		if (!at || !*id || id[strspn(id, "0123456789_[]-,%+")] ||
		    !str_copy(q->id, sizeof(q->id), id) || !state[0] ||
		    !str_copy(q->state, sizeof(q->state), state) ||
		    at[0] != '/' ||
		    !str_copy(q->script, sizeof(q->script), at)) {
			continue;
		}
		str_copy(q->reason, sizeof(q->reason), reason);
		return true;
	}
	return false;
}

bool slurm_queued_waits(const struct slurm_job *q)
{
	return strcmp(q->state, "PENDING") == 0 ||
	       strcmp(q->state, "REQUEUED") == 0 ||
	       strcmp(q->state, "CONFIGURING") == 0;
}

bool slurm_queued_in_line(const struct slurm_job *q)
{
	return slurm_queued_waits(q) && strcmp(q->reason, "Dependency") == 0;
}

/* ---- how many there may be ----------------------------------------------- */

int64_t slurm_parse_config(const char *text, const char *key)
{
	char line[MAX_LINE], digits[24];
	const size_t len = strlen(key);
	int64_t n;

	while (slurm_next_line(&text, line, sizeof(line))) {
		if (strncmp(line, key, len) == 0 &&
		    sscanf(line + len, " = %23[0-9]", digits) == 1 &&
		    units_parse_int(digits, 0, MAX_NUMBER, &n, NULL) == 0) {
			return n;
		}
	}
	return -1;
}

int64_t slurm_parse_least(const char *text)
{
	int64_t least = -1, n;
	char digits[24];

	for (size_t len; *text; text += len + (text[len] != '\0')) {
		len = strcspn(text, "|\n");
		if (len == 0 || len >= sizeof(digits)) {
			continue;
		}
		snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
		if (units_parse_int(digits, 0, MAX_NUMBER, &n, NULL) == 0 &&
		    (least < 0 || n < least)) {
			least = n;
		}
	}
	return least;
}

/** The lesser of @n and @limit, which is -1 where there is none. */
static int64_t lanes_within(int64_t n, int64_t limit)
{
	return limit >= 0 && limit < n ? limit : n;
}

int64_t slurm_jobs_left(char *const extra[])
{
	const char *qos = slurm_fit_asked(extra, "qos", 'q', "SBATCH_QOS");
	const struct passwd *user = getpwuid(geteuid());
	struct str out = STR_INIT;
	int64_t most = INT64_MAX, mine = 0;
	char who[128];

	if (slurm_ask("scontrol show config", NULL, &out, NULL) == 0) {
		most = lanes_within(most, slurm_parse_config(str_text(&out),
							     "MaxJobCount"));
	}
	str_reset(&out);
	snprintf(who, sizeof(who), "user=%s", user ? user->pw_name : "");
	/* this fails without accounting */
	if (slurm_ask("sacctmgr --noheader --parsable2 show assoc "
		      "format=MaxSubmitJobs,GrpSubmitJobs where", who, &out,
		      NULL) == 0) {
		most = lanes_within(most, slurm_parse_least(str_text(&out)));
	}
	str_reset(&out);
	snprintf(who, sizeof(who), "name=%s", qos ? qos : "");
	if (qos && slurm_ask("sacctmgr --noheader --parsable2 show qos "
			     "format=MaxSubmitJobsPerUser where", who, &out,
			     NULL) == 0) {
		most = lanes_within(most, slurm_parse_least(str_text(&out)));
	}
	str_reset(&out);
	snprintf(who, sizeof(who), "%u", geteuid());
	if (slurm_ask("squeue --all --noheader --array --format=%i --user", who,
		      &out, NULL) == 0) {
		for (const char *at = str_text(&out); *at; at++) {
			mine += *at == '\n';
		}
	}
	str_release(&out);
	return most == INT64_MAX ? most : most > mine ? most - mine : 0;
}

/* ---- nodes --------------------------------------------------------------- */

/** Return true if @word is in @list, which has commas between. */
static bool is_in(const char *list, const char *word)
{
	for (size_t n; *list; list += n + (list[n] != '\0')) {
		n = strcspn(list, ",");
		if (n == strlen(word) && strncmp(list, word, n) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_meant(const struct slurm_fit *ask, const char *name,
		     char *partition, const char *features)
{
	const size_t n = strcspn(partition, "*");
	const bool usual = partition[n] == '*';

	partition[n] = '\0';
	return (ask->names	? hostlist_has(ask->names, name) :
		ask->partitions ? is_in(ask->partitions, partition) :
				  usual || ask->within) &&
	       slurm_fit_features(ask->features, features) &&
	       (!ask->within || hostlist_has(ask->within, name)) &&
	       !hostlist_has(ask->exclude, name);
}

int slurm_parse_lane_nodes(const struct slurm_fit *ask, const char *text,
			   struct slurm_lane_nodes *out)
{
	char line[MAX_LINE], *at, *name, *partition, *state;
	const char *features;
	struct slurm_node n = { .name = "" };

	while (slurm_next_line(&text, line, sizeof(line))) {
		at = line;
		name = strsep(&at, "|");
		partition = strsep(&at, "|");
		state = at ? strsep(&at, "|") : NULL;
		features = strsep(&at, "|");
		if (!features || !slurm_is_node(name) || !state[0] ||
		    strlen(name) >= SLURM_NODE_SIZE ||
		    !is_meant(ask, name, partition, features)) {
			continue;
		}
		if (out->n > SPEC_MAX_NODES ||
		    STR_FIND(out->list, out->n, name, name) < out->n) {
			continue;
		}
		STR_COPY(n.name, name);
		STR_COPY(n.state, state);
		STR_COPY(n.why, at && strcmp(at, "none") != 0 ? at : "");
		if (!grow_add(&out->list, &out->n, &n, sizeof(n))) {
			return -1;
		}
	}
	return 0;
}

bool slurm_parse_reserved(const char *text, char *nodes, size_t size)
{
	const char *at = strstr(text, " Nodes=");
	size_t n;

	if (!at) {
		return false;
	}
	at += strlen(" Nodes=");
	n = strcspn(at, " \n");
	if (n == 0 || n >= size || at[0] == '(') {
		return false;
	}
	snprintf(nodes, size, "%.*s", (int)n, at);
	return true;
}

int slurm_lane_nodes(const struct spec *s, char *const extra[],
		     struct slurm_lane_nodes *out, struct err *e)
{
	const char *reservation = slurm_fit_asked(extra, "reservation", '\0',
					"SBATCH_RESERVATION");
	struct slurm_fit about = {
		.partitions = slurm_fit_asked(extra, "partition", 'p',
				    "SBATCH_PARTITION"),
		.features = slurm_fit_asked(extra, "constraint", 'C',
				  "SBATCH_CONSTRAINT"),
		.names = s->nodelist[0] ? s->nodelist : NULL,
		.exclude = s->exclude,
	};
	char *reserved = calloc(1, MAX_RESERVED);
	struct str said = STR_INIT;
	int rc;

	*out = (struct slurm_lane_nodes){ 0 };
	if (reserved && reservation && !about.names &&
	    slurm_ask("scontrol --oneliner show reservation", reservation,
		      &said, NULL) == 0 &&
	    slurm_parse_reserved(str_text(&said), reserved, MAX_RESERVED)) {
		about.within = reserved;
	}
	str_reset(&said);
	rc = slurm_ask(SLURM_LANES_SINFO, NULL, &said, e);
	if (rc == 0 && (!reserved || slurm_parse_lane_nodes(
					     &about, str_text(&said), out) <
					     0)) {
		rc = err_set(e, ENOMEM, "no memory for the nodes");
	}
	if (rc == 0 && out->n > SPEC_MAX_NODES) {
		rc = err_set(e, 0, "Slurm has more than %d such nodes",
			     SPEC_MAX_NODES);
		err_hint(e, "--nodelist names fewer");
	}
	str_release(&said);
	free(reserved);
	return rc;
}

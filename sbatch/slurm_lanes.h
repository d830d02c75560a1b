/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_LANES_H
#define SBATCH_SLURM_LANES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "sbatch/slurm.h"

/**
 * A run of many small jobs, as Slurm has them: which nodes there are, how many
 * jobs a user may have, how his jobs stand.  The parsers are pure, and take any
 * text.
 */

/* ---- jobs in the queue --------------------------------------------------- */

/** The command that lists the queue, and the names of the jobs. */
#define SLURM_QUEUE_SQUEUE "squeue --all --noheader --format=%i|%T|%r|%o --name"
/** The same with jobs that have ended, as long as Slurm knows them. */
#define SLURM_QUEUE_ALL \
	"squeue --all --noheader --states=all --format=%i|%T|%r|%o --name"

/** The next line of it at *@text, which moves on; lines that are none are
 *  passed over.  False at the end. */
bool slurm_parse_queued(const char **text, struct slurm_job *q);
/** Return true if the job has not started. */
bool slurm_queued_waits(const struct slurm_job *q);
/** Return true if the job waits only for other jobs of its name. */
bool slurm_queued_in_line(const struct slurm_job *q);

/* ---- how many there may be ----------------------------------------------- */

/** The number of "@key = 10000" in "scontrol show config"; -1: not said. */
int64_t slurm_parse_config(const char *text, const char *key);
/** The least of all numbers in the lines "100|" of "sacctmgr --parsable2
 *  --noheader"; -1: none is set. */
int64_t slurm_parse_least(const char *text);
/** How many jobs like this, with @extra behind "--", its user may still submit;
 *  INT64_MAX: nobody says so. */
int64_t slurm_jobs_left(char *const extra[]);

/* ---- nodes --------------------------------------------------------------- */

/** "sinfo": a line a node and partition. */
#define SLURM_LANES_SINFO \
	"sinfo --all --noheader --Node --format=%N|%P|%T|%f|%E"

/** Returns true if a node in @state starts no job or does not answer Slurm
 *  ("*"). */
static inline bool slurm_lane_is_down(const char *state)
{
	return slurm_state_is_out(state) || strchr(state, '*') != NULL;
}

/** A node that Slurm gives no work: code of the finding, state and event. */
#define SLURM_OUT_OF_USE "slurm_out_of_use"

struct slurm_lane_nodes {
	struct slurm_node *list;
	size_t n;
};

/** Each node that @ask means once, in the order of Slurm, appended to @out; 0,
 *  or -1 without memory. */
int slurm_parse_lane_nodes(const struct slurm_fit *ask, const char *text,
			   struct slurm_lane_nodes *out);
/** "Nodes=" of "scontrol --oneliner show reservation"; false: none. */
bool slurm_parse_reserved(const char *text, char *nodes, size_t size);

/** By asking Slurm: the nodes that @spec and what follows "--" name, those that
 *  are down as well.  0, or -1 with @e; free(out->list). */
int slurm_lane_nodes(const struct spec *s, char *const extra[],
		     struct slurm_lane_nodes *out, struct err *e);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_standing.h"

#include <string.h>

#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"
#include "sbatch/slurm_state.h"

enum slurm_standing slurm_parse_standing(const char *text,
					 const struct err *why)
{
	char state[SLURM_STATE_SIZE];
	size_t n;

	if (why) {
		return strstr(why->text, "Invalid job id") ? SLURM_JOB_OVER :
							     SLURM_JOB_UNKNOWN;
	}
	text += strspn(text, " \n");
	n = strcspn(text, " \n");
	if (n >= sizeof(state)) {
		return SLURM_JOB_GOES_ON;
	}
	memcpy(state, text, n);
	state[n] = '\0';
	return !state[0] || slurm_state_phase(state) == LAUNCH_ENDED ?
		       SLURM_JOB_OVER :
	       strcmp(state, "COMPLETING") == 0 ? SLURM_JOB_ENDS :
						  SLURM_JOB_GOES_ON;
}

enum slurm_standing slurm_job_standing(const char *job)
{
	enum slurm_standing standing;
	struct args a = { 0 };
	struct str out = STR_INIT;
	struct err why = { 0 };
	int rc;

	args_words(&a, "squeue --all --noheader --states=all --format=%T "
		       "--jobs");
	args_add(&a, job);
	rc = slurm_ask(&a, &out, &why);
	standing = slurm_parse_standing(str_text(&out), rc < 0 ? &why : NULL);
	str_release(&out);
	return standing;
}

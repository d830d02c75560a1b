/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_ask.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/spawn.h"
#include "sbatch/slurm.h"

#define ASK_NS	(10 * NS_PER_S)
#define ASK_MAX (1024 * 1024)

/** The last line of @text that says something, into @buf. */
static void last_words(const char *text, char *buf, size_t size)
{
	size_t len = strlen(text), start;

	while (len > 0 && text[len - 1] == '\n') {
		len--;
	}
	start = len;
	while (start > 0 && text[start - 1] != '\n') {
		start--;
	}
	snprintf(buf, size, "%.*s", (int)(len - start), text + start);
}

int slurm_ask(char *const argv[], struct str *out, struct err *e)
{
	struct str said = STR_INIT;
	struct spawn_status st;
	char words[256], how[64];
	int rc;

	rc = spawn_capture(argv, out, &said, ASK_MAX, clock_now_ns() + ASK_NS,
			   &st, e);
	if (rc == 0 && st.exit_code != 0) {
		last_words(str_text(&said), words, sizeof(words));
		spawn_status_text(&st, how, sizeof(how));
		if (words[0]) {
			rc = err_set(e, st.timed_out ? ETIMEDOUT : 0, "%s",
				     words);
		} else {
			rc = err_set(e, st.timed_out ? ETIMEDOUT : 0,
				     "'%s' says nothing: %s", argv[0], how);
		}
	}
	str_release(&said);
	return rc;
}

int64_t slurm_gpus_per_node(void)
{
	char *const argv[] = { (char *)"sinfo", (char *)"--noheader",
			       (char *)"--format=%G|%D", NULL };
	struct str out = STR_INIT;
	int64_t gpus = 0;

	if (slurm_ask(argv, &out, NULL) == 0) {
		gpus = slurm_parse_gpus(str_text(&out), out.len);
	}
	str_release(&out);
	return gpus;
}

bool slurm_node_is_down(const char *node)
{
	char *const argv[] = { (char *)"sinfo", (char *)"--noheader",
			       (char *)"--format=%T", (char *)"--nodes",
			       (char *)node, NULL };
	struct str out = STR_INIT;
	bool down = slurm_ask(argv, &out, NULL) == 0 &&
		    slurm_parse_is_down(str_text(&out), out.len);

	str_release(&out);
	return down;
}

bool slurm_has_pmi2(void)
{
	char *const argv[] = { (char *)"srun", (char *)"--mpi=list", NULL };
	struct str said = STR_INIT;
	struct spawn_status st;
	bool has = true;

	/* the list goes to stderr in some versions and to stdout in others */
	if (spawn_capture(argv, &said, &said, ASK_MAX,
			  clock_now_ns() + ASK_NS, &st, NULL) == 0 &&
	    st.exit_code == 0 && said.len > 0) {
		has = slurm_parse_has_pmi2(str_text(&said), said.len);
	}
	str_release(&said);
	return has;
}

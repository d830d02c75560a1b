/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_ask.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/units.h"
#include "sbatch/slurm.h"

#define ASK_NS	(10 * NS_PER_S)
#define ASK_MAX (1024 * 1024)

/** The lines of @text in one, the last of them where there is no room for all:
 *  what is in front of the last, of a site's plugin, tells more. */
static void all_words(const char *text, char *buf, size_t size)
{
	struct str all = STR_INIT;
	const char *from, *next;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (len > 0) {
			str_addf(&all, "%s%.*s", all.len ? "; " : "", (int)len,
				 text);
		}
	}
	from = str_text(&all);
	while (strlen(from) >= size && (next = strstr(from, "; "))) {
		from = next + 2;
	}
	str_copy(buf, size, from);
	str_release(&all);
}

/** Commands with variables of their own, which a user sets for what he wants to
 *  see: SQUEUE_STATES would hide jobs from us as well. */
static const struct {
	const char *command, *variables;
} settings[] = {
	{ "squeue", "SQUEUE_" }, { "sinfo", "SINFO_" },
	{ "scancel", "SCANCEL_" },
};

static const char *settings_of(const char *command)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		if (strcmp(settings[i].command, command) == 0 &&
		    spawn_find(command, NULL, 0)) {
			return settings[i].variables;
		}
	}
	return NULL;
}

/** @a, or in its place the same without such settings. */
static void drop_settings(struct args *a)
{
	const char *variables = a->n > 0 ? settings_of(a->argv[0]) : NULL;
	struct args plain = { 0 };
	char name[64];

	for (char **at = environ; variables && *at; at++) {
		const size_t n = strcspn(*at, "=");

		if (str_starts(*at, variables) && n < sizeof(name)) {
			memcpy(name, *at, n);
			name[n] = '\0';
			args_unset(&plain, name);
		}
	}
	if (plain.n > 0) {
		args_add_all(&plain, a->argv);
		args_release(a);
		*a = plain;
	}
}

int slurm_ask(struct args *a, struct str *out, struct err *e)
{
	struct str said = STR_INIT;
	struct spawn_status st;
	char words[300], how[64];
	int rc;

	if (!a->failed) {
		drop_settings(a);
	}
	rc = a->failed ? err_set(e, ENOMEM,
				 "no memory for a command of Slurm") :
			 spawn_capture(a->argv, out, &said, ASK_MAX,
				       clock_now_ns() + ASK_NS, &st, e);
	if (rc == 0 && st.exit_code != 0) {
		int code = st.timed_out ? ETIMEDOUT :
			   st.signal	? EINTR : 0;

		all_words(str_text(&said), words, sizeof(words));
		spawn_status_text(&st, how, sizeof(how));
		rc = words[0] ? err_set(e, code, "%s", words) :
				err_set(e, code, "'%s' printed nothing: %s",
					a->argv[0], how);
	}
	str_release(&said);
	args_release(a);
	return rc;
}

bool slurm_node_is_down(const char *node)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	bool down;

	args_words(&a, "sinfo --noheader --format=%T --nodes");
	args_add(&a, node);
	down = slurm_ask(&a, &out, NULL) == 0 &&
	       slurm_parse_is_down(str_text(&out));
	str_release(&out);
	return down;
}

int slurm_ask_nodes(const char *nodes, struct str *out, struct err *e)
{
	struct args a = { 0 };

	args_words(&a, "sinfo --noheader --Node --format=%N|%T|%E");
	if (nodes[0]) {
		args_addf(&a, "--nodes=%s", nodes);
	}
	return slurm_ask(&a, out, e);
}

int slurm_find_job(const char *script, bool past, char job[32], struct err *e)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	int rc;

	/* of several the last */
	args_words(&a, "squeue --all --noheader --format=%i|%o --sort=-i");
	args_add(&a, past ? "--states=all" :
			    "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED");
	rc = slurm_ask(&a, &out, e);
	if (rc == 0 && !slurm_parse_step(str_text(&out), script, job, 32)) {
		job[0] = '\0';
	}
	str_release(&out);
	return rc;
}

int slurm_find_script(const char *job, char script[PATH_MAX], struct err *e)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	struct err why = { 0 };
	int rc = -1;

	args_words(&a, "squeue --all --noheader --format=%i|%o "
		       "--states=all --jobs");
	args_add(&a, job);
	if (slurm_ask(&a, &out, &why) < 0) {
		err_set(e, why.code, "Slurm does not know job %s: %.200s", job,
			why.text);
	} else if (!slurm_parse_script(str_text(&out), job, script,
				       PATH_MAX)) {
		err_set(e, ENOENT, "Slurm does not know job %s", job);
	} else {
		rc = 0;
	}
	str_release(&out);
	return rc < 0 ? err_hint(e, "of a job that has ended name the run "
				    "directory: \"gpucheck report DIR\"") : 0;
}

int slurm_cancel(const char *options, const char *job)
{
	struct args a = { 0 };

	args_add(&a, "scancel");
	args_words(&a, options);
	args_add(&a, job);
	return slurm_ask(&a, NULL, NULL);
}

int slurm_srun_version(void)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	int version = 0;

	args_words(&a, "srun --version");
	if (slurm_ask(&a, &out, NULL) == 0) {
		version = slurm_parse_version(str_text(&out));
	}
	str_release(&out);
	return version;
}

void slurm_job_allocation(const char *job, struct allocation *a)
{
	struct args line = { 0 };
	struct str out = STR_INIT;

	args_words(&line, "scontrol --oneliner --details show job");
	args_add(&line, job);
	if (slurm_ask(&line, &out, NULL) < 0 ||
	    slurm_parse_allocation(str_text(&out), job, a) < 0) {
		allocation_release(a);
	}
	str_release(&out);
}

bool slurm_job_owner(const char *job, int64_t *uid, int64_t *gid)
{
	struct args line = { 0 };
	struct str out = STR_INIT;
	char user[24] = "", group[24] = "";

	/* a name of a job may look like a field of scontrol */
	args_words(&line, "squeue --all --noheader --format=%U|%G --job");
	args_add(&line, job);
	if (slurm_ask(&line, &out, NULL) == 0) {
		sscanf(str_text(&out), "%23[0-9]|%23[0-9]", user, group);
	}
	str_release(&out);
	return units_parse_int(user, 0, UINT32_MAX - 1, uid, NULL) == 0 &&
	       units_parse_int(group, 0, UINT32_MAX - 1, gid, NULL) == 0;
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
		has = slurm_parse_has_pmi2(str_text(&said));
	}
	str_release(&said);
	return has;
}

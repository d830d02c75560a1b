/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/units.h"
#include "lib/data/allocation.h"
#include "lib/data/hosts.h"

/* ---- slurm ask ----------------------------------------------------------- */

#define ASK_NS	(10 * NS_PER_S)
#define ASK_MAX (4 * 1024 * 1024)	/* 10,000 jobs with long paths */

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

/** @a, or in its place the same without such settings. */
static void drop_settings(struct args *a)
{
	const char *variables = NULL;
	struct args plain = { 0 };
	char name[64];

	for (size_t i = 0;
	     a->n > 0 && i < sizeof(settings) / sizeof(*settings); i++) {
		if (strcmp(settings[i].command, a->argv[0]) == 0 &&
		    spawn_find(a->argv[0], NULL, 0)) {
			variables = settings[i].variables;
		}
	}
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

int slurm_run(struct args *a, struct str *out, struct err *e)
{
	struct str said = STR_INIT;
	struct spawn_status st;
	char words[300], how[64];
	int rc;

	if (!a->failed) {
		char path[PATH_MAX], *copy;

		drop_settings(a);
		/* replace the name of the program of a by its path: a
		 * program that is started by path keeps the working
		 * directory, which sbatch makes that of the job */
		if (a->n > 0 && spawn_find(a->argv[0], path, sizeof(path))) {
			copy = strdup(path);
			a->failed |= copy == NULL;
			if (copy) {
				free(a->argv[0]);
				a->argv[0] = copy;
			}
		}
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
		/* several lines that say: no controller is configured */
		if (strstr(words, "configuration source") ||
		    strstr(words, "fetch_config")) {
			str_copy(words, sizeof(words), "this machine has "
				 "Slurm's commands, but no controller is "
				 "configured");
		}
		rc = words[0] ? err_set(e, code, "%s", words) :
				err_set(e, code, "'%s' printed nothing: %s",
					a->argv[0], how);
		if (strstr(words, "controller")) {
			err_hint(e, "--local tests this machine, --ssh=HOSTS "
				 "others without Slurm");
		}
	}
	str_release(&said);
	args_release(a);
	return rc;
}

int slurm_ask(const char *words, const char *more, struct str *out,
	      struct err *e)
{
	struct args a = { 0 };

	args_words(&a, words);
	if (more) {
		args_add(&a, more);
	}
	return slurm_run(&a, out, e);
}

int slurm_ask_nodes(const char *nodes, struct str *out, struct err *e)
{
	struct args a = { 0 };

	args_words(&a, "sinfo --noheader --Node --format=%N|%T|%E");
	if (nodes[0]) {
		args_addf(&a, "--nodes=%s", nodes);
	}
	return slurm_run(&a, out, e);
}

int slurm_find_job(const char *script, bool past, char job[32], struct err *e)
{
	struct str out = STR_INIT;
	/* of several the last */
	int rc = slurm_ask("squeue --all --noheader --format=%i|%o --sort=-i",
			   past ? "--states=all" :
			   "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED",
			   &out, e);

	if (rc == 0 && !slurm_parse_step(str_text(&out), script, job, 32)) {
		job[0] = '\0';
	}
	str_release(&out);
	return rc;
}

int slurm_find_script(const char *job, char script[PATH_MAX], struct err *e)
{
	struct str out = STR_INIT;
	struct err why = { 0 };
	int rc = -1;

	if (slurm_ask("squeue --all --noheader --format=%i|%o --states=all "
		      "--jobs", job, &out, &why) < 0) {
		err_set(e, why.code, "Slurm does not know job %s: %.200s", job,
			why.text);
	} else if (!slurm_parse_script(str_text(&out), job, script,
				       PATH_MAX)) {
		err_set(e, ENOENT, "Slurm does not know job %s", job);
	} else {
		rc = 0;
	}
	str_release(&out);
	return rc;
}

int slurm_cancel(const char *options, const char *job)
{
	struct args a = { 0 };

	args_add(&a, "scancel");
	args_words(&a, options);
	args_add(&a, job);
	return slurm_run(&a, NULL, NULL);
}

int slurm_srun_version(void)
{
	struct str out = STR_INIT;
	int version = 0;

	if (slurm_ask("srun --version", NULL, &out, NULL) == 0) {
		version = slurm_parse_version(str_text(&out));
	}
	str_release(&out);
	return version;
}

int slurm_job_allocation(const char *job, struct allocation *a, struct err *e)
{
	struct str out = STR_INIT;
	int rc = slurm_ask("scontrol --oneliner --details show job", job, &out,
			   e);

	if (rc == 0 && slurm_parse_allocation(str_text(&out), job, a) < 0) {
		allocation_release(a);
	}
	str_release(&out);
	return rc;
}

bool slurm_job_owner(const char *job, int64_t *uid, int64_t *gid)
{
	struct str out = STR_INIT;
	char user[24] = "", group[24] = "";

	/* a name of a job may look like a field of scontrol */
	if (slurm_ask("squeue --all --noheader --format=%U|%G --job", job, &out,
		      NULL) == 0) {
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

/* ---- slurm --------------------------------------------------------------- */

#define MAX_LINE 4096

bool slurm_next_line(const char **text, char *line, size_t size)
{
	const size_t n = strcspn(*text, "\n");

	if (!**text) {
		return false;
	}
	snprintf(line, size, "%.*s", (int)(n < size ? n : size - 1), *text);
	*text += n + ((*text)[n] == '\n');
	return true;
}

/** The digits that @text starts with as a number; false unless in range. */
static bool take_number(const char **text, int64_t max, int64_t *out)
{
	char digits[24];
	size_t n = strspn(*text, "0123456789");

	if (n == 0 || n >= sizeof(digits)) {
		return false;
	}
	memcpy(digits, *text, n);
	digits[n] = '\0';
	if (units_parse_int(digits, 0, max, out, NULL) < 0) {
		return false;
	}
	*text += n;
	return true;
}

int slurm_parse_job_id(const char *text, char job[SLURM_JOB_SIZE],
		       struct err *e)
{
	char line[MAX_LINE];
	bool found = false;

	while (slurm_next_line(&text, line, sizeof(line))) {
		const char *at = line;
		int64_t id;

		if (take_number(&at, UINT32_MAX, &id) && id > 0 &&
		    (*at == '\0' || *at == ';')) {
			snprintf(job, SLURM_JOB_SIZE, "%" PRId64, id);
			found = true;
		}
	}
	return found ? 0 : err_set(e, EPROTO,
				   "no job number in the answer of sbatch");
}

/**
 * The value of " KEY=" in a line of scontrol, up to the next blank.  Values
 * with blanks (job names, commands) can fake a key; those that are asked for
 * here come before the first of them but JobName, which we choose.
 */
static bool job_field(const char *line, const char *key, char *buf,
		      size_t size)
{
	const size_t n = strlen(key);
	char value[1024];

	for (const char *at = line; (at = strstr(at, key)); at += n) {
		if ((at == line || at[-1] == ' ') && at[n] == '=') {
			snprintf(value, sizeof(value), "%.*s",
				 (int)strcspn(at + n + 1, " "), at + n + 1);
			str_copy(buf, size, value);
			return true;
		}
	}
	return false;
}

/** "(null)" is Slurm's word for none. */
static void drop_null(char *list)
{
	if (strcmp(list, "(null)") == 0) {
		list[0] = '\0';
	}
}

int slurm_parse_job(const char *text, struct slurm_job *job, struct err *e)
{
	char line[MAX_LINE];
	struct slurm_job found = { 0 };
	char code[32];

	while (slurm_next_line(&text, line, sizeof(line))) {
		const char *at = code;
		int64_t exit_code = 0, signal = 0;

		if (!str_starts(line, "JobId=") ||
		    !job_field(line, "JobState", found.state,
			       sizeof(found.state)) ||
		    !job_field(line, "ExitCode", code, sizeof(code)) ||
		    !take_number(&at, 255, &exit_code) || *at++ != ':' ||
		    !take_number(&at, 255, &signal)) {
			continue;
		}
		job_field(line, "Reason", found.reason,
			  sizeof(found.reason));
		job_field(line, "StartTime", found.start,
			  sizeof(found.start));
		job_field(line, "NodeList", found.nodes,
			  sizeof(found.nodes));
		drop_null(found.nodes);
		job_field(line, "ReqNodeList", found.wanted,
			  sizeof(found.wanted));
		drop_null(found.wanted);
		/* "2-2" of one that may have several */
		if (job_field(line, "NumNodes", code, sizeof(code))) {
			at = code;
			take_number(&at, INT32_MAX, &found.n_nodes);
		}
		if (job_field(line, "Restarts", code, sizeof(code))) {
			at = code;
			take_number(&at, INT32_MAX, &found.restarts);
		}
		job_field(line, "BatchHost", found.batch_host,
			  sizeof(found.batch_host));
		found.exit_code = (int)exit_code;
		found.signal = (int)signal;
		*job = found;
		return 0;
	}
	return err_set(e, EPROTO, "no job state in the answer of scontrol");
}

bool slurm_is_node(const char *name)
{
	return hostlist_is_name(name) && strlen(name) < SLURM_NODE_SIZE &&
	       !strpbrk(name, ":%");
}

bool slurm_parse_node(const char **text, struct slurm_node *n)
{
	/* down* idle~ planned mixed$ drained+cloud */
	static const char of_state[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "_+-*~#!%$@^";
	char line[MAX_LINE];
	bool found = false;

	while (!found && slurm_next_line(text, line, sizeof(line))) {
		char *at = line;
		const char *name = strsep(&at, "|"), *state = strsep(&at, "|");

		found = state && slurm_is_node(name) &&
			isalpha((uint8_t)*state) &&
			state[strspn(state, of_state)] == '\0' &&
			str_copy(n->name, sizeof(n->name), name) &&
			str_copy(n->state, sizeof(n->state), state);
		if (found) {
			str_copy(n->why, sizeof(n->why),
				 at && strcmp(at, "none") != 0 ? at : "");
		}
	}
	return found;
}

bool slurm_parse_reservation(const char *text, const char *node, char *name,
			     size_t size)
{
	char line[MAX_LINE];
	char nodes[1024];

	while (slurm_next_line(&text, line, sizeof(line))) {
		if (job_field(line, "Nodes", nodes, sizeof(nodes)) &&
		    hostlist_has(nodes, node) &&
		    job_field(line, "ReservationName", name, size)) {
			return true;
		}
	}
	return false;
}

bool slurm_state_is_out(const char *state)
{
	static const char *const out[] = { "down", "drain", "fail", "error" };
	size_t i = 0;

	while (i < sizeof(out) / sizeof(*out) && !str_starts(state, out[i])) {
		i++;
	}
	return i < sizeof(out) / sizeof(*out);
}

bool slurm_parse_has_pmi2(const char *text)
{
	for (size_t n; *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, " \t\n:,");
		if (n == strlen("pmi2") && str_starts(text, "pmi2")) {
			return true;
		}
	}
	return false;
}

int slurm_parse_version(const char *text)
{
	const char *at = text + strcspn(text, "0123456789");
	int64_t year, month, patch = 0;

	if (!take_number(&at, 99, &year) || *at++ != '.' ||
	    !take_number(&at, 99, &month)) {
		return 0;
	}
	if (*at == '.') {
		at++;
		take_number(&at, 99, &patch);
	}
	return (int)(year * 10000 + month * 100 + patch);
}

/** The value of "KEY=" right at *@at, which moves to the blank behind it;
 *  false if there is another key. */
static bool take_value(const char **at, const char *key, const char **value,
		       size_t *len)
{
	if (!str_starts(*at, key)) {
		return false;
	}
	*value = *at + strlen(key);
	*len = strcspn(*value, " \n");
	*at = *value + *len;
	*at += **at == ' ';
	return true;
}

int slurm_parse_allocation(const char *text, const char *job,
			   struct allocation *a)
{
	char line[MAX_LINE], id[SLURM_JOB_SIZE];
	const char *nodes, *gres, *skip;
	size_t nodes_len, gres_len, len;
	int64_t group = 0;
	bool ours = false;

	/* a line may be longer than any buffer: as many nodes as there are */
	for (const char *at = text; *at; at++) {
		const char *next = at + strlen("HetJobOffset=");

		if (at != text && at[-1] != ' ' && at[-1] != '\n') {
			continue;
		}
		if (str_starts(at, "JobId=")) {
			/* lines of other tasks of a job array are neither
			 * about the job nor about a component of it */
			snprintf(line, sizeof(line), "%.*s",
				 (int)strcspn(at, "\n"), at);
			ours = (job_field(line, "HetJobId", id, sizeof(id)) ||
				job_field(line, "JobId", id, sizeof(id))) &&
			       strcmp(id, job) == 0;
			group = 0;
			continue;
		}
		if (!ours) {
			continue;
		}
		if (str_starts(at, "HetJobOffset=")) {
			take_number(&next, ALLOCATION_MAX, &group);
			continue;
		}
		/* "Nodes=n[1-2] CPU_IDs=0-7 Mem=0 GRES=gpu:8(IDX:0-7)", or
		 * words of a user's comment */
		next = at;
		if (!take_value(&next, "Nodes=", &nodes, &nodes_len) ||
		    !take_value(&next, "CPU_IDs=", &skip, &len) ||
		    !take_value(&next, "Mem=", &skip, &len) ||
		    !take_value(&next, "GRES=", &gres, &gres_len)) {
			continue;
		}
		snprintf(line, sizeof(line), "%.*s", (int)gres_len, gres);
		if (allocation_add(a, nodes, nodes_len,
				   (int)slurm_gres_gpus(line),
				   (int)group) < 0) {
			return -1;
		}
	}
	return a->n > 0 ? 0 : -1;
}

bool slurm_parse_script(const char *text, const char *job, char *script,
			size_t size)
{
	const size_t n = strlen(job);
	char line[MAX_LINE];

	while (slurm_next_line(&text, line, sizeof(line))) {
		if (strncmp(line, job, n) == 0 && line[n] == '|') {
			return str_copy(script, size, line + n + 1);
		}
	}
	return false;
}

bool slurm_parse_step(const char *text, const char *name, char *step,
		      size_t size)
{
	char line[MAX_LINE];

	while (slurm_next_line(&text, line, sizeof(line))) {
		char *bar = strchr(line, '|');

		if (!bar || strcmp(bar + 1, name) != 0) {
			continue;
		}
		*bar = '\0';
		if (line[strspn(line, "0123456789.+_")] == '\0') {
			return str_copy(step, size, line);
		}
	}
	return false;
}

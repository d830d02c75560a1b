/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/data/allocation.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/* ---- what Slurm says ---- */

static void job_id_is_found(void **state)
{
	static const struct {
		const char *text;
		const char *id;	/* NULL = refused */
	} cases[] = {
		{ .text = "42\n", .id = "42" },
		{ .text = "42", .id = "42" },
		{ .text = "42;cluster\n", .id = "42" },
		{ .text = "lua: welcome to site 7\n42;c\n", .id = "42" },
		{ .text = "4294967295\n", .id = "4294967295" },
		{ .text = "4294967296\n" },
		{ .text = "0\n" },
		{ .text = "-1\n" },
		{ .text = "42abc\n" },
		{ .text = "Submitted batch job 42\n" },
		{ .text = "99999999999999999999999999\n" },
		{ .text = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char id[SLURM_JOB_SIZE] = "7";
		int rc = slurm_parse_job_id(cases[i].text, id, NULL);

		assert_int_equal(rc, cases[i].id ? 0 : -1);
		assert_string_equal(id, cases[i].id ? cases[i].id : "7");
	}
}

/** What a script says is overruled by no variable of who submits it; whose job
 *  it is, and where, is his to say. */
static void a_job_is_as_its_script_says(void **state)
{
	static const char *const set[] = { "SBATCH_ARRAY_INX", "SBATCH_GRES",
					   "SBATCH_OUTPUT", "SBATCH_ACCOUNT" };
	struct args a = { 0 };
	struct str line = STR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
		setenv(set[i], "1", 1);
	}
	launch_sbatch_words(&a);
	args_line(&a, &line);
	assert_string_equal(str_text(&line),
			    "env -u SBATCH_ARRAY_INX -u SBATCH_GRES "
			    "-u SBATCH_OUTPUT sbatch --parsable");
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
		unsetenv(set[i]);
	}
	args_release(&a);
	str_release(&line);
}

/* as Slurm 22.05 words it, shortened */
static const char pending[] =
	"JobId=4 JobName=gpucheck-p2p UserId=root(0) Priority=4294901756 "
	"Account=(null) JobState=PENDING Reason=Resources Dependency=(null) "
	"Requeue=1 ExitCode=0:0 TimeLimit=UNLIMITED ReqNodeList=(null) "
	"ExcNodeList=(null) NodeList= NumNodes=2 Power= \n";
static const char failed[] =
	"JobId=5 JobName=gpucheck-p2p JobState=FAILED Reason=NonZeroExitCode "
	"Dependency=(null) Restarts=1 ExitCode=3:0 ReqNodeList=a ExcNodeList=b "
	"NodeList=gcn[1-2] BatchHost=gcn1\n";

static void job_is_read(void **state)
{
	struct slurm_job job;

	(void)state;
	assert_int_equal(slurm_parse_job(pending, &job, NULL), 0);
	assert_string_equal(job.state, "PENDING");
	assert_string_equal(job.reason, "Resources");
	assert_string_equal(job.nodes, "");
	assert_int_equal(slurm_parse_job(failed, &job, NULL), 0);
	assert_string_equal(job.state, "FAILED");
	assert_string_equal(job.nodes, "gcn[1-2]");
	assert_string_equal(job.batch_host, "gcn1");
	assert_int_equal(job.restarts, 1);
	assert_int_equal(job.exit_code, 3);
	assert_int_equal(job.signal, 0);
}

static void job_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "JobId=4\n", "JobId=4 JobState=RUNNING\n",
		"JobState=RUNNING ExitCode=0:0\n",
		"JobId=4 JobState=RUNNING ExitCode=0\n",
		"JobId=4 JobState=RUNNING ExitCode=999:0\n",
		"slurm_load_jobs error: Invalid job id specified\n",
	};
	struct slurm_job job;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(slurm_parse_job(texts[i], &job, NULL), -1);
	}
}

static void explain(const char *name, int code, int sig,
		    struct launch_state *st)
{
	struct slurm_job job = { .exit_code = code, .signal = sig };

	STR_COPY(job.state, name);
	STR_COPY(job.reason, "Resources");
	STR_COPY(job.nodes, "gcn[1-2]");
	slurm_state_explain("42", &job, "/runs/one", st);
}

static void states_are_explained(void **state)
{
	struct launch_state st;

	(void)state;
	explain("PENDING", 0, 0, &st);
	assert_int_equal(st.phase, LAUNCH_PENDING);
	assert_string_equal(st.text, "job 42 is pending (Resources)");
	assert_non_null(strstr(st.hint, "squeue --start"));
	explain("RUNNING", 0, 0, &st);
	assert_int_equal(st.phase, LAUNCH_RUNNING);
	assert_string_equal(st.text, "job 42 is running on gcn[1-2]");
	explain("COMPLETED", 0, 0, &st);
	assert_int_equal(st.phase, LAUNCH_ENDED);
	assert_int_equal(st.exit_code, 0);
	explain("FAILED", 7, 0, &st);
	assert_int_equal(st.exit_code, 7);
	assert_string_equal(st.text, "job 42 has failed with exit code 7");
	explain("CANCELLED", 0, 15, &st);
	assert_int_equal(st.exit_code, 143);
}

/* Slurm names the nodes in its reason; why they are out sinfo says. */
static void a_job_that_waits_for_bad_nodes_names_them(void **state)
{
	static const char out[] = "n1|idle|none\nn2|drained|psu dead\n";
	static const char reserved[] =
		"ReservationName=maint StartTime=x Nodes=n[3-4] NodeCnt=2\n";
	struct slurm_job job = { .wanted = "n[1-2]", .n_nodes = 2 };
	struct launch_state st = { 0 };

	(void)state;
	assert_true(slurm_blame_waiting_parse("7", &job, out, "", &st));
	assert_string_equal(st.hint, "n2 (drained: psu dead); after a repair: "
		"\"scontrol create reservation=gpucheck-7 nodes=n[1-2] "
		"users=$USER starttime=now duration=30 flags=ignore_jobs && "
		"scontrol update jobid=7 reservationname=gpucheck-7 && "
		"scontrol update nodename=n2 state=resume\"");
	/* it asks for more than those: no reservation of these would do */
	job.n_nodes = 3;
	assert_true(slurm_blame_waiting_parse("7", &job, out, "", &st));
	assert_string_equal(st.hint, "n2 (drained: psu dead); after a repair: "
		"\"scontrol update nodename=n2 state=resume\"");
	job.wanted[0] = '\0';
	assert_true(slurm_blame_waiting_parse("7", &job, out, "", &st));
	assert_string_equal(st.hint, "n2 (drained: psu dead); -N asks for "
				     "fewer nodes");
	assert_true(slurm_blame_waiting_parse("7", &job, "n4|idle|none\n",
					      reserved, &st));
	assert_string_equal(st.hint, "n4 (reserved by maint); \"-- "
				     "--reservation=NAME\" starts in a "
				     "reservation");
	st.hint[0] = '\0';
	assert_false(slurm_blame_waiting_parse("7", &job, "n5|idle|none\n",
					       reserved, &st));
	assert_string_equal(st.hint, "");
}

static void a_job_that_slurm_ended_is_told_from_one_that_failed(void **state)
{
	struct launch_state st;
	struct slurm_job job = { .state = "CANCELLED",
				 .reason = "Nodes_are_DOWN" };

	(void)state;
	slurm_state_explain("42", &job, "/runs/one", &st);
	assert_true(st.cut);
	assert_string_equal(st.text, "job 42 was cancelled before it started "
				     "(pending: Nodes are DOWN)");
	explain("NODE_FAIL", 0, 0, &st);
	assert_true(st.cut);
	assert_string_equal(st.text, "job 42 ended because a node failed");
	explain("FAILED", 1, 0, &st);
	assert_false(st.cut);
	/* Slurm takes a node that fails out of a job with --no-kill */
	assert_int_equal(slurm_parse_job(
		"JobId=5 JobState=FAILED Reason=JobLaunchFailure Restarts=0 "
		"ExitCode=0:9 NodeList=gcn2 BatchHost=gcn1\n", &job, NULL), 0);
	slurm_state_explain("5", &job, "/runs/one", &st);
	assert_true(st.cut);
	assert_string_equal(st.text, "job 5 lost its first node gcn1");
	STR_COPY(job.nodes, "gcn[1-2]");
	slurm_state_explain("5", &job, "/runs/one", &st);
	assert_false(st.cut);
	assert_int_equal(slurm_parse_job(
		"JobId=5 JobState=PENDING Reason=BeginTime Restarts=1 "
		"ExitCode=0:0 NodeList= BatchHost=gcn1\n", &job, NULL), 0);
	slurm_state_explain("5", &job, "/runs/one", &st);
	assert_string_equal(st.text, "job 5 was put back into the queue "
				     "(BeginTime)");
}

/* Slurm's guess, of a job that waits: it says local time, we say UTC. */
static void a_start_to_come_is_told(void **state)
{
	struct slurm_job job = { .state = "PENDING",
				 .start = "2026-01-31T09:15:02" };
	char waits[LAUNCH_WAITS_SIZE];
	struct launch_state st;

	(void)state;
	setenv("TZ", "HERE-2", 1);
	tzset();
	slurm_state_explain("42", &job, "/runs/one", &st);
	assert_string_equal(launch_waits(&st, waits), "pending, expected to "
						      "start about 2026-01-31 "
						      "07:15 UTC");
	unsetenv("TZ");
	tzset();
	STR_COPY(job.start, "Unknown");
	slurm_state_explain("42", &job, "/runs/one", &st);
	assert_int_equal(st.starts_s, 0);
	assert_string_equal(launch_waits(&st, waits), "pending");
	STR_COPY(job.state, "RUNNING");
	STR_COPY(job.start, "2026-01-31T09:15:02");
	slurm_state_explain("42", &job, "/runs/one", &st);
	assert_string_equal(launch_waits(&st, waits), "starting");
}

static void a_script_of_a_job_is_found(void **state)
{
	static const char text[] = "421|/other\n42|/runs/a b/job.sbatch\n";
	char script[64];

	(void)state;
	assert_true(slurm_parse_script(text, "42", script, sizeof(script)));
	assert_string_equal(script, "/runs/a b/job.sbatch");
	assert_false(slurm_parse_script(text, "4", script, sizeof(script)));
	assert_false(slurm_parse_script("", "42", script, sizeof(script)));
}

/* What options say of a launcher, and what it can do. */
static void who_cannot_be_stopped_goes_on(void **state)
{
	(void)state;
#define AGREES(name) assert_int_equal(launcher_is_job(&launcher_##name), \
				      spec_launcher_is(#name, LAUNCHER_JOB));
	LAUNCHERS(AGREES)
}

static void unwritable_output_is_explained(void **state)
{
	struct launch_state st;

	(void)state;
	explain("FAILED", 0, 53, &st);
	assert_non_null(strstr(st.text, "cannot write 'job.out'"));
	assert_non_null(strstr(st.hint, "/runs/one"));
}

/** A state of a Slurm to come must never read as the end of the job. */
static void unknown_state_is_running(void **state)
{
	struct launch_state st;

	(void)state;
	explain("COMPLETING", 0, 0, &st);
	assert_int_equal(st.phase, LAUNCH_RUNNING);
	explain("DREAMING", 0, 0, &st);
	assert_int_equal(st.phase, LAUNCH_RUNNING);
}

static void nodes_have_states(void **state)
{
	static const char text[] =
		"site: welcome\n"
		"n1|down*|Not responding\n"
		"n2|idle|none\n"
		"-x|idle\n"
		"n[1-2]|idle\n"
		"n3|\n"
		"n3|id le\n"
		"\n"
		"n4.site|allocated";
	static const char *const want[][3] = {
		{ "n1", "down*", "Not responding" }, { "n2", "idle", "" },
		{ "n4.site", "allocated", "" },
	};
	struct slurm_node node;
	const char *at = text;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_true(slurm_parse_node(&at, &node));
		assert_string_equal(node.name, want[i][0]);
		assert_string_equal(node.state, want[i][1]);
		assert_string_equal(node.why, want[i][2]);
	}
	assert_false(slurm_parse_node(&at, &node));
}

static void nodes_that_get_no_work_are_named(void **state)
{
	static const struct {
		/* NULL: no node is named */
		const char *text, *says, *hint, *names;
		bool prolog;
	} cases[] = {
		{ "n1|mixed|none\nn2|drained|Prolog error\nn2|drained|x\n",
		  "the run ended: Slurm has n2 as drained: Prolog error",
		  "the prolog, a site script that Slurm runs before a job, "
		  "failed there: see slurmd's log", "n2",
		  false },
		{ "n10|down*|Not responding\nn1|draining@|none\n",
		  "the run ended: Slurm has n10,n1 as down*: Not responding",
		  "slurmd does not respond there: check that the node is up",
		  "n10,n1",
		  false },
		{ "n1|failing|\n", "the run ended: Slurm has n1 as failing",
		  "\"sinfo --list-reasons\" shows since when", "n1", false },
		{ "n1|drained|psu\nn2|drained|Prolog error\n",
		  "the run ended: Slurm has n2 as drained: Prolog error",
		  "the prolog, a site script that Slurm runs before a job, "
		  "failed there: see slurmd's log", "n2", true },
		{ .text = "n1|drained|psu\n", .names = "", .prolog = true },
		{ .text = "n1|idle|drained\nn2|allocated|none\nn3",
		  .names = "" },
		{ .text = "", .names = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str names = STR_INIT;
		struct err e;

		err_set(&e, 0, "the run ended");
		assert_int_equal(slurm_blame_parse(cases[i].text,
						   cases[i].prolog, &e, &names),
				 cases[i].says != NULL);
		assert_string_equal(str_text(&names), cases[i].names);
		str_release(&names);
		assert_string_equal(e.text, cases[i].says ? cases[i].says :
							    "the run ended");
		assert_string_equal(e.hint, cases[i].hint ? cases[i].hint : "");
	}
}

static void gres_is_counted(void **state)
{
	static const struct {
		const char *gres;
		int64_t gpus;
	} cases[] = {
		{ .gres = "gpu:8", .gpus = 8 },
		{ .gres = "gpu", .gpus = 1 },
		{ .gres = "gpu:a100:4", .gpus = 4 },
		{ .gres = "gpu:a100:4(S:0-1,3)", .gpus = 4 },
		{ .gres = "gpu:a100:4(S:0-1,3),mps:400,gpu:v100:2(S:0)",
		  .gpus = 6 },
		{ .gres = "mps:400" }, { .gres = "(null)" }, { .gres = "" },
		{ .gres = "gpumem:80" }, { .gres = "shard:8,nic:8" },
		{ .gres = "gpu:99999999999999999999", .gpus = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(slurm_gres_gpus(cases[i].gres),
				 cases[i].gpus);
	}
}

static void pmi2_is_a_word_of_its_own(void **state)
{
	static const char old[] = "srun: MPI types are...\nsrun: pmi2\n";
	static const char new[] = "MPI plugin types are...\n\tpmix\n\tpmi2\n";
	static const char no[] = "MPI plugin types are...\n\tpmi2x\n\tnone\n";

	(void)state;
	assert_true(slurm_parse_has_pmi2(old));
	assert_true(slurm_parse_has_pmi2(new));
	assert_false(slurm_parse_has_pmi2(no));
}

static void step_is_found_by_name(void **state)
{
	static const char text[] = "42.0|bash\n42.1|gpucheck-p2p-17\n"
				   "42.2;x|evil\n42.interactive|i\n";
	char step[32];

	(void)state;
	assert_true(slurm_parse_step(text, "gpucheck-p2p-17", step,
				     sizeof(step)));
	assert_string_equal(step, "42.1");
	assert_false(slurm_parse_step(text, "gpucheck-p2p", step,
				      sizeof(step)));
	assert_false(slurm_parse_step(text, "evil", step, sizeof(step)));
}

/* ---- the batch script ---- */

static void words_are_quoted(void **state)
{
	struct str out = STR_INIT;

	(void)state;
	str_add_quoted(&out, "/plain/path-1.2_x");
	str_addch(&out, ' ');
	str_add_quoted(&out, "a b");
	str_addch(&out, ' ');
	str_add_quoted(&out, "it's $HOME");
	str_addch(&out, ' ');
	str_add_quoted(&out, "");
	assert_string_equal(str_text(&out),
			    "/plain/path-1.2_x 'a b' 'it'\\''s $HOME' ''");
	str_release(&out);
}

static void script_has_our_options(void **state)
{
	struct spec spec;
	const struct launch_request r = {
		.self = "/bin/gpucheck", .dir = "/runs/a b%j", .probe = "p2p",
		.spec = &spec,
	};
	struct str out = STR_INIT;
	regex_t name;

	(void)state;
	spec_init(&spec);
	spec.nodes = 3;
	spec.gpus_per_node = 4;
	spec.max_time_ns = 90 * NS_PER_S;
	spec.boot_timeout_ns = 30 * NS_PER_S;
	STR_COPY(spec.srun_args, "'--a=b c'");
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	static const char *const wanted[] = {
		"#!/bin/bash\n#SBATCH ", "--job-name=gpucheck-p2p\n",
		"--nodes=3\n", "--ntasks-per-node=1\n", "--gres=gpu:4\n",
		"--time=4\n", "--exclusive\n", "--mem=0\n", "--no-kill\n",
		"--no-requeue\n",
		"--signal=B:TERM@60\n", "--output='/runs/a b%%j/job.out'\n",
		"ulimit -l",
		"\nset -- '--a=b c'\t",
		"\n/bin/gpucheck muster '/runs/a b%j' -- \"$@\"\n",
		"\n/bin/gpucheck step '/runs/a b%j' -- \"$@\" &\n",
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (!strstr(str_text(&out), wanted[i])) {
			fail_msg("no '%s' in:\n%s", wanted[i], str_text(&out));
		}
	}
	/* every name of the template has become a value */
	assert_int_equal(regcomp(&name, "@[A-Z_]+@", REG_EXTENDED), 0);
	assert_int_equal(regexec(&name, str_text(&out), 0, NULL, 0),
			 REG_NOMATCH);
	regfree(&name);
	assert_null(strstr(str_text(&out), "\nexec "));	/* no inner command */
	str_release(&out);
}

/** One of many: it waits for its lane, until its deadline, and asks Slurm
 *  nothing. */
static void script_of_a_lane(void **state)
{
	struct spec spec;
	const struct launch_request r = {
		.self = "/bin/gpucheck", .dir = "/runs/a/parts/0001-1",
		.probe = "p2p", .spec = &spec, .job_name = "gpucheck-1a-3",
		.singleton = true, .gpus = 8, .nodelist = "n1,n2",
	};
	struct str out = STR_INIT;

	(void)state;
	spec_init(&spec);
	spec.deadline_ns = 600 * NS_PER_S;
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--job-name=gpucheck-1a-3\n"));
	assert_non_null(strstr(str_text(&out), "--dependency=singleton\n"));
	assert_non_null(strstr(str_text(&out), "--gres=gpu:8\n"));
	/* without --time Slurm would give it a minute */
	assert_non_null(strstr(str_text(&out), "--time=60\n"));
	assert_non_null(strstr(str_text(&out), "--deadline=now+4200\n"));
	str_release(&out);
}

static void script_without_limits(void **state)
{
	struct spec spec;
	struct launch_request r = {
		.self = "/bin/gpucheck", .dir = "/runs/a", .probe = "p2p",
		.spec = &spec,
	};
	struct str out = STR_INIT;

	(void)state;
	spec_init(&spec);
	STR_COPY(spec.transport, "tcp");
	setenv("PATH", "", 1);		/* no Slurm to ask */
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--nodes=2\n"));
	assert_null(strstr(str_text(&out), "--gres"));
	assert_null(strstr(str_text(&out), "--time"));
	assert_null(strstr(str_text(&out), "set --"));
	/* it is the only job of its run */
	assert_null(strstr(str_text(&out), "--dependency"));
	assert_null(strstr(str_text(&out), "tend"));
	str_reset(&out);
	/* the forecast's; a probe that needs no GPUs shares its nodes */
	r.minutes = 30;
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--time=30\n"));
	assert_non_null(strstr(str_text(&out), "--exclusive\n"));
	str_reset(&out);
	r.light = true;
	r.gpus = 8;
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_null(strstr(str_text(&out), "--exclusive"));
	assert_null(strstr(str_text(&out), "--mem"));
	assert_null(strstr(str_text(&out), "--gres"));
	str_reset(&out);
	/* half a minute to boot or 15 for an image, 2 for TERM */
	spec.max_time_ns = 5 * 60 * NS_PER_S;
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--time=8\n"));
	str_reset(&out);
	STR_COPY(spec.srun_args, "--container-image=x");
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--time=22\n"));
	str_release(&out);
}

static void a_script_that_becomes_another_program_ends_there(void **state)
{
	struct spec spec;
	const struct launch_request r = {
		.self = "/bin/gpucheck", .dir = "/runs/a", .probe = "all",
		.spec = &spec, .inner = "conductor",
	};
	struct str out = STR_INIT;

	(void)state;
	spec_init(&spec);
	STR_COPY(spec.transport, "tcp");
	setenv("PATH", "", 1);
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out),
			       "\nexec /bin/gpucheck conductor /runs/a"));
	assert_null(strstr(str_text(&out), "srun_pid"));
	str_release(&out);
}

/* Slurm can never give a node that is asked for and left out, and refuses a
 * job of which the two lists overlap */
static void nodes_left_out_are_not_asked_for(void **state)
{
	struct spec spec;
	const struct launch_request r = {
		.self = "/bin/gpucheck", .dir = "/runs/a", .probe = "p2p",
		.spec = &spec,
	};
	struct str out = STR_INIT;
	struct args a = { 0 };
	int64_t nodes = 0, gpus;

	(void)state;
	spec_init(&spec);
	STR_COPY(spec.nodelist, "gpu[1-4]");
	STR_COPY(spec.exclude, "gpu2,gpu9");
	assert_int_equal(job_script_nodes(&spec), 3);
	assert_int_equal(job_script_write(&r, &out, NULL), 0);
	assert_non_null(strstr(str_text(&out), "--nodes=3\n"));
	str_release(&out);
	setenv("SLURM_JOB_NODELIST", "gpu[0-4]", 1);
	launcher_srun.usual(&spec, &nodes, &gpus);
	assert_int_equal(nodes, 3);
	assert_int_equal(launcher_srun.check(&spec, NULL), 0);
	setenv("SLURM_JOB_NODELIST", "gpu[5-9]", 1);
	assert_int_equal(launcher_srun.check(&spec, NULL), -1);
	unsetenv("SLURM_JOB_NODELIST");
	args_add_places(&a, NULL, &spec);
	args_add_places(&a, "gpu[1-2]", &spec);
	assert_int_equal(a.n, 4);
	assert_string_equal(a.argv[0], "--nodelist=gpu1,gpu3,gpu4");
	assert_string_equal(a.argv[1], "--exclude=gpu2,gpu9");
	assert_string_equal(a.argv[2], "--nodelist=gpu1");
	args_release(&a);
	STR_COPY(spec.exclude, "gpu[1-4]");
	assert_int_equal(spec_check(&spec, NULL), -1);
}

static void unfit_paths_are_refused(void **state)
{
	static const char *const dirs[] = { "/runs/a\n#SBATCH --evil",
					    "/runs/back\\slash" };
	struct spec spec;

	(void)state;
	spec_init(&spec);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		const struct launch_request r = {
			.self = "/bin/gpucheck", .dir = dirs[i],
			.probe = "p2p", .spec = &spec,
		};
		struct str out = STR_INIT;

		assert_int_equal(job_script_write(&r, &out, NULL), -1);
		str_release(&out);
	}
}

/* ---- launching ---- */

/** A run directory and a shell script that plays gpucheck. */
struct stage {
	char dir[64];
	char self[96];
	struct spec spec;
	struct launch_request request;
};

static void set_stage(struct stage *s, const char *script)
{
	FILE *f;

	STR_COPY(s->dir, "/tmp/test-launcher-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->self, sizeof(s->self), "%s/gpucheck", s->dir);
	f = fopen(s->self, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	chmod(s->self, 0755);
	spec_init(&s->spec);
	s->request = (struct launch_request){
		.self = s->self, .dir = s->dir, .probe = "p2p",
		.spec = &s->spec,
	};
}

static void clear_stage(struct stage *s)
{
	char path[128];

	unlink(s->self);
	snprintf(path, sizeof(path), "%s/job.out", s->dir);
	unlink(path);
	assert_int_equal(rmdir(s->dir), 0);
}

static void await_end(struct launch *l, struct launch_state *st)
{
	const struct timespec nap = { .tv_nsec = 10 * NS_PER_MS };

	for (int i = 0; i < 500; i++) {
		assert_int_equal(launcher_local.poll(l, st, NULL), 0);
		if (st->phase == LAUNCH_ENDED) {
			return;
		}
		nanosleep(&nap, NULL);
	}
	fail_msg("no end within 5 s");
}

static char *read_out(const struct stage *s)
{
	size_t len;
	char *text = rundir_read_text(s->dir, RUN_JOB_OUT, 4096, &len, NULL);

	assert_non_null(text);
	return text;
}

static void local_agents_know_who_they_are(void **state)
{
	struct stage s;
	struct launch_state st;
	struct launch *l;
	char *out;

	(void)state;
	set_stage(&s, "echo \"$1 $GPUCHECK_BOOT_RANK of $GPUCHECK_BOOT_SIZE "
		      "is $GPUCHECK_BOOT_NODE\"; exit $GPUCHECK_BOOT_RANK");
	s.spec.local_nodes = 3;
	l = launcher_start(&launcher_local, &s.request, NULL);
	assert_non_null(l);
	await_end(l, &st);
	launcher_free(&launcher_local, l);
	assert_int_equal(st.exit_code, 2);
	out = read_out(&s);
	assert_non_null(strstr(out, "agent 0 of 3 is n0\n"));
	assert_non_null(strstr(out, "agent 2 of 3 is n2\n"));
	free(out);
	clear_stage(&s);
}

/** TERM, and KILL after it, reach the agent and what it started. */
static void check_stop(bool hard, int code)
{
	struct stage s;
	struct launch_state st;
	struct launch *l;
	char *out = NULL;

	set_stage(&s, "trap 'echo told; exit 4' TERM\n"
		      "echo ready; while :; do sleep 0.05; done");
	l = launcher_start(&launcher_local, &s.request, NULL);
	assert_non_null(l);
	do {
		free(out);
		out = read_out(&s);
	} while (!strstr(out, "ready"));
	free(out);
	launcher_local.stop(l, hard);
	await_end(l, &st);
	launcher_free(&launcher_local, l);
	assert_int_equal(st.exit_code, code);
	out = read_out(&s);
	assert_int_equal(strstr(out, "told") != NULL, !hard);
	free(out);
	clear_stage(&s);
}

static void local_agents_stop(void **state)
{
	(void)state;
	check_stop(false, 4);
	check_stop(true, 128 + SIGKILL);
}

/** Without a coordinator the others would wait for it: they are ended. */
static void local_agents_without_a_coordinator_end(void **state)
{
	struct stage s;
	struct launch_state st;
	struct launch *l;

	(void)state;
	set_stage(&s, "[ $GPUCHECK_BOOT_RANK -gt 0 ] || exit 3\n"
		      "while :; do sleep 0.05; done");
	s.spec.local_nodes = 3;
	l = launcher_start(&launcher_local, &s.request, NULL);
	assert_non_null(l);
	await_end(l, &st);
	launcher_free(&launcher_local, l);
	assert_int_equal(st.exit_code, 3);
	clear_stage(&s);
}

/** Who waited for a coordinator in vain is none of those that will not come,
 *  which rank 0 hears at its stdin. */
static void local_agents_that_waited_are_not_absent(void **state)
{
	struct stage s;
	struct launch_state st;
	struct launch *l;
	char *out;

	(void)state;
	set_stage(&s, "pid=${0%/*}/pid\n"
		  "case $GPUCHECK_BOOT_RANK in\n"
		  "1) echo $$ >$pid.new; mv $pid.new $pid; exit 4;;\n"
		  "2) until [ -e $pid ] &&\n"
		  "	grep -q 'State:.Z' /proc/$(cat $pid)/status\n"
		  "   do sleep 0.01; done\n"
		  "   rm $pid; exit 3;;\n"
		  "esac\n"
		  "until grep n2 /dev/stdin; do sleep 0.01; done\n"
		  "cat /dev/stdin");
	s.spec.local_nodes = 3;
	l = launcher_start(&launcher_local, &s.request, NULL);
	assert_non_null(l);
	await_end(l, &st);
	launcher_free(&launcher_local, l);
	out = read_out(&s);
	assert_non_null(strstr(out, "\"node\":\"n2\""));
	assert_null(strstr(out, "\"node\":\"n1\""));
	free(out);
	clear_stage(&s);
}

static void missing_program_is_an_error(void **state)
{
	struct stage s;
	struct err e = { 0 };

	(void)state;
	set_stage(&s, "");
	s.request.self = "/nowhere/gpucheck";
	assert_null(launcher_start(&launcher_local, &s.request, &e));
	assert_non_null(strstr(e.text, "/nowhere/gpucheck"));
	assert_int_equal(e.code, ENOENT);
	clear_stage(&s);
}

static const struct launcher_ops *choose(const struct spec *s, struct err *e)
{
	char why[256];

	return launcher_choose(s, why, sizeof(why), e);
}

static void launcher_is_chosen(void **state)
{
	struct spec s;
	struct err e = { 0 };

	(void)state;
	setenv("PATH", "", 1);
	unsetenv("SLURM_JOB_ID");
	spec_init(&s);
	assert_ptr_equal(choose(&s, NULL), &launcher_local);
	s.nodes = 2;
	assert_null(choose(&s, &e));
	assert_non_null(strstr(e.hint, "--local=2x"));
	spec_init(&s);
	STR_COPY(s.launcher, "sbatch");
	assert_null(choose(&s, &e));
	s.dry_run = true;
	assert_ptr_equal(choose(&s, NULL), &launcher_sbatch);
	setenv("SLURM_JOB_ID", "42", 1);
	spec_init(&s);
	s.local = true;
	assert_ptr_equal(choose(&s, NULL), &launcher_local);
	unsetenv("SLURM_JOB_ID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_id_is_found),
		cmocka_unit_test(a_job_is_as_its_script_says),
		cmocka_unit_test(job_is_read),
		cmocka_unit_test(job_is_refused),
		cmocka_unit_test(states_are_explained),
		cmocka_unit_test(a_job_that_waits_for_bad_nodes_names_them),
		cmocka_unit_test(
			a_job_that_slurm_ended_is_told_from_one_that_failed),
		cmocka_unit_test(a_start_to_come_is_told),
		cmocka_unit_test(a_script_of_a_job_is_found),
		cmocka_unit_test(who_cannot_be_stopped_goes_on),
		cmocka_unit_test(unwritable_output_is_explained),
		cmocka_unit_test(unknown_state_is_running),
		cmocka_unit_test(nodes_have_states),
		cmocka_unit_test(nodes_that_get_no_work_are_named),
		cmocka_unit_test(gres_is_counted),
		cmocka_unit_test(pmi2_is_a_word_of_its_own),
		cmocka_unit_test(step_is_found_by_name),
		cmocka_unit_test(words_are_quoted),
		cmocka_unit_test(script_has_our_options),
		cmocka_unit_test(local_agents_know_who_they_are),
		cmocka_unit_test(local_agents_stop),
		cmocka_unit_test(local_agents_without_a_coordinator_end),
		cmocka_unit_test(local_agents_that_waited_are_not_absent),
		cmocka_unit_test(missing_program_is_an_error),
		cmocka_unit_test(nodes_left_out_are_not_asked_for),
		cmocka_unit_test(unfit_paths_are_refused),
		/* these empty PATH */
		cmocka_unit_test(script_of_a_lane),
		cmocka_unit_test(script_without_limits),
		cmocka_unit_test(
			a_script_that_becomes_another_program_ends_there),
		cmocka_unit_test(launcher_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

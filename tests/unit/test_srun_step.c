/* SPDX-License-Identifier: BSD-3-Clause */
/* The step of a run, in allocations of all kinds and by all versions of
 * srun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/data/allocation.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"
#include "sbatch/srun_step.h"

/* ---- what Slurm says ---- */

static void versions_are_read(void **state)
{
	static const struct {
		const char *text;
		int version;
	} cases[] = {
		{ .text = "slurm-wlm 22.05.8\n", .version = 220508 },
		{ .text = "slurm 21.08.0-0rc1", .version = 210800 },
		{ .text = "slurm 20.02.5-Bull.1.1", .version = 200205 },
		{ .text = "slurm 17.11", .version = 171100 },
		{ .text = "slurm 2022.5" }, { .text = "slurm" }, { .text = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(slurm_parse_version(cases[i].text),
				 cases[i].version);
	}
}

static void expect_text(const struct allocation *a, const char *want)
{
	struct str text = STR_INIT;

	allocation_text(a, &text);
	assert_string_equal(str_text(&text), want);
	str_release(&text);
}

/* as Slurm 22.05 words it, shortened */
#define JOB_OF(id, rest, nodes) \
	"JobId=" id " JobName=x " rest "NumNodes=2 TRES=cpu=2,mem=4000M " \
	"OverSubscribe=OK " nodes " MinCPUsNode=1 Comment=Nodes=a GRES=gpu:3 " \
	"Power= \n"
#define NODES_OF(list, gres) \
	" Nodes=" list " CPU_IDs=0-7 Mem=2000 GRES=" gres " "

static const char *job_of(const char *text)
{
	return strstr(text, "JobId=7 ") ? "7" : "1";
}

static void allocations_are_read(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ JOB_OF("1", "", NODES_OF("n[1-2]", "gpu:8(IDX:0-7)")),
		  "n[1,2]=8" },
		{ JOB_OF("1", "", NODES_OF("n1", "gpu:a:4(IDX:0,2-4),gpu:b:2"
						 "(IDX:5-6),mps:9")
			 NODES_OF("n2.site", "") NODES_OF("n3", "gpu:6")),
		  "n[1,3]=6 n2.site=0" },
		{ JOB_OF("7", "HetJobId=7 HetJobOffset=0 ",
			 NODES_OF("n1", "gpu:8(IDX:0-7)"))
		  JOB_OF("8", "HetJobId=7 HetJobOffset=1 ",
			 NODES_OF("n2", "gpu:4(IDX:0-3)")), "n1=8 n2=4" },
		/* other tasks of an array */
		{ JOB_OF("1", "ArrayJobId=1 ArrayTaskId=2 ",
			 NODES_OF("n1", "gpu:8"))
		  JOB_OF("2", "ArrayJobId=1 ArrayTaskId=1 ",
			 NODES_OF("n2", "gpu:4")), "n1=8" },
		{ .text = JOB_OF("1", "", "") },
		{ .text = JOB_OF("2", "", NODES_OF("n1", "gpu:8")) },
		{ .text = JOB_OF("1", "", NODES_OF("-x", "gpu:8")) },
		{ .text = "slurm_load_jobs error: Invalid job id specified\n" },
		{ .text = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct allocation a = { 0 };
		int rc = slurm_parse_allocation(cases[i].text,
						job_of(cases[i].text), &a);

		assert_int_equal(rc, cases[i].want ? 0 : -1);
		if (rc == 0) {
			expect_text(&a, cases[i].want);
			assert_int_equal(a.parts[a.n - 1].group,
					 strstr(cases[i].text, "Offset=1") !=
						 NULL);
		}
		allocation_release(&a);
	}
}

static void allocations_travel_as_text(void **state)
{
	static const char *const wrong[] = {
		"n1", "n1=", "=8", "n1=x", "n1=1025", "n1=-1", "n1=8 n2",
		"n 1=8", "-n1=8", "n1=00000000008",
	};
	struct allocation a = { 0 };

	(void)state;
	assert_int_equal(allocation_parse("n[1-2],m=8 k.site=0", &a, NULL), 0);
	assert_int_equal(allocation_gpus(&a, "n2"), 8);
	assert_int_equal(allocation_gpus(&a, "m"), 8);
	assert_int_equal(allocation_gpus(&a, "k.site"), 0);
	assert_int_equal(allocation_gpus(&a, "k"), -1);
	expect_text(&a, "n[1,2],m=8 k.site=0");
	allocation_release(&a);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct err e = { 0 };

		assert_int_equal(allocation_parse(wrong[i], &a, &e), -1);
		assert_int_equal(a.n, 0);
		assert_true(e.text[0] != '\0');
	}
	assert_int_equal(allocation_parse("", &a, NULL), 0);
	assert_int_equal(a.n, 0);
}

/** The kernel takes 128 KiB of one variable. */
static void a_large_allocation_fits_a_variable(void **state)
{
	struct allocation a = { 0 }, again = { 0 };
	struct str text = STR_INIT;
	char name[64];

	(void)state;
	for (int i = 0; i < ALLOCATION_MAX; i++) {
		snprintf(name, sizeof(name), "gpu-node-of-the-site-%06d", i);
		assert_int_equal(allocation_add(&a, name, strlen(name),
						i % 2 ? 8 : 4, 0), 0);
	}
	allocation_text(&a, &text);
	assert_in_range(text.len, 1, 32 << 10);
	assert_int_equal(allocation_parse(str_text(&text), &again, NULL), 0);
	assert_int_equal(allocation_gpus(&again, name), 8);
	str_release(&text);
	allocation_release(&a);
	allocation_release(&again);
}

/* ---- the line of srun ---- */

static struct spec spec;
static struct launch_request request = {
	.self = "/bin/gpucheck", .dir = "/runs/a", .probe = "p2p",
	.spec = &spec,
};

static bool muster;		/* the step is a roll call */

static void compose(struct srun_step *s, int version, const char *job,
		    char *const inherited[])
{
	static char *const none[] = { NULL };

	*s = (struct srun_step){ .version = version, .pmi2 = true,
				 .muster = muster };
	slurm_parse_allocation(job, job_of(job), &s->alloc);
	srun_step_compose(s, &request, NULL, inherited ? inherited : none);
	assert_false(s->line.failed);
	assert_false(s->env.failed);
}

/** Is each of @words, which one blank parts, in what is printed? */
static void expect_line(const struct srun_step *s, const char *want)
{
	struct str line = STR_INIT;

	srun_step_describe(s, &line);
	if (!strstr(str_text(&line), want)) {
		fail_msg("no '%s' in: %s", want, str_text(&line));
	}
	str_release(&line);
}

static void refuse_word(const struct srun_step *s, const char *word)
{
	for (size_t i = 0; i < s->line.n; i++) {
		assert_int_not_equal(strncmp(s->line.argv[i], word,
					     strlen(word)), 0);
	}
}

#define EVEN   JOB_OF("1", "", NODES_OF("n[1-3]", "gpu:8(IDX:0-7)"))
#define UNEVEN JOB_OF("1", "", NODES_OF("n1", "gpu:8") \
		      NODES_OF("n[2-3]", "gpu:4") NODES_OF("n4", "gpu:8"))
#define HET JOB_OF("7", "HetJobId=7 HetJobOffset=0 ", \
		   NODES_OF("n[1-2]", "gpu:8")) \
	    JOB_OF("8", "HetJobId=7 HetJobOffset=1 ", NODES_OF("m1", "gpu:4"))

static void gpus_are_asked_for_by_node(void **state)
{
	struct srun_step s;

	(void)state;
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, "GPUCHECK_BOOT=pmi2 'GPUCHECK_ALLOCATION=n[1-3]=8' "
			"srun --mpi=pmi2 --nodes=3 --ntasks=3 "
			"--ntasks-per-node=1 --gres=gpu:8 --cpu-bind=none "
			"--gpu-bind=none --kill-on-bad-exit=0 --no-kill "
			"--overlap /bin/gpucheck agent /runs/a\n");
	srun_step_release(&s);
	/* in a container of Slurm's own, agents do not see PMI2 */
	STR_COPY(spec.srun_args, "--container=/image");
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, "GPUCHECK_BOOT=rendezvous ");
	expect_line(&s, " srun --mpi=none ");
	expect_line(&s, " --container=/image ");
	srun_step_release(&s);
	STR_COPY(spec.srun_args, "--container-image=/image");
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, "GPUCHECK_BOOT=pmi2 ");
	srun_step_release(&s);
	spec.srun_args[0] = '\0';
	/* a job without any, and one that nobody knows */
	compose(&s, 220508, JOB_OF("1", "", NODES_OF("n[1-3]", "")), NULL);
	expect_line(&s, " --nodes=3 ");
	refuse_word(&s, "--gres");
	srun_step_release(&s);
	setenv("SLURM_JOB_NUM_NODES", "5", 1);
	compose(&s, 220508, "", NULL);
	expect_line(&s, "GPUCHECK_BOOT=pmi2 srun --mpi=pmi2 --nodes=5 ");
	refuse_word(&s, "--gres");
	srun_step_release(&s);
	unsetenv("SLURM_JOB_NUM_NODES");
}

static void words_are_those_of_the_version(void **state)
{
	static const struct {
		int version;
		const char *want;
	} cases[] = {
		{ 200205, "--cpu-bind=none --kill-on-bad-exit=0 --no-kill /" },
		{ 201102, "=0 --no-kill --overlap --whole /" },
		{ 210800, "--cpu-bind=none --kill-on-bad-exit=0 --no-kill "
			  "--overlap /" },
		{ 210801, "--cpu-bind=none --gpu-bind=none --kill" },
		{ 0, "--gpu-bind=none --kill-on-bad-exit=0 --no-kill "
		     "--overlap /" },
	};
	struct srun_step s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		compose(&s, cases[i].version, EVEN, NULL);
		expect_line(&s, cases[i].want);
		srun_step_release(&s);
	}
}

static void nodes_of_other_size_are_components(void **state)
{
	struct srun_step s;

	(void)state;
	compose(&s, 220508, UNEVEN, NULL);
	expect_line(&s, " 'GPUCHECK_NODELIST=n[1-4]' srun --mpi=pmi2 "
			"--nodes=1 --ntasks=1 --ntasks-per-node=1 --gpus=8 ");
	expect_line(&s, " --nodelist=n1 /bin/gpucheck agent /runs/a : "
			"--mpi=pmi2 --nodes=2 --ntasks=2 --ntasks-per-node=1 "
			"--gres=gpu:4 ");
	expect_line(&s, " '--nodelist=n[2,3]' /bin/gpucheck agent /runs/a : "
			"--mpi=pmi2 --nodes=1 --ntasks=1 --ntasks-per-node=1 "
			"--gpus=8 ");
	srun_step_release(&s);
	/* before there were components: what every node has; who looks at the
	 * results knows what was given */
	compose(&s, 200205, UNEVEN, NULL);
	expect_line(&s, "GPUCHECK_ALLOCATION=n[1,4]=8 n[2,3]=4");
	expect_line(&s, " --nodes=4 --ntasks=4 --ntasks-per-node=1 "
			"--gres=gpu:4 ");
	refuse_word(&s, ":");
	srun_step_release(&s);
}

static void all_groups_of_a_job_take_part(void **state)
{
	struct srun_step s;

	(void)state;
	compose(&s, 220508, HET, NULL);
	expect_line(&s, "srun --het-group=0 --mpi=pmi2 --nodes=2 --ntasks=2 "
			"--ntasks-per-node=1 --gres=gpu:8 ");
	expect_line(&s, " : --het-group=1 --mpi=pmi2 --nodes=1 --ntasks=1 "
			"--ntasks-per-node=1 --gres=gpu:4 ");
	srun_step_release(&s);
	compose(&s, 200205, HET, NULL);
	expect_line(&s, "GPUCHECK_ALLOCATION=n[1,2]=8 m1=4");
	expect_line(&s, " --nodes=2 --ntasks=2 ");
	srun_step_release(&s);
}

static void nodes_left_out_are_in_no_component(void **state)
{
	struct srun_step s;

	(void)state;
	STR_COPY(spec.exclude, "n1");
	spec.nodes = 2;
	compose(&s, 220508, UNEVEN, NULL);
	expect_line(&s, "'GPUCHECK_ALLOCATION=n[2,3]=4' 'GPUCHECK_NODELIST=n[2,3]' ");
	expect_line(&s, " '--nodelist=n[2,3]' ");
	srun_step_release(&s);
	spec.nodes = 0;
	request.nodelist = "n[1,4]";	/* of a run that goes on */
	compose(&s, 220508, UNEVEN, NULL);
	expect_line(&s, "GPUCHECK_ALLOCATION=n4=8 GPUCHECK_NODELIST=n4 ");
	srun_step_release(&s);
	request.nodelist = NULL;
	spec.exclude[0] = '\0';
}

/** A node that could not start is left out, and has the last rank: names are in
 *  the order of ranks. */
static void lost_nodes_have_the_last_ranks(void **state)
{
	char dir[] = "/tmp/gpucheck-step-XXXXXX", path[64];
	struct srun_step s;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" RUN_ABSENT, dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("{\"node\":\"n2\",\"detail\":\"no such file\"}\n", f);
	fclose(f);
	request.dir = dir;
	compose(&s, 220508, EVEN, NULL);
	request.dir = "/runs/a";
	expect_line(&s, "'GPUCHECK_NODELIST=n[1,3,2]' ");
	expect_line(&s, " '--nodelist=n[1,3]' ");
	srun_step_release(&s);
	unlink(path);
	rmdir(dir);
}

static void environment_is_cleaned(void **state)
{
	static char *const inherited[] = {
		(char *)"SLURM_GPUS_PER_TASK=1", (char *)"SLURM_NTASKS=16",
		(char *)"SLURM_JOB_ID=7", (char *)"SLURM_CONF=/etc/s.conf",
		(char *)"SLURM_EXPORT_ENV=NONE", (char *)"SLURM_HET_SIZE=2",
		(char *)"SRUN_CPUS_PER_TASK=4", (char *)"SLURM_TRES_PER_TASK=a",
		(char *)"SLURM_OF_A_LATER_VERSION=1", (char *)"NCCL_DEBUG=x",
		(char *)"SLURM_WORKING_CLUSTER=c:h:1:2", NULL
	};
	struct srun_step s;

	(void)state;
	compose(&s, 220508, EVEN, inherited);
	expect_line(&s, "env -u SLURM_GPUS_PER_TASK -u SLURM_NTASKS "
			"-u SLURM_EXPORT_ENV -u SRUN_CPUS_PER_TASK "
			"-u SLURM_TRES_PER_TASK -u SLURM_OF_A_LATER_VERSION "
			"GPUCHECK_BOOT=pmi2 ");
	srun_step_release(&s);
}

static void words_for_srun_reach_it(void **state)
{
	static char *const extra[] = { (char *)"--account=a", NULL };
	struct srun_step s;

	(void)state;
	request.extra = extra;
	STR_COPY(spec.srun_args, "--container-image=a#b:1  --c='x y'");
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, " --account=a '--container-image=a#b:1' '--c=x y' "
			"/bin/gpucheck ");
	srun_step_release(&s);
	muster = true;
	STR_COPY(spec.srun_args, "--container-image a --container-writable "
				 "--no-container-mount-home --c='x y'");
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, " --account=a '--c=x y' /bin/sh -c "
			"'echo \"gpucheck here: $SLURMD_NODENAME\"'");
	srun_step_release(&s);
	STR_COPY(spec.srun_args, "--mpi=none");
	compose(&s, 220508, EVEN, NULL);
	expect_line(&s, " --mpi=none /bin/gpucheck muster");
	srun_step_release(&s);
	muster = false;
	request.extra = NULL;
	spec.srun_args[0] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read),
		cmocka_unit_test(allocations_are_read),
		cmocka_unit_test(allocations_travel_as_text),
		cmocka_unit_test(a_large_allocation_fits_a_variable),
		cmocka_unit_test(gpus_are_asked_for_by_node),
		cmocka_unit_test(words_are_those_of_the_version),
		cmocka_unit_test(nodes_of_other_size_are_components),
		cmocka_unit_test(all_groups_of_a_job_take_part),
		cmocka_unit_test(nodes_left_out_are_in_no_component),
		cmocka_unit_test(lost_nodes_have_the_last_ranks),
		cmocka_unit_test(environment_is_cleaned),
		cmocka_unit_test(words_for_srun_reach_it),
	};

	spec_init(&spec);
	unsetenv("SLURM_JOB_NODELIST");
	return cmocka_run_group_tests_name("srun_step", tests, NULL, NULL);
}

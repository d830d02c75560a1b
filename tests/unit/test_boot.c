/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "probes/engine/net/boot.h"

#define TOKEN "000102030405060708090a0b0c0d0e0f" \
	      "101112131415161718191a1b1c1d1e1f"
#define NONCE "00112233445566778899aabbccddeeff"

static const char *const variables[] = {
	"GPUCHECK_BOOT_RANK", "GPUCHECK_BOOT_SIZE", "GPUCHECK_BOOT_NODE",
	"GPUCHECK_BOOT", "GPUCHECK_MASTER", "GPUCHECK_TOKEN", "PMI_FD",
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "RANK",
	"WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
	"SLURM_PROCID", "SLURM_NTASKS", "TORCHELASTIC_RUN_ID",
	"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID",
	"FLUX_JOB_NNODES", "PMIX_RANK", "PMIX_NAMESPACE",
	"JOB_COMPLETION_INDEX", "SLURM_CONTAINER", "SLURM_STEP_NODELIST",
	"SLURMD_NODENAME",
};

static int clear_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		unsetenv(variables[i]);
	}
	/* as on a machine without PMI2; tests/cluster has the real one */
	return setenv("GPUCHECK_PMI2_LIB", "/nowhere/libpmi2.so", 1);
}

/** Set "NAME=value" words, closed by NULL. */
static void set(const char *const words[])
{
	for (size_t i = 0; words[i]; i++) {
		char name[64];
		const char *value = strchr(words[i], '=');

		snprintf(name, sizeof(name), "%.*s", (int)(value - words[i]),
			 words[i]);
		setenv(name, value + 1, 1);
	}
}

static void alone_without_any_launcher(void **state)
{
	struct boot b;

	(void)state;
	assert_int_equal(boot_identify(&b, NULL), 0);
	assert_int_equal(b.how, BOOT_SINGLE);
	assert_int_equal(b.rank, 0);
	assert_int_equal(b.size, 1);
	assert_int_equal(b.local_rank, -1);
	assert_string_equal(b.node, "");
}

static void launchers_say_who_we_are(void **state)
{
	static const struct {
		const char *words[8];
		enum boot_how how;
		int rank, size, local_rank, local_size;
	} cases[] = {
		{ .words = { "GPUCHECK_BOOT_RANK=1", "GPUCHECK_BOOT_SIZE=2",
			     "GPUCHECK_BOOT_NODE=n1", "RANK=7",
			     "WORLD_SIZE=8" },
		  .how = BOOT_INNER, .rank = 1, .size = 2, .local_rank = -1 },
		{ .words = { "OMPI_COMM_WORLD_RANK=3",
			     "OMPI_COMM_WORLD_SIZE=16",
			     "OMPI_COMM_WORLD_LOCAL_RANK=1",
			     "OMPI_COMM_WORLD_LOCAL_SIZE=4" },
		  .how = BOOT_ENV, .rank = 3, .size = 16, .local_rank = 1,
		  .local_size = 4 },
		{ .words = { "RANK=15", "WORLD_SIZE=16", "LOCAL_RANK=7",
			     "LOCAL_WORLD_SIZE=8" },
		  .how = BOOT_ENV, .rank = 15, .size = 16, .local_rank = 7,
		  .local_size = 8 },
		/* mpirun and torchrun inside an allocation of Slurm */
		{ .words = { "RANK=15", "WORLD_SIZE=16", "LOCAL_RANK=7",
			     "SLURM_NTASKS=2", "SLURM_PROCID=1" },
		  .how = BOOT_ENV, .rank = 15, .size = 16, .local_rank = 7 },
		/* torchrun as a task of srun --mpi=pmi2 */
		{ .words = { "RANK=15", "WORLD_SIZE=16", "LOCAL_RANK=7",
			     "TORCHELASTIC_RUN_ID=none", "PMI_FD=9",
			     "SLURM_NTASKS=2", "SLURM_PROCID=1" },
		  .how = BOOT_ENV, .rank = 15, .size = 16, .local_rank = 7 },
		{ .words = { "GPUCHECK_BOOT=rendezvous", "SLURM_PROCID=1",
			     "SLURM_NTASKS=2" },
		  .how = BOOT_SLURM, .rank = 1, .size = 2, .local_rank = -1 },
		/* our own srun, started by a worker of torchrun or mpirun */
		{ .words = { "GPUCHECK_BOOT=rendezvous", "SLURM_PROCID=1",
			     "SLURM_NTASKS=2", "RANK=0", "WORLD_SIZE=8",
			     "TORCHELASTIC_RUN_ID=none" },
		  .how = BOOT_SLURM, .rank = 1, .size = 2, .local_rank = -1 },
		{ .words = { "GPUCHECK_BOOT=pmi2", "PMI_FD=9",
			     "SLURM_PROCID=1", "SLURM_NTASKS=2",
			     "OMPI_COMM_WORLD_RANK=0",
			     "OMPI_COMM_WORLD_SIZE=8" },
		  .how = BOOT_SLURM, .rank = 1, .size = 2, .local_rank = -1 },
		/* srun has PMI2, but this node has no library for it */
		{ .words = { "PMI_FD=9", "SLURM_PROCID=1", "SLURM_NTASKS=2" },
		  .how = BOOT_SLURM, .rank = 1, .size = 2, .local_rank = -1 },
		/* an instance of Flux in a job of Slurm: a GPU each, and a
		 * node each */
		{ .words = { "FLUX_TASK_RANK=9", "FLUX_JOB_SIZE=16",
			     "FLUX_TASK_LOCAL_ID=1", "FLUX_JOB_NNODES=2",
			     "SLURM_NTASKS=2", "SLURM_PROCID=1", "PMI_FD=9" },
		  .how = BOOT_ENV, .rank = 9, .size = 16, .local_rank = 1 },
		{ .words = { "FLUX_TASK_RANK=1", "FLUX_JOB_SIZE=2",
			     "FLUX_TASK_LOCAL_ID=0", "FLUX_JOB_NNODES=2" },
		  .how = BOOT_ENV, .rank = 1, .size = 2, .local_rank = -1 },
		/* srun --mpi=pmix, prterun, and a pod of an indexed job */
		{ .words = { "PMIX_RANK=1", "PMIX_NAMESPACE=slurm.pmix.7.0",
			     "SLURM_NTASKS=2", "SLURM_PROCID=1" },
		  .how = BOOT_SLURM, .rank = 1, .size = 2, .local_rank = -1 },
		{ .words = { "PMIX_RANK=3", "WORLD_SIZE=4" },
		  .how = BOOT_ENV, .rank = 3, .size = 4, .local_rank = -1 },
		{ .words = { "JOB_COMPLETION_INDEX=2", "WORLD_SIZE=3" },
		  .how = BOOT_ENV, .rank = 2, .size = 3, .local_rank = -1 },
		/* torchrun in such a pod */
		{ .words = { "JOB_COMPLETION_INDEX=1", "RANK=15",
			     "WORLD_SIZE=16", "LOCAL_RANK=7" },
		  .how = BOOT_ENV, .rank = 15, .size = 16, .local_rank = 7 },
		{ .words = { "SLURM_NTASKS=1", "SLURM_PROCID=0" },
		  .how = BOOT_SINGLE, .size = 1, .local_rank = -1 },
		{ .words = { "WORLD_SIZE=1" },
		  .how = BOOT_SINGLE, .size = 1, .local_rank = -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct boot b;

		clear_environment(state);
		set(cases[i].words);
		assert_int_equal(boot_identify(&b, NULL), 0);
		assert_int_equal(b.how, cases[i].how);
		assert_int_equal(b.rank, cases[i].rank);
		assert_int_equal(b.size, cases[i].size);
		assert_int_equal(b.local_rank, cases[i].local_rank);
		assert_int_equal(b.local_size, cases[i].local_size);
	}
}

static void usage_errors(void **state)
{
	static const struct {
		const char *words[5];
		const char *says;
	} cases[] = {
		{ .words = { "WORLD_SIZE=16" }, .says = "RANK is not set" },
		{ .words = { "OMPI_COMM_WORLD_SIZE=2" },
		  .says = "OMPI_COMM_WORLD_RANK is not set" },
		{ .words = { "GPUCHECK_BOOT_SIZE=2" },
		  .says = "GPUCHECK_BOOT_RANK is not set" },
		{ .words = { "RANK=16", "WORLD_SIZE=16" },
		  .says = "RANK is '16'" },
		{ .words = { "RANK=-1", "WORLD_SIZE=16" },
		  .says = "RANK is '-1'" },
		{ .words = { "RANK=0", "WORLD_SIZE=lots" },
		  .says = "WORLD_SIZE is 'lots'" },
		{ .words = { "RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=x" },
		  .says = "LOCAL_RANK is 'x'" },
		{ .words = { "RANK=64", "WORLD_SIZE=65", "LOCAL_RANK=64" },
		  .says = "LOCAL_RANK is '64', not a number from 0 to 63" },
		{ .words = { "RANK=0", "WORLD_SIZE=80", "LOCAL_RANK=0",
			     "LOCAL_WORLD_SIZE=80" },
		  .says = "LOCAL_WORLD_SIZE is '80'" },
		{ .words = { "SLURM_NTASKS=2", "SLURM_PROCID=0" },
		  .says = "use srun --mpi=pmi2" },
		{ .words = { "FLUX_TASK_RANK=0" },
		  .says = "FLUX_TASK_RANK is 0, but FLUX_JOB_SIZE is not" },
		{ .words = { "PMIX_RANK=3" },
		  .says = "PMIX_RANK is 3, but WORLD_SIZE is not set" },
		{ .words = { "JOB_COMPLETION_INDEX=7" },
		  .says = "JOB_COMPLETION_INDEX is 7, but WORLD_SIZE is not" },
		{ .words = { "JOB_COMPLETION_INDEX=4", "WORLD_SIZE=4" },
		  .says = "JOB_COMPLETION_INDEX is '4'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct boot b;
		struct err e = { 0 };

		clear_environment(state);
		set(cases[i].words);
		assert_int_equal(boot_identify(&b, &e), -1);
		assert_int_equal(e.code, EINVAL);
		if (!strstr(e.text, cases[i].says)) {
			fail_msg("no '%s' in '%s'", cases[i].says, e.text);
		}
	}
}

/* ---- the contact ---- */

static void fill_contact(struct boot_contact *c)
{
	static const char text[] =
		"{\"addrs\": [\"10.0.0.1:4711\", \"[2001:db8::1]:4711\"], "
		"\"token\": \"" TOKEN "\", \"nonce\": \"" NONCE "\"}";

	assert_int_equal(boot_contact_parse(text, strlen(text), c, NULL), 0);
}

static void contact_goes_there_and_back(void **state)
{
	struct boot_contact c, back;
	char *text;

	(void)state;
	fill_contact(&c);
	assert_int_equal(c.n_addrs, 2);
	assert_string_equal(c.addrs[1], "[2001:db8::1]:4711");
	assert_int_equal(c.token[31], 0x1f);
	assert_string_equal(c.nonce, NONCE);
	text = boot_contact_text(&c);
	assert_int_equal(boot_contact_parse(text, strlen(text), &back, NULL),
			 0);
	assert_memory_equal(&c, &back, sizeof(c));
	free(text);
}

/* as "srun --container" of Slurm 22.05 leaves its task */
static void a_node_has_its_place_in_an_oci_container(void **state)
{
	static const char *const words[] = {
		"GPUCHECK_BOOT=rendezvous", "SLURM_NTASKS=2",
		"SLURM_CONTAINER=/image", NULL
	};
	char list[160], host[128] = "";
	struct boot b;

	gethostname(host, sizeof(host) - 1);
	snprintf(list, sizeof(list), "elsewhere,%s", host);
	clear_environment(state);
	set(words);
	assert_int_equal(boot_identify(&b, NULL), -1);
	setenv("SLURM_STEP_NODELIST", list, 1);
	assert_int_equal(boot_identify(&b, NULL), 0);
	assert_int_equal(b.how, BOOT_SLURM);
	assert_int_equal(b.rank, 1);
	assert_string_equal(getenv("SLURMD_NODENAME"), host);
	/* several tasks of one node share their environment */
	unsetenv("SLURM_PROCID");
	setenv("SLURM_NTASKS", "4", 1);
	assert_int_equal(boot_identify(&b, NULL), -1);
}

static void bad_contacts_are_refused(void **state)
{
#define CONTACT(addrs, more) "{\"addrs\": [" addrs "], \"token\": \"" more "}"
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{.text = "", .says = "line 1"},
		{.text = "{}", .says = "'addrs'"},
		{.text = "{\"addrs\": [\"a:1\"]}", .says = "'token'"},
		{.text = CONTACT("", TOKEN "\""), .says = "cannot be read"},
		{.text = CONTACT("\"a:1\"", TOKEN), .says = "line 1"},
		{.text = CONTACT("\"a:1\"", "00\""), .says = "cannot be read"},
		{.text = CONTACT("\"a:1\"", TOKEN "\", \"token\": \"\""),
		 .says = "duplicate"},
		{.text = CONTACT("\"a\"", TOKEN "\""),
		 .says = "cannot be read"},
		{.text = CONTACT("\"a:1 b\"", TOKEN "\""),
		 .says = "cannot be read"},
		{.text = CONTACT("7", TOKEN "\""), .says = "cannot be read"},
		{.text = CONTACT("\"a:1\"", TOKEN "\", \"nonce\": \"x\""),
		 .says = "cannot be read"},
		{.text = CONTACT("\"a:1\"",
				 TOKEN "\", \"nonce\": \"" TOKEN "\""),
		 .says = "'nonce'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct boot_contact c;
		struct err e = { 0 };

		assert_int_equal(boot_contact_parse(cases[i].text,
						    strlen(cases[i].text), &c,
						    &e), -1);
		if (!strstr(e.text, cases[i].says)) {
			fail_msg("no '%s' in '%s'", cases[i].says, e.text);
		}
	}
}

static void too_many_addresses_are_refused(void **state)
{
	struct boot_contact c;
	struct str text = STR_INIT;

	(void)state;
	for (int more = 0; more < 2; more++) {
		str_add(&text, "{\"token\": \"" TOKEN "\", \"addrs\": [");
		for (int i = 1; i < NET_MAX_ADDRS + more; i++) {
			str_add(&text, "\"a:1\", ");
		}
		str_add(&text, "\"a:1\"]}");
		assert_int_equal(
			boot_contact_parse(str_text(&text), text.len, &c, NULL),
			-more);
		str_reset(&text);
	}
	str_release(&text);
}

static void environment_names_the_master(void **state)
{
	struct boot_contact c;
	struct boot b = { .how = BOOT_ENV, .rank = 1, .size = 2 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(boot_contact_env(&c, NULL), 0);
	setenv("GPUCHECK_MASTER", "head:4711", 1);
	assert_int_equal(boot_contact_env(&c, &e), -1);
	assert_non_null(strstr(e.text, "GPUCHECK_TOKEN"));
	setenv("GPUCHECK_TOKEN", "secret", 1);
	assert_int_equal(boot_contact_env(&c, &e), -1);
	setenv("GPUCHECK_TOKEN", TOKEN, 1);
	assert_int_equal(boot_find(&b, "/nowhere", NONCE, &c, 0, NULL), 0);
	assert_string_equal(c.addrs[0], "head:4711");
	assert_int_equal(c.token[1], 1);
}

/* ---- meeting through the directory ---- */

static void published_contact_is_found(void **state)
{
	const struct boot zero = { .how = BOOT_INNER, .size = 2 };
	const struct boot one = { .how = BOOT_INNER, .rank = 1, .size = 2 };
	char dir[] = "/tmp/test-boot-XXXXXX", path[PATH_MAX];
	struct boot_contact c, found;
	struct stat st;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	fill_contact(&c);
	assert_int_equal(boot_find(&one, dir, NONCE, &found, 0, &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	assert_null(strstr(e.text, "--agent-timeout"));
	assert_int_equal(boot_publish(&zero, dir, &c, NULL), 0);
	assert_int_equal(rundir_path(dir, RUN_RENDEZVOUS, path, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(boot_find(&one, dir, NONCE, &found, 0, NULL), 0);
	assert_memory_equal(&c, &found, sizeof(c));
	/* a rendezvous left over from another run is not ours */
	assert_int_equal(boot_find(&one, dir, TOKEN, &found, 0, NULL), -1);
	unlink(path);
	rmdir(dir);
}

/* Nobody waits for a coordinator that will never be. */
static void rank_0_says_that_there_is_no_coordinator(void **state)
{
	const struct boot zero = { .how = BOOT_INNER, .size = 2 };
	const struct boot one = { .how = BOOT_INNER, .rank = 1, .size = 2 };
	const int64_t in_an_hour = clock_now_ns() + 3600 * NS_PER_S;
	char dir[] = "/tmp/test-boot-XXXXXX", path[PATH_MAX];
	struct boot_contact c, found;
	struct err why = { 0 }, e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	err_set(&why, ENOSPC, "the disk is full");
	boot_publish_failure(&zero, dir, NONCE, &why);
	assert_int_equal(boot_find(&one, dir, NONCE, &found, in_an_hour, &e),
			 -1);
	assert_string_equal(e.text,
			    "there is no coordinator: the disk is full");
	/* what is left over from another run says nothing */
	assert_int_equal(boot_find(&one, dir, TOKEN, &found, 0, &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	/* started twice: the run that others began goes on */
	fill_contact(&c);
	assert_int_equal(boot_publish(&zero, dir, &c, NULL), 0);
	boot_publish_failure(&zero, dir, NONCE, &why);
	assert_int_equal(boot_find(&one, dir, NONCE, &found, 0, NULL), 0);
	rundir_path(dir, RUN_RENDEZVOUS, path, NULL);
	unlink(path);
	rmdir(dir);
}

static void search_ends_at_its_deadline(void **state)
{
	const struct boot one = { .how = BOOT_INNER, .rank = 1, .size = 2 };
	int64_t start = clock_now_ns(), took;
	struct boot_contact c;

	(void)state;
	assert_int_equal(boot_find(&one, "/nowhere", NULL, &c,
				   start + 100 * NS_PER_MS, NULL), -1);
	took = clock_now_ns() - start;
	assert_true(took >= 100 * NS_PER_MS && took < 2 * NS_PER_S);
}

#define TEST(fn) cmocka_unit_test_setup(fn, clear_environment)

/** Of which run a failure is has to be said: one of another run is none. */
static void a_failure_of_no_run_is_none(void **state)
{
	static const char text[] = "{\"why\":\"no memory\"}";
	struct boot_contact c = { .nonce = "00" };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(boot_contact_parse(text, sizeof(text) - 1, &c, &e),
			 -1);
	assert_int_not_equal(e.code, ECANCELED);
}

/* Thousands of agents wait for one file of one server. */
static void they_do_not_crowd_the_file(void **state)
{
	static int looks[300];		/* in each 100 ms of half a minute */
	const int agents = 4096;

	(void)state;
	for (int rank = 0; rank < agents; rank++) {
		int64_t at = NS_PER_MS;

		while (at < 30 * NS_PER_S) {
			int64_t nap = boot_file_nap_ns(rank, at);

			assert_in_range(nap, at / 8 < NS_PER_S / 2 ?
						at / 8 : NS_PER_S / 2,
					at / 4 < NS_PER_S ? at / 4 + 1 :
							    NS_PER_S);
			looks[at / (100 * NS_PER_MS)]++;
			at += nap;
		}
	}
	for (int i = 40; i < 300; i++) {
		assert_in_range(looks[i], 1, agents / 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alone_without_any_launcher),
		TEST(launchers_say_who_we_are),
		TEST(a_node_has_its_place_in_an_oci_container),
		TEST(usage_errors),
		TEST(contact_goes_there_and_back),
		TEST(bad_contacts_are_refused),
		TEST(too_many_addresses_are_refused),
		TEST(environment_names_the_master),
		TEST(published_contact_is_found),
		TEST(rank_0_says_that_there_is_no_coordinator),
		TEST(search_ends_at_its_deadline),
		cmocka_unit_test(a_failure_of_no_run_is_none),
		cmocka_unit_test(they_do_not_crowd_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/boot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/data/rundir.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/spec/spec.h"

#define MAX_SIZE (1 << 20)
#define MAX_CONTACT 65536
/** How often it is looked whether PMI2 has brought the coordinator's contact:
 *  into memory of ours ... */
#define LOOK_NS (20 * NS_PER_MS)
/** ... and, at the latest, at the file, which thousands of agents ask a file
 *  server for; where there is PMI2 not before PMI2_FIRST_NS. */
#define FILE_LOOK_NS (1 * NS_PER_S)
#define PMI2_FIRST_NS (1 * NS_PER_S)
/** So long rank 0 stays to tell that it has no coordinator: the others start
 *  when it does, or a bit later. */
#define TELL_NS (5 * NS_PER_S)

/** Environment variables in which a launcher says who a process is. */
struct launcher_vars {
	enum boot_how how;
	const char *rank, *size;
	const char *local_rank;	/* NULL: agents own all GPUs of their node */
	const char *local_size;
	const char *nodes;	/* how many nodes, where no local_size is */
	const char *node;	/* NULL: the host's own name */
	const char *no_size;	/* what to do without; NULL: there is one */
};

static const struct launcher_vars inner_vars = {
	.how = BOOT_INNER, .rank = "GPUCHECK_BOOT_RANK",
	.size = "GPUCHECK_BOOT_SIZE", .node = "GPUCHECK_BOOT_NODE"
};
static const struct launcher_vars mpirun_vars = {
	.how = BOOT_ENV, .rank = "OMPI_COMM_WORLD_RANK",
	.size = "OMPI_COMM_WORLD_SIZE",
	.local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
	.local_size = "OMPI_COMM_WORLD_LOCAL_SIZE"
};
static const struct launcher_vars slurm_vars = {
	.how = BOOT_SLURM, .rank = "SLURM_PROCID", .size = "SLURM_NTASKS"
};
static const struct launcher_vars torchrun_vars = {
	.how = BOOT_ENV, .rank = "RANK", .size = "WORLD_SIZE",
	.local_rank = "LOCAL_RANK", .local_size = "LOCAL_WORLD_SIZE"
};
static const struct launcher_vars flux_vars = {
	.how = BOOT_ENV, .rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE",
	.local_rank = "FLUX_TASK_LOCAL_ID", .nodes = "FLUX_JOB_NNODES",
	.no_size = "\"flux run\" sets both"
};
/* Neither PMIx nor Kubernetes says in a variable how many there are. */
static const struct launcher_vars pmix_vars = {
	.how = BOOT_ENV, .rank = "PMIX_RANK", .size = "WORLD_SIZE",
	.no_size = "give it to all of them: prterun -x WORLD_SIZE=16 -n 16"
};
static const struct launcher_vars kubernetes_vars = {
	.how = BOOT_ENV, .rank = "JOB_COMPLETION_INDEX", .size = "WORLD_SIZE",
	.no_size = "set it to the completions of the job"
};

/** The value of an optional variable; 0 (@out untouched when not set) or -1. */
static int read_number(const char *name, int64_t min, int64_t max, int *out,
		       struct err *e)
{
	const char *text = name ? getenv(name) : NULL;
	int64_t value;

	if (!text) {
		return 0;
	}
	if (units_parse_int(text, min, max, &value, NULL) < 0) {
		return err_set(e, EINVAL, "%s is '%.64s', not a number from "
			       "%lld to %lld", name, text, (long long)min,
			       (long long)max);
	}
	*out = (int)value;
	return 0;
}

/** Does GPUCHECK_BOOT say @what? */
static bool wants(const char *what)
{
	const char *wish = getenv("GPUCHECK_BOOT");

	return wish && strcmp(wish, what) == 0;
}

/** The place among those of its node; 0, or -1 with @e. */
static int read_local(const struct launcher_vars *v, struct boot *b,
		      struct err *e)
{
	int nodes = 0;

	if (read_number(v->local_rank, 0, SPEC_MAX_GPUS - 1, &b->local_rank,
			e) < 0 ||
	    read_number(v->local_size, 1, SPEC_MAX_GPUS, &b->local_size,
			e) < 0 ||
	    read_number(v->nodes, 1, MAX_SIZE, &nodes, e) < 0) {
		return err_hint(e, "a node has at most %d ranks",
				SPEC_MAX_GPUS);
	}
	if (nodes == b->size) {
		b->local_rank = -1;	/* one a node has all of its GPUs */
	}
	return 0;
}

/** 1: @b is filled from @v; 0: @v says nothing; -1 with @e: half of it. */
static int read_vars(const struct launcher_vars *v, struct boot *b,
		     struct err *e)
{
	struct boot found = { .how = v->how, .rank = -1, .size = 1,
			      .local_rank = -1 };
	const char *node = v->node ? getenv(v->node) : NULL;
	const bool sized = getenv(v->size);

	if (v->no_size && !getenv(v->rank)) {
		return 0;	/* a size may be that of another launcher */
	}
	if (read_number(v->size, 1, MAX_SIZE, &found.size, e) < 0 ||
	    read_number(v->rank, 0, v->no_size && !sized ? MAX_SIZE :
			found.size - 1, &found.rank, e) < 0 ||
	    read_local(v, &found, e) < 0) {
		return -1;
	}
	if (found.rank < 0 && found.size > 1) {
		err_set(e, EINVAL, "%s is %d, but %s is not set", v->size,
			found.size, v->rank);
		return err_hint(e, "every process needs its own rank; "
				"unset %s to run one alone", v->size);
	}
	if (found.rank < 0) {
		return 0;
	}
	if (v->no_size && !sized) {
		err_set(e, EINVAL, "%s is %d, but %s is not set", v->rank,
			found.rank, v->size);
		return err_hint(e, "%s", v->no_size);
	}
	if (node) {
		STR_COPY(found.node, node);
	}
	found.guest = v == &inner_vars && wants("guest");
	*b = found;
	return 1;
}

/**
 * A task of srun without PMI2: PMI2_Init itself would say that all is well
 * and that there is one process, in each of them.
 */
static int catch_singleton(struct err *e)
{
	int tasks = 1;

	if (read_number(slurm_vars.size, 1, MAX_SIZE, &tasks, e) < 0) {
		return -1;
	}
	if (tasks > 1) {
		err_set(e, EINVAL, "SLURM_NTASKS is %d, but PMI2 reports a "
				   "single process: use srun --mpi=pmi2",
				   tasks);
		return err_hint(e, "srun --mpi=list shows what is available; "
				   "GPUCHECK_BOOT=rendezvous needs no PMI2");
	}
	return 0;
}

/** 1: a task of srun; 0: not; -1 with @e. */
static int read_slurm(struct boot *b, struct err *e)
{
	int rc;

	*b = (struct boot){ .how = BOOT_PMI2, .local_rank = -1 };
	if (wants("rendezvous")) {
		return read_vars(&slurm_vars, b, e);
	}
	rc = boot_pmi2_identify(&b->rank, &b->size, e);
	if (rc < 0) {
		/* a PMI2 server, but no library: Slurm's variables do */
		return read_vars(&slurm_vars, b, e);
	}
	return rc > 0 && b->size == 1 && catch_singleton(e) < 0 ? -1 : rc;
}

/** 1: a task of "srun --mpi=pmix", the default of many sites, or of another
 *  server of PMIx; 0: neither; -1 with @e. */
static int read_pmix(struct boot *b, struct err *e)
{
	const char *job = getenv("PMIX_NAMESPACE");
	const bool slurm = job && strncmp(job, "slurm.", 6) == 0;

	return read_vars(slurm ? &slurm_vars : &pmix_vars, b, e);
}

/** Variables that anybody may have: of torchrun, or of Kubernetes, whose jobs
 *  are told how many they are by the same name. */
static int read_anybodys(struct boot *b, struct err *e)
{
	int rc = getenv("RANK") ? 0 : read_vars(&kubernetes_vars, b, e);

	return rc == 0 ? read_vars(&torchrun_vars, b, e) : rc;
}

int boot_identify(struct boot *b, struct err *e)
{
	/*
	 * Steps of our own srun say so: its agents have the environment of
	 * whoever typed the command, a worker of torchrun or a process of
	 * mpirun with its one rank for all of them.
	 */
	const bool step = wants("pmi2") || wants("rendezvous");
	int rc = read_vars(&inner_vars, b, e);

	if (rc == 0 && step) {
		rc = read_slurm(b, e);
	}
	if (rc == 0) {
		/*
		 * Before PMI2: mpirun may itself have been started by srun
		 * and pass PMI2's variables on, but not the other way round.
		 */
		rc = read_vars(&mpirun_vars, b, e);
	}
	if (rc == 0) {
		/* an instance of Flux is a job of Slurm itself, or has a PMI
		 * that is not PMI2 */
		rc = read_vars(&flux_vars, b, e);
	}
	if (rc == 0 && getenv("TORCHELASTIC_RUN_ID")) {
		/* the same of torchrun, whose own variables are anybody's */
		rc = read_vars(&torchrun_vars, b, e);
	}
	if (rc == 0 && !step) {
		rc = read_slurm(b, e);
	}
	if (rc == 0) {
		rc = read_pmix(b, e);
	}
	if (rc == 0) {
		rc = read_anybodys(b, e);
	}
	if (rc == 0) {
		*b = (struct boot){ .how = BOOT_SINGLE, .size = 1,
				    .local_rank = -1 };
		rc = catch_singleton(e);
	}
	return rc < 0 ? -1 : 0;
}

/** Does rank 0 tell the others by PMI2? */
static bool tells_by_pmi2(const struct boot *b)
{
	return b->how == BOOT_PMI2 && b->size > 1;
}

int boot_publish(const struct boot *b, const char *dir,
		 const struct boot_contact *c, struct err *e)
{
	char *text = boot_contact_text(c);
	int rc = text ? rundir_write_text(dir, RUN_RENDEZVOUS, text, 0600, e)
		      : err_set(e, ENOMEM, "cannot write the contact");

	if (rc == 0 && tells_by_pmi2(b)) {
		rc = boot_pmi2_exchange(text, e);
	}
	free(text);
	return rc;
}

/** 1: DIR/rendezvous holds @c; 0: not yet there; -1 with @e: as
 *  boot_contact_parse(). */
static int read_rendezvous(const char *dir, struct boot_contact *c,
			   struct err *e)
{
	size_t len;
	char *text = rundir_check_trust(dir, NULL) == 0 ?
			     rundir_read_text(dir, RUN_RENDEZVOUS, MAX_CONTACT,
					      &len, NULL) :
			     NULL;
	int rc = text ? boot_contact_parse(text, len, c, e) : -1;

	free(text);
	return rc == 0 ? 1 : text && e->code == ECANCELED ? -1 : 0;
}

/** Is @c of the run @nonce (NULL: any), not left over from an older one? */
static bool is_fresh(const struct boot_contact *c, const char *nonce)
{
	return !nonce || !c->nonce[0] || strcmp(c->nonce, nonce) == 0;
}

void boot_publish_failure(const struct boot *b, const char *dir,
			  const char *nonce, const struct err *why)
{
	const int64_t deadline = clock_now_ns() + TELL_NS;
	char *text = boot_failure_text(nonce, why);
	struct err e = { 0 };
	struct boot_contact c;

	/* one that is there already is that of a run which others began */
	if (text && nonce[0] && (read_rendezvous(dir, &c, &e) <= 0 ||
				 strcmp(c.nonce, nonce) != 0)) {
		rundir_write_text(dir, RUN_RENDEZVOUS, text, 0600, NULL);
	}
	if (text && tells_by_pmi2(b) && boot_pmi2_exchange(text, NULL) == 0) {
		while (boot_pmi2_result(&c, NULL) == 0 &&
		       clock_now_ns() < deadline) {
			clock_sleep(LOOK_NS);
		}
	}
	free(text);
}

int64_t boot_file_nap_ns(int rank, int64_t waited_ns)
{
	double most = 0.5 * (double)FILE_LOOK_NS;
	double ns = 0.125 * (double)waited_ns;

	return (int64_t)((ns < most ? ns : most) *
			 (1 + hash_unit(0, (uint64_t)rank,
					(uint64_t)waited_ns, 0)));
}

/** Look at every place, with @file at the file as well; 1, or 0, or -1 with @e
 *  when PMI2 failed. */
static int look(const struct boot *b, const char *dir, const char *nonce,
		bool file, struct boot_contact *c, struct err *e)
{
	int rc = b->how == BOOT_PMI2 ? boot_pmi2_result(c, e) : 0;
	struct err why = { 0 };

	if (rc > 0 && is_fresh(c, nonce)) {
		return 1;
	}
	if (!file) {
		return rc < 0 ? -1 : 0;
	}
	switch (read_rendezvous(dir, c, &why)) {
	case 1:
		if (is_fresh(c, nonce)) {
			return 1;
		}
		break;
	case -1:
		/* what is left over says nothing of this run */
		if (nonce && strcmp(c->nonce, nonce) == 0) {
			*e = why;
			return -1;
		}
	}
	return rc < 0 ? -1 : 0;
}

/** Time is up; @why is what PMI2 said, if anything. */
static int not_found(const char *dir, int64_t waited_ns, const struct err *why,
		     struct err *e)
{
	char text[32];

	if (why->text[0]) {
		err_set(e, ETIMEDOUT, "the coordinator did not respond: %.200s",
			why->text);
	} else {
		err_set(e, ETIMEDOUT, "the coordinator did not respond within %s",
			units_duration_text(waited_ns, text, sizeof(text)));
	}
	return err_hint(e, "rank 0 has not started, or does not share '%.160s'",
			dir);
}

int boot_find(const struct boot *b, const char *dir, const char *nonce,
	      struct boot_contact *c, int64_t deadline_ns, struct err *e)
{
	const int64_t since_ns = clock_now_ns();
	struct boot_contact found = { 0 };
	int64_t file_ns = b->how == BOOT_PMI2 ? PMI2_FIRST_NS : 0;
	struct err why = { 0 };
	int rc = boot_contact_env(c, e);

	if (rc != 0) {
		return rc < 0 ? -1 : 0;
	}
	if (b->how == BOOT_PMI2 && boot_pmi2_exchange(NULL, e) < 0) {
		return -1;
	}
	for (;;) {
		const int64_t now_ns = clock_now_ns();
		const int64_t waited_ns = now_ns - since_ns;
		const bool late = now_ns >= deadline_ns;
		const bool file = late || waited_ns >= file_ns;

		if (look(b, dir, nonce, file, &found, &why) > 0) {
			break;
		}
		if (why.code == ECANCELED) {
			*e = why;	/* rank 0 itself says so */
			e->code = 0;
			return -1;
		}
		if (late) {
			return not_found(dir, waited_ns, &why, e);
		}
		if (file) {
			file_ns = waited_ns +
				  boot_file_nap_ns(b->rank, waited_ns);
		}
		clock_nap(since_ns, LOOK_NS);
	}
	*c = found;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/dl/pmi2.h"

/* ---- boot contact -------------------------------------------------------- */

/** False: @addr is none, or one too many. */
static bool add_addr(struct boot_contact *c, const char *addr)
{
	return c->n_addrs < NET_MAX_ADDRS && strchr(addr, ':') &&
	       !strchr(addr, ' ') && STR_COPY(c->addrs[c->n_addrs++], addr);
}

int boot_contact_parse(const char *text, size_t len, struct boot_contact *c,
		       struct err *e)
{
	struct boot_contact found = {0};
	char token[2 * BOOT_TOKEN_BYTES + 1];
	uint8_t bytes[(sizeof(c->nonce) - 1) / 2];
	json_t *json = json_parse(text, len, e), *addrs, *addr;
	const char *why = json_member(json, "why");
	int rc = -1;
	bool good;
	size_t i;

	if (json && why[0]) {
		rc = json_get_text(json, "nonce", c->nonce, sizeof(c->nonce),
				   e);
		rc = rc < 0 ? rc : err_set(e, ECANCELED, "there is no "
					   "coordinator: %.250s", why);
		json_decref(json);
		return rc;
	}
	addrs = json ? json_get_array(json, "addrs", NET_MAX_ADDRS, e) : NULL;
	if (addrs &&
	    json_get_text(json, "token", token, sizeof(token), e) == 0 &&
	    json_opt_text(json, "nonce", found.nonce, sizeof(found.nonce),
			  e) == 0) {
		good = hash_unhex(token, found.token, sizeof(found.token)) ==
			       0 &&
		       (!found.nonce[0] ||
			hash_unhex(found.nonce, bytes, sizeof(bytes)) == 0);
		json_array_foreach(addrs, i, addr)
		{
			good = good && json_is_string(addr) &&
			       add_addr(&found, json_string_value(addr));
		}
		rc = good && found.n_addrs > 0 ?
			     0 : err_set(e, EPROTO, "the coordinator's contact "
						    "cannot be read");
	}
	json_decref(json);
	if (rc == 0) {
		*c = found;
	}
	return rc;
}

char *boot_contact_text(const struct boot_contact *c)
{
	char token[2 * BOOT_TOKEN_BYTES + 1];
	json_t *addrs = json_array(), *json;
	char *text;

	for (int i = 0; i < c->n_addrs; i++) {
		json_array_append_new(addrs, json_string(c->addrs[i]));
	}
	hash_hex(c->token, sizeof(c->token), token);
	json = json_pack("{s:o,s:s,s:s}", "addrs", addrs, "token", token,
			 "nonce", c->nonce);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

int boot_contact_env(struct boot_contact *c, struct err *e)
{
	const char *master = getenv("GPUCHECK_MASTER");
	const char *token = getenv("GPUCHECK_TOKEN");
	struct boot_contact r = {0};

	if (!master && !token) {
		return 0;
	}
	if (!master || !token) {
		return err_set(e, EINVAL, "%s is set, but not %s",
			       master ? "GPUCHECK_MASTER" : "GPUCHECK_TOKEN",
			       master ? "GPUCHECK_TOKEN" : "GPUCHECK_MASTER");
	}
	if (!add_addr(&r, master)) {
		return err_set(e, EINVAL, "GPUCHECK_MASTER is '%.100s', not "
			       "host:port", master);
	}
	if (hash_unhex(token, r.token, sizeof(r.token)) < 0) {
		return err_set(e, EINVAL, "GPUCHECK_TOKEN is not %d "
			       "hexadecimal digits", 2 * BOOT_TOKEN_BYTES);
	}
	*c = r;
	return 1;
}

void boot_forget_env(void)
{
	char *token = getenv("GPUCHECK_TOKEN");

	if (token) {
		explicit_bzero(token, strlen(token));
		unsetenv("GPUCHECK_TOKEN");
	}
}

/* ---- boot pmi2 ----------------------------------------------------------- */

/**
 * A value of PMI2 has 1023 bytes and, to old servers, a syntax; a contact with
 * many addresses is longer and has line ends.  So it travels as hexadecimal
 * digits, in pieces.
 */
#define PIECE_BYTES 500
#define MAX_PIECES  16
#define KEY_COUNT   "gpucheck-pieces"
#define KEY_PIECE   "gpucheck-piece-%d"

static const struct pmi2 *pmi2;
static char job_id[PMI2_JOB_ID_SIZE];

static struct {
	pthread_mutex_t lock;	/* of all below */
	int done;		/* as boot_pmi2_result() returns it */
	struct boot_contact contact;
	struct err err;
} exchange = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* 1: @rank and @size are set; 0: no PMI2 server here; -1 with @e: there seems
 * to be one, but no library to talk to it. */
static int boot_pmi2_identify(int *rank, int *size, struct err *e)
{
	const char *text = getenv("PMI_FD");
	int spawned, appnum, found_size, found_rank;
	int64_t fd;

	pmi2 = dl_pmi2(e);
	if (!pmi2) {
		return text ? -1 : 0;
	}
	if (pmi2->PMI2_Init(&spawned, &found_size, &found_rank, &appnum) !=
		    PMI2_SUCCESS ||
	    pmi2->PMI2_Job_GetId(job_id, sizeof(job_id)) != PMI2_SUCCESS ||
	    found_size < 1 || found_rank < 0 || found_rank >= found_size) {
		return 0;
	}
	/* the server's socket is this process's alone: workers must not hold
	 * it */
	if (text && units_parse_int(text, 0, 1 << 20, &fd, NULL) == 0) {
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	}
	*rank = found_rank;
	*size = found_size;
	return 1;
}

/** Turns the return code @rc of the PMI2 function @name into 0, or -1 with
 *  @e. */
static int check(int rc, const char *name, struct err *e)
{
	return rc == PMI2_SUCCESS
		       ? 0
		       : err_set(e, EIO, "PMI2_KVS_%s failed with code %d",
				 name, rc);
}

static int put_contact(const char *text, struct err *e)
{
	char key[32], value[2 * PIECE_BYTES + 1];
	int pieces = 0, rc = 0;

	for (const char *at = text; *at && rc == 0;) {
		size_t n = strnlen(at, PIECE_BYTES);

		hash_hex(at, n, value);
		snprintf(key, sizeof(key), KEY_PIECE, pieces++);
		rc = check(pmi2->PMI2_KVS_Put(key, value), "Put", e);
		at += n;
	}
	snprintf(value, sizeof(value), "%d", pieces);
	return rc < 0 ? rc :
			check(pmi2->PMI2_KVS_Put(KEY_COUNT, value), "Put", e);
}

static int get(const char *key, char value[PMI2_VALUE_SIZE], struct err *e)
{
	int length = 0, rc;

	memset(value, 0, PMI2_VALUE_SIZE);
	rc = pmi2->PMI2_KVS_Get(job_id, PMI2_ID_NULL, key, value,
				PMI2_VALUE_SIZE - 1, &length);
	if (rc != PMI2_SUCCESS || length <= 0) {
		return err_set(e, EIO, "PMI2_KVS_Get of '%s' failed with code "
			       "%d", key, rc);
	}
	return 0;
}

static int get_contact(struct boot_contact *c, struct err *e)
{
	char key[32], value[PMI2_VALUE_SIZE], bytes[PIECE_BYTES];
	struct str text = STR_INIT;
	int64_t pieces;
	int rc = 0;
	size_t n;

	if (get(KEY_COUNT, value, e) < 0 ||
	    units_parse_int(value, 1, MAX_PIECES, &pieces, e) < 0) {
		return -1;
	}
	for (int i = 0; i < pieces && rc == 0; i++) {
		snprintf(key, sizeof(key), KEY_PIECE, i);
		rc = get(key, value, e);
		n = rc == 0 ? strlen(value) / 2 : 0;
		if (n > sizeof(bytes) || hash_unhex(value, bytes, n) < 0) {
			rc = err_set(e, EPROTO, "PMI2 returned invalid data");
		} else {
			str_addmem(&text, bytes, n);
		}
	}
	if (rc == 0) {
		rc = boot_contact_parse(str_text(&text), text.len, c, e);
	}
	str_release(&text);
	return rc;
}

/** @arg: the text of the contact on rank 0, NULL elsewhere. */
static void *fence_thread(void *arg)
{
	struct boot_contact got = { 0 };
	struct err e = {0};
	int rc = arg ? put_contact(arg, &e) : 0;

	if (rc == 0) {
		rc = check(pmi2->PMI2_KVS_Fence(), "Fence", &e);
	}
	if (arg) {
		explicit_bzero(arg, strlen(arg));
		free(arg);
	} else if (rc == 0) {
		rc = get_contact(&got, &e);
	}
	pthread_mutex_lock(&exchange.lock);
	exchange.contact = got;
	exchange.err = e;
	exchange.done = rc < 0 ? -1 : 1;
	pthread_mutex_unlock(&exchange.lock);
	return NULL;
}

/* Enter the fence in a thread of its own, which may stay there for ever: rank
 * 0 gives the text @contact to all, the others (@contact NULL) get it.
 * 0, or -1 with @e when no thread can be had. */
static int boot_pmi2_exchange(const char *contact, struct err *e)
{
	char *text = contact ? strdup(contact) : NULL;
	pthread_t thread;
	int rc;

	if (contact && !text) {
		return err_set(e, ENOMEM, "cannot write the contact");
	}
	rc = pthread_create(&thread, NULL, fence_thread, text);
	if (rc) {
		free(text);
		return err_set(e, rc, "cannot start a thread for PMI2");
	}
	pthread_detach(thread);
	return 0;
}

int boot_pmi2_result(struct boot_contact *c, struct err *e)
{
	int done;

	pthread_mutex_lock(&exchange.lock);
	done = exchange.done;
	if (done > 0) {
		*c = exchange.contact;
	} else if (done < 0 && e) {
		*e = exchange.err;
	}
	pthread_mutex_unlock(&exchange.lock);
	return done;
}

/* ---- boot ---------------------------------------------------------------- */

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

/** Environment variables in which a launcher gives a process its rank. */
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

/** Returns true if GPUCHECK_BOOT is @what. */
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

/** Slurm 22.05 writes the environment of an OCI container before its tasks have
 *  ranks: if each node has one task, set the place of this host in the list of
 *  nodes. */
static void set_rank_in_container(void)
{
	char host[128] = "", rank[24];
	size_t n = 0;
	const char *list = getenv("SLURM_STEP_NODELIST");
	const char *tasks = getenv(slurm_vars.size);
	char **names = !getenv(slurm_vars.rank) && getenv("SLURM_CONTAINER") &&
		       list ? hostlist_expand(list, &n, NULL) : NULL;

	gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < n && tasks && strtoul(tasks, NULL, 10) == n;
	     i++) {
		size_t length = strcspn(host, ".");

		if (length == strcspn(names[i], ".") &&
		    strncmp(host, names[i], length) == 0) {
			snprintf(rank, sizeof(rank), "%zu", i);
			setenv(slurm_vars.rank, rank, 1);
			setenv("SLURMD_NODENAME", names[i], 1);
		}
	}
	hostlist_free(names, n);
}

/** 1: a task of srun; 0: not; -1 with @e. */
static int read_slurm(struct boot *b, struct err *e)
{
	int rc;

	*b = (struct boot){ .how = BOOT_PMI2, .local_rank = -1 };
	if (wants("rendezvous")) {
		set_rank_in_container();
		return read_vars(&slurm_vars, b, e);
	}
	rc = boot_pmi2_identify(&b->rank, &b->size, e);
	if (rc < 0) {
		/* a PMI2 server, but no library: Slurm's variables do */
		return read_vars(&slurm_vars, b, e);
	}
	return rc > 0 && b->size == 1 && catch_singleton(e) < 0 ? -1 : rc;
}

int boot_identify(struct boot *b, struct err *e)
{
	/*
	 * Steps of our own srun say so: its agents have the environment of
	 * whoever typed the command, a worker of torchrun or a process of
	 * mpirun with its one rank for all of them.
	 */
	const bool step = wants("pmi2") || wants("rendezvous");
	const char *job = getenv("PMIX_NAMESPACE");
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
		/* "srun --mpi=pmix", the default of many sites, or another
		 * server of PMIx */
		rc = read_vars(job && strncmp(job, "slurm.", 6) == 0 ?
				       &slurm_vars : &pmix_vars, b, e);
	}
	/* Variables that anybody may have: of Kubernetes, whose jobs are told
	 * how many they are by the name that torchrun has for it, or of
	 * torchrun. */
	if (rc == 0 && !getenv("RANK")) {
		rc = read_vars(&kubernetes_vars, b, e);
	}
	if (rc == 0) {
		rc = read_vars(&torchrun_vars, b, e);
	}
	if (rc == 0) {
		*b = (struct boot){ .how = BOOT_SINGLE, .size = 1,
				    .local_rank = -1 };
		rc = catch_singleton(e);
	}
	return rc < 0 ? -1 : 0;
}

/** Returns true if rank 0 publishes the contact through PMI2. */
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

/** Returns true if @c belongs to the run @nonce (NULL: any) and is not a
 *  leftover of an older one. */
static bool is_fresh(const struct boot_contact *c, const char *nonce)
{
	return !nonce || !c->nonce[0] || strcmp(c->nonce, nonce) == 0;
}

void boot_publish_failure(const struct boot *b, const char *dir,
			  const char *nonce, const struct err *why)
{
	const int64_t deadline = clock_now_ns() + TELL_NS;
	json_t *json = json_pack("{s:s,s:o}", "nonce", nonce, "why",
				 json_text(why->text));
	char *text = json_dumps(json, JSON_COMPACT);
	struct err e = { 0 };
	struct boot_contact c;

	json_decref(json);
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

int boot_find(const struct boot *b, const char *dir, const char *nonce,
	      struct boot_contact *c, int64_t deadline_ns, struct err *e)
{
	const int64_t since_ns = clock_now_ns();
	struct boot_contact found = { 0 };
	int64_t file_ns = b->how == BOOT_PMI2 ? PMI2_FIRST_NS : 0;
	struct err why = { 0 };
	char text[32];
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
			units_duration_text(waited_ns, text, sizeof(text));
			err_set(e, ETIMEDOUT, "the coordinator did not respond"
				"%s%.200s", why.text[0] ? ": " : " within ",
				why.text[0] ? why.text : text);
			return err_hint(e, "rank 0 has not started, or does "
					   "not share '%.160s'", dir);
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

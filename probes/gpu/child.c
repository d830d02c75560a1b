/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The child of the gpu probe: a process for each GPU, which it sends from step
 * to step.  What uses the links of the host is done one GPU after the other,
 * as GPUs may share one; the rest on all at once.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "probes/gpu/gpu.h"
#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"
#include "probes/node/child.h"
#include "probes/plan/drill.h"

/* ---- dcgm ---------------------------------------------------------------- */

#define GPU_MAX 1023
/* DCGM_ERROR_CONFIG of dcgm_errors.h: a setting, and no hardware */
#define SEVERITY_CONFIG 5

/** An object of the answer: the whole, a category, test, result or warning.
 *  Each has some of the members. */
struct dcgm_object {
	const char *name, *status, *info, *gpu_ids, *entity_group, *warning;
	const char *runtime_error, *said;
	int entity_id, error_severity;
	json_t *warnings, *tests, *results, *test_categories;
};

#define DCGM(member, type) \
	FIELD(dcgm_object, member, #member, type, 0, GPU_MAX, "")

static struct dcgm_object dcgm_object(const json_t *json)
{
	static const struct field fields[] = {
		DCGM(name, LINK), DCGM(status, LINK), DCGM(info, LINK),
		DCGM(gpu_ids, LINK), DCGM(entity_group, LINK),
		DCGM(warning, LINK), DCGM(runtime_error, LINK),
		DCGM(entity_id, INT), DCGM(error_severity, INT),
		DCGM(tests, ARRAY), DCGM(results, ARRAY),
		DCGM(test_categories, ARRAY), DCGM(warnings, ARRAY),
		FIELD(dcgm_object, said, "warnings", LINK, 0, 0, ""), { 0 }
	};
	struct dcgm_object o = { .entity_id = -1 };

	schema_look(fields, &o, json);
	return o;
}

static void add_result(struct dcgm_found list[DCGM_FOUND_MAX], int *n, int gpu,
		       const char *test, const struct dcgm_object *result)
{
	/* "warnings": a text, or texts or objects with "warning" */
	const json_t *first = json_array_get(result->warnings, 0);
	const struct dcgm_object w = dcgm_object(first);
	const char *text = json_is_string(first) ? json_string_value(first) :
			   w.warning[0] ? w.warning : result->said;
	bool fail = strcasecmp(result->status, "fail") == 0;
	struct dcgm_found *f;

	if ((!fail && strcasecmp(result->status, "warn") != 0) ||
	    *n == DCGM_FOUND_MAX) {
		return;
	}
	f = &list[(*n)++];
	*f = (struct dcgm_found){ .gpu = gpu, .fail = fail };
	STR_COPY(f->test, test);
	STR_COPY(f->words, text[0]	   ? text :
			   result->info[0] ? result->info :
					     result->status);
	if (w.error_severity == SEVERITY_CONFIG ||
	    strcasestr(text, "persistence mode")) {
		f->fail = false; /* it is about a setting */
	}
}

/* Add the failures of @tests to the @n of @list; returns how many tests there
 * are. */
static size_t take_tests(struct dcgm_found list[DCGM_FOUND_MAX], int *n,
			 const json_t *tests)
{
	const json_t *test, *json;
	char ids[256], *at, *word;
	int64_t gpu;
	size_t i, k;

	json_array_foreach(tests, i, test) {
		const struct dcgm_object t = dcgm_object(test);

		json_array_foreach(t.results, k, json) {
			const struct dcgm_object o = dcgm_object(json);

			if (o.gpu_ids[0] == '\0') {
				gpu = strcmp(o.entity_group, "GPU") == 0 ?
					      o.entity_id :
					      -1;
				add_result(list, n, (int)gpu, t.name, &o);
				continue;
			}
			/* DCGM 3: "0,1"; any other text is of the node */
			STR_COPY(ids, o.gpu_ids);
			at = ids;
			while ((word = strsep(&at, ", "))) {
				if (word[0] == '\0') {
					continue;
				}
				if (units_parse_int(word, 0, GPU_MAX, &gpu,
						    NULL) < 0) {
					gpu = -1;
				}
				add_result(list, n, (int)gpu, t.name, &o);
			}
		}
	}
	return json_array_size(tests);
}

int dcgm_parse(const char *text, size_t len,
	       struct dcgm_found list[DCGM_FOUND_MAX], struct err *e)
{
	static const char *const names[] = { "DCGM Diagnostic",
					     "DCGM GPU Diagnostic", NULL };
	const char *begin = memchr(text, '{', len);
	const json_t *diag = NULL, *category;
	struct dcgm_object all;
	size_t i, n_tests = 0;
	json_t *json;
	int n = 0;

	if (!begin) {
		return err_set(e, 0, "dcgmi printed no JSON");
	}
	json = json_parse(begin, len - (size_t)(begin - text), e);
	if (!json) {
		return -1;
	}
	for (i = 0; names[i] && !diag; i++) {
		diag = json_object_get(json, names[i]);
	}
	all = dcgm_object(diag);
	json_array_foreach(all.test_categories, i, category) {
		n_tests += take_tests(list, &n, dcgm_object(category).tests);
	}
	n_tests += take_tests(list, &n, all.tests);
	if (n_tests == 0) {
		n = err_set(e, 0, "dcgmi ran no test%s%.200s",
			    all.runtime_error[0] ? ": " : "",
			    all.runtime_error);
	}
	json_decref(json);
	return n;
}

/* ---- drills -------------------------------------------------------------- */

/* Read the drill of GPU @gpu of node number @node from @text (NULL: none).
 * Returns 0, or -1 with @e if it has words that are unknown here. */
static int gpu_drill_read(const char *text, int node, int gpu,
			  struct gpu_drill *d, struct err *e)
{
	struct drill drill = DRILL_INIT;

	*d = (struct gpu_drill){ .h2d = 1, .d2h = 1, .copy = 1 };
	if (text && drill_parse(text, strlen(text), &drill, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < drill.n; i++) {
		const struct drill_fault *f = &drill.faults[i];

		double factor = f->kind == DRILL_SLOW ? f->value : 1;

		if (f->at[0] != node || f->at[1] != gpu) {
			continue;
		}
		switch (f->part) {
		case DRILL_GPU:
			d->busy |= f->kind == DRILL_BUSY;
			d->dead |= f->kind == DRILL_DEAD;
			d->h2d *= factor;
			d->d2h *= factor;
			d->copy *= factor;
			break;
		case DRILL_H2D:
			d->h2d *= factor;
			break;
		case DRILL_D2H:
			d->d2h *= factor;
			break;
		case DRILL_COMPUTE:
			d->wrong = f->kind == DRILL_WRONG ? f->value : d->wrong;
			break;
		default:
			break; /* of pairs */
		}
	}
	drill_release(&drill);
	return 0;
}

/* ---- wanted tests ------------------------------------------------------- */

enum gpu_when {
	TEST_ALWAYS,
	TEST_FAR,		/* with --far */
	TEST_PARALLEL,		/* with --compare=parallel */
	TEST_DEEP,		/* without --quick */
	TEST_COMPUTE,		/* the same, unless --compute is 0 */
};

static bool is_wanted(enum gpu_when when, const struct spec *s)
{
	const bool wanted[] = {
		[TEST_ALWAYS] = true,
		[TEST_FAR] = s->far,
		[TEST_PARALLEL] = s->contrast == CONTRAST_PARALLEL,
		[TEST_DEEP] = !s->quick,
		[TEST_COMPUTE] = !s->quick && s->compute_ns > 0,
	};

	return wanted[when];
}

/* ---- model --------------------------------------------------------------- */

#define NOISE 0.005
#define RESULTS 200000	/* of 2 s */

/* Values measured on an H200; the drill changes the others. */
static const struct test {
	const char *name;
	double bw_GB_s, expected_GB_s, lat_us;
	int64_t size_B, count;
	enum gpu_when when;
} tests[] = {
	{ GPU_TEST_OPEN, NAN, NAN, NAN, RECORD_NONE, RECORD_NONE, TEST_ALWAYS },
	{ GPU_TEST_H2D, 55.3, 54.8, 1.4, 64 << 20, 56, TEST_ALWAYS },
	{ GPU_TEST_D2H, 55.3, 54.8, 1.6, 64 << 20, 56, TEST_ALWAYS },
	{ GPU_TEST_BOTH, 100, NAN, NAN, 64 << 20, 56, TEST_ALWAYS },
	{ GPU_TEST_FAR_H2D, 52, NAN, 1.7, 64 << 20, 56, TEST_FAR },
	{ GPU_TEST_FAR_D2H, 52, NAN, 1.9, 64 << 20, 56, TEST_FAR },
	{ GPU_TEST_ALL_H2D, 54, 54.8, NAN, 64 << 20, 56, TEST_PARALLEL },
	{ GPU_TEST_ALL_D2H, 54, 54.8, NAN, 64 << 20, 56, TEST_PARALLEL },
	{ GPU_TEST_COPY, 3900, NAN, NAN, 1 << 30, 40, TEST_DEEP },
	{ GPU_TEST_PATTERN, 4200, NAN, NAN, INT64_C(137) << 30, 2, TEST_DEEP },
	{ GPU_TEST_COMPUTE, NAN, NAN, NAN, RECORD_NONE, 200, TEST_DEEP },
};

static void say_test(const struct gpu_row *of, const struct test *t,
		     const struct gpu_drill *d, double draw)
{
	struct gpu_row row = *of;
	double factor = 1;

	STR_COPY(row.test, t->name);
	clock_utc(row.start_utc);
	if (str_starts(t->name, GPU_TEST_H2D)) {
		factor = d->h2d;
	} else if (str_starts(t->name, GPU_TEST_D2H)) {
		factor = d->d2h;
	} else if (strcmp(t->name, GPU_TEST_BOTH) == 0) {
		factor = fmin(d->h2d, d->d2h);
	} else if (strcmp(t->name, GPU_TEST_COPY) == 0) {
		factor = d->copy;
	}
	row.bw_GB_s = t->bw_GB_s * factor * (1 + NOISE * (2 * draw - 1));
	row.expected_GB_s = t->expected_GB_s;
	row.lat_us = t->lat_us * (1 + NOISE * (2 * draw - 1));
	row.size_B = t->size_B;
	row.count = t->count;
	row.outcome = OUTCOME_OK;
	if (!isnan(t->expected_GB_s)) {
		STR_COPY(row.link, "32.0 GT/s x16");
	}
	if (strcmp(t->name, GPU_TEST_PATTERN) == 0) {
		row.wrong = 0;
	}
	if (strcmp(t->name, GPU_TEST_COMPUTE) == 0) {
		STR_COPY(row.hash, "0123456789abcdef");
		row.wrong = (int64_t)ceil(d->wrong * RESULTS);
		row.power_W = 650;
		row.temp_C = 55;
	}
	if (row.wrong > 0) {
		row.outcome = OUTCOME_CORRUPT;
		row.sm = 17;
		STR_COPY(row.code, "wrong_result");
		snprintf(row.detail, sizeof(row.detail),
			 GPU_DRILL " computes wrong results",
			 (long long)row.gpu, row.node);
	}
	node_task_row(&schema_gpu, &row);
}

/* ---- child --------------------------------------------------------------- */

#define ASK_NS (20 * NS_PER_S)
#define DCGM_NS (120 * NS_PER_S)
#define DCGM_OUT_MAX (4 * 1024 * 1024)
#define MODEL_TURNS 6	/* with --soak, however long */
#define END_NS (5 * NS_PER_S)
/* From a node to the next, so that the power of a room does not go up in one
 * step: eight GPUs take 5 kW more. */
#define STAGGER_NS (10 * NS_PER_MS)

static const struct child_step {
	bool (*run)(struct gpu_seat *s);
	enum gpu_when when;
	const char *test;	/* of the row, if none was begun */
	int limit_s;		/* without --test-timeout */
	bool alone;		/* one GPU at a time */
} steps[] = {
	{ gpu_test_open, TEST_ALWAYS, GPU_TEST_OPEN, 60, false },
	{ gpu_test_link, TEST_ALWAYS, GPU_TEST_H2D, 10, true },
	{ gpu_test_far, TEST_FAR, GPU_TEST_FAR_H2D, 10, true },
	{ gpu_test_parallel, TEST_PARALLEL, GPU_TEST_ALL_H2D, 20, false },
	{ gpu_test_memory, TEST_DEEP, GPU_TEST_COPY, 30, false },
	{ gpu_test_compute, TEST_COMPUTE, GPU_TEST_COMPUTE, 20, false },
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/** A GPU as this process sees it. */
struct tester {
	pid_t pid;		/* 0 = it has ended */
	int fd;			/* a byte there: a step, back: its end */
	bool busy;
	struct gpu_row *row;	/* shared: what it is at */
};

/* ---- one GPU, in its process --------------------------------------------- */

/** Test GPU @gpu until @watcher, the process that started this one, closes the
 *  other end of @fd.  @t has the testers of this GPU and of those before it.
 *  Does not return. */
static void become_tester(const struct node_args *args, const struct gpu_id *id,
			  const struct tester *t, int gpu, int fd,
			  pid_t watcher)
{
	struct gpu_seat s = { .id = *id, .spec = &args->spec,
			      .row = t[gpu].row };
	unsigned char step;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watcher) {
		_exit(3);	/* it died before the line above */
	}
	for (int i = 0; i < gpu; i++) {
		close(t[i].fd);	/* else theirs never end */
	}
	if (gpu_drill_read(args->drill, args->number, gpu, &s.drill, NULL) <
	    0) {
		_exit(3);
	}
	/* until there is no next step, or the GPU is of no more use */
	while (read(fd, &step, 1) == 1 && step < STEPS) {
		if (!steps[step].run(&s) || write(fd, &step, 1) != 1) {
			break;
		}
	}
	_exit(0);	/* the driver's own end can hang */
}

/** @turn is that of --soak, RECORD_NONE without. */
static int start_tester(const struct node_args *args, const struct gpu_id *id,
			struct tester *all, int gpu, int64_t turn,
			struct err *e)
{
	struct tester *t = &all[gpu];
	pid_t watcher = getpid();
	int ends[2];

	t->row = mmap(NULL, sizeof(*t->row), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->row == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return err_set(e, errno, "cannot create a process for GPU %d",
			       gpu);
	}
	record_init(&schema_gpu, t->row);
	STR_COPY(t->row->node, args->node);
	STR_COPY(t->row->model, id->name);
	t->row->gpu = gpu;
	t->row->turn = turn;
	t->pid = fork();
	if (t->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_set(e, errno, "cannot create a process for GPU %d",
			       gpu);
	}
	if (t->pid == 0) {
		close(ends[0]);
		become_tester(args, id, all, gpu, ends[1], watcher);
	}
	close(ends[1]);
	t->fd = ends[0];
	return 0;
}

/* ---- all of them --------------------------------------------------------- */

/** One that is not by @deadline_ns is stuck in the driver, and is left behind:
 *  it ends with that. */
static bool is_over(pid_t pid, int64_t deadline_ns, int *status)
{
	pid_t over;

	while ((over = waitpid(pid, status, WNOHANG)) == 0 &&
	       clock_now_ns() < deadline_ns) {
		clock_sleep(NS_PER_MS);
	}
	return over != 0;
}

/** It @hangs, or has ended: say the row that it was at, unless it has said why
 *  it ends, and do without it. */
static void give_up(struct tester *t, const struct child_step *step,
		    int64_t limit_ns, bool hangs)
{
	struct gpu_row row = *t->row;
	int status = 0;

	if (hangs || !is_over(t->pid, clock_now_ns() + END_NS, &status)) {
		kill(t->pid, SIGKILL);
	}
	/* the row may be one that is said already */
	if (row.outcome != OUTCOME_NOT_RUN || !row.test[0]) {
		STR_COPY(row.test, step->test);
	}
	if (hangs) {
		row.outcome = OUTCOME_TIMEOUT;
		STR_COPY(row.code, "gpu_stuck");
		snprintf(row.detail, sizeof(row.detail),
			 "no answer within %.0f s",
			 (double)limit_ns / NS_PER_S);
		node_task_row(&schema_gpu, &row);
	} else if (WIFSIGNALED(status)) {
		row.outcome = OUTCOME_CRASHED;
		STR_COPY(row.code, "worker_crashed");
		snprintf(row.detail, sizeof(row.detail),
			 "the process that tested it was killed by signal %d",
			 WTERMSIG(status));
		node_task_row(&schema_gpu, &row);
	}
	close(t->fd);
	t->pid = 0;
	t->busy = false;
}

/** Wait for those that are at work on @step, for @limit_ns at most. */
static void wait_for(struct tester *all, size_t n,
		     const struct child_step *step, int64_t limit_ns)
{
	int64_t deadline_ns = clock_now_ns() + limit_ns;
	struct pollfd fds[GPU_LIST_MAX];

	for (;;) {
		int64_t left = deadline_ns - clock_now_ns();
		bool any = false;

		for (size_t i = 0; i < n; i++) {
			fds[i].fd = all[i].busy ? all[i].fd : -1;
			fds[i].events = POLLIN;
			fds[i].revents = 0;
			any = any || all[i].busy;
		}
		if (!any) {
			return;
		}
		if (left > 0 && poll(fds, n, (int)(left / NS_PER_MS) + 1) <
					0 && errno != EINTR) {
			left = 0;
		}
		for (size_t i = 0; i < n; i++) {
			struct tester *t = &all[i];
			unsigned char done;

			if (fds[i].revents == 0 && left > 0) {
				continue;
			}
			if (t->busy && fds[i].revents &&
			    read(t->fd, &done, 1) == 1) {
				t->busy = false;
			} else if (t->busy) {
				give_up(t, step, limit_ns, fds[i].revents == 0);
			}
		}
	}
}

static void do_step(const struct node_args *args, struct tester *all, size_t n,
		    size_t k)
{
	const struct child_step *step = &steps[k];
	int64_t limit_ns = (args->spec.timeout_ns ? args->spec.timeout_ns :
						 step->limit_s * NS_PER_S) +
			   (step->when == TEST_COMPUTE ? args->spec.compute_ns :
							 0);
	unsigned char number = (unsigned char)k;

	if (!is_wanted(step->when, &args->spec)) {
		return;
	}
	clock_sleep(step->when == TEST_COMPUTE ? args->number * STAGGER_NS : 0);
	for (size_t i = 0; i < n; i++) {
		struct tester *t = &all[i];

		if (t->pid == 0) {
			continue;
		}
		t->busy = true;
		if (send(t->fd, &number, 1, MSG_NOSIGNAL) != 1) {
			give_up(t, step, limit_ns, false);
		} else if (step->alone) {
			wait_for(all, n, step, limit_ns);
		}
	}
	wait_for(all, n, step, limit_ns);
}

int64_t gpu_takes_ns(const struct spec *s)
{
	return s->soak_ns +
	       (s->quick ? 3 * NS_PER_S :
			   6 * NS_PER_S + s->compute_ns +
				   s->nodes * STAGGER_NS);
}

static int test_gpus(const struct node_args *args, const struct gpu_list *l,
		     int64_t turn, struct err *e)
{
	struct tester *all = calloc(l->n + 1, sizeof(*all));
	int64_t deadline_ns;
	size_t n = 0;
	int rc = 0;

	if (!all) {
		return err_set(e, ENOMEM, "no memory for %zu GPUs", l->n);
	}
	/* in the order of CUDA; those that are hidden stand last or are no
	 * GPUs to it */
	for (size_t i = 0; i < l->n && rc == 0; i++) {
		if (!l->gpus[i].hidden) {
			rc = start_tester(args, &l->gpus[i], all, (int)n, turn,
					  e);
			n += rc == 0;
		}
	}
	for (size_t k = 0; k < STEPS; k++) {
		do_step(args, all, n, k);
	}
	/* testers end with their pipes or, if the driver holds them, later */
	deadline_ns = clock_now_ns() + END_NS;
	for (size_t i = 0; i < n; i++) {
		if (all[i].pid > 0) {
			close(all[i].fd);
		}
	}
	for (size_t i = 0; i < n; i++) {
		pid_t pid = all[i].pid;

		if (pid > 0 && !is_over(pid, deadline_ns, NULL)) {
			kill(pid, SIGKILL);
		}
		munmap(all[i].row, sizeof(*all[i].row));
	}
	free(all);
	return rc;
}

/** Report, in one row, that there is no GPU or no driver that answers. */
static void say_none(const struct node_args *args, const struct gpu_list *l,
		     const struct err *why)
{
	struct gpu_row row;

	record_init(&schema_gpu, &row);
	STR_COPY(row.node, args->node);
	STR_COPY(row.test, GPU_TEST_OPEN);
	clock_utc(row.start_utc);
	row.outcome = OUTCOME_ERROR;
	STR_COPY(row.code, l->n == 0 ? "gpu_missing" :
			   l->gpus[0].divided ? "gpu_mig" : "gpu_hidden");
	STR_COPY(row.detail, why->text[0] ? why->text :
			     l->why[0]	   ? l->why :
			     l->n == 0	   ? "no GPU is shown" :
			     l->gpus[0].divided ?
					     "its GPUs are divided by MIG" :
					     CUDA_VISIBLE " hides its GPUs");
	node_task_row(&schema_gpu, &row);
}

/* --transport=sim: the rows of a node of healthy H200s within half a percent,
 * but for the drill, of the tests that are asked for; with --soak six times.  A
 * model for trying verdict, pictures and scripts where there is no GPU. */
static int run_model(const struct node_args *args, struct err *e)
{
	int64_t gpus = args->spec.local ? args->spec.local_gpus :
					  args->spec.gpus_per_node;
	const int64_t turns = args->spec.soak_ns > 0 ? MODEL_TURNS : 1;
	const uint64_t seed =
		hash_mix((uint64_t)args->spec.seed, (uint64_t)args->number, 0,
			 0);
	struct gpu_drill d;
	struct gpu_row row, open;

	record_init(&schema_gpu, &row);
	STR_COPY(row.node, args->node);
	STR_COPY(row.model, "NVIDIA H200 (sim)");
	gpus = gpus > 0 ? gpus : 8;
	for (int64_t i = 0; i < turns * gpus; i++) {
		row.gpu = i % gpus;
		row.turn = args->spec.soak_ns > 0 ? i / gpus + 1 : RECORD_NONE;
		if (gpu_drill_read(args->drill, args->number, (int)row.gpu, &d,
				   e) < 0) {
			return -1;
		}
		if (d.busy || d.dead) {
			open = row;
			STR_COPY(open.test, GPU_TEST_OPEN);
			clock_utc(open.start_utc);
			open.outcome = d.busy ? OUTCOME_SKIPPED : OUTCOME_ERROR;
			STR_COPY(open.code, d.busy ? GPU_BUSY : "drill_dead");
			if (d.busy) {
				STR_COPY(open.detail, "held by a drill");
			} else {
				snprintf(open.detail, sizeof(open.detail),
					 GPU_DRILL " does not respond",
					 (long long)row.gpu, row.node);
			}
			node_task_row(&schema_gpu, &open);
			continue;
		}
		for (size_t k = 0; k < sizeof(tests) / sizeof(tests[0]); k++) {
			if (is_wanted(tests[k].when, &args->spec)) {
				say_test(&row, &tests[k], &d,
					 hash_unit(seed, (uint64_t)row.gpu, k,
						   (uint64_t)row.turn));
			}
		}
	}
	return 0;
}

/** Add the failures that dcgmi reports, if it is installed. */
static void ask_dcgm(const struct node_args *args, const struct gpu_list *l)
{
	char *argv[] = { (char *)"dcgmi", (char *)"diag", (char *)"-r",
			 (char *)"1", (char *)"-j", NULL };
	struct dcgm_found *list = calloc(DCGM_FOUND_MAX, sizeof(*list));
	struct str out = STR_INIT;
	struct spawn_status st;
	struct gpu_row row;
	struct err e = { 0 };
	int n;

	if (list && spawn_find(argv[0], NULL, 0) &&
	    spawn_capture(argv, &out, NULL, DCGM_OUT_MAX,
			  clock_now_ns() + DCGM_NS, &st, &e) == 0 &&
	    (n = dcgm_parse(str_text(&out), out.len, list, &e)) >= 0) {
		for (const struct dcgm_found *f = list; f < list + n; f++) {
			/* on the node, or on a GPU as CUDA counts: as NVML does
			 * unless an environment chooses */
			record_init(&schema_gpu, &row);
			STR_COPY(row.node, args->node);
			STR_COPY(row.test, GPU_TEST_DCGM);
			clock_utc(row.start_utc);
			if (f->gpu >= 0 &&
			    (size_t)f->gpu < gpu_list_visible(l) &&
			    !getenv(CUDA_VISIBLE)) {
				row.gpu = f->gpu;
				STR_COPY(row.model, l->gpus[f->gpu].name);
			}
			row.outcome = OUTCOME_ERROR;
			STR_COPY(row.code,
				 f->fail ? GPU_DCGM_FAIL : GPU_DCGM_WARN);
			snprintf(row.detail, sizeof(row.detail), "%s: %s",
				 f->test, f->words);
			node_task_row(&schema_gpu, &row);
		}
	} else if (e.text[0]) {
		node_task_fact("node", "dcgm_note", "dcgmi diag", "%s",
			       e.text);
	}
	str_release(&out);
	free(list);
}

/* Add as facts the counters of the GPUs that grew since @before. */
static void say_growth(const json_t *before)
{
	struct gpu_list *l = calloc(1, sizeof(*l));
	json_t *after = json_array(), *grown = json_array();

	if (l && inventory_ask_gpus("", l, after, clock_now_ns() + ASK_NS,
				    NULL) == 0) {
		gpu_growth_facts(before, after, grown);
	}
	node_task_facts(grown);
	json_decref(grown);
	json_decref(after);
	free(l);
}

int gpu_child(const struct node_args *args, struct err *e)
{
	struct gpu_list *l = calloc(1, sizeof(*l));
	json_t *facts = json_array();
	const struct spec *spec = &args->spec;
	struct err why = { 0 };
	int64_t end_ns, turn = 0;
	int rc = -1;

	if (!l || !facts) {
		err_set(e, ENOMEM, "no memory for a list of GPUs");
	} else if (spec_transport_is(spec->transport, XPORT_MODEL)) {
		rc = run_model(args, e);
	} else {
		inventory_ask_gpus("", l, facts, clock_now_ns() + ASK_NS, &why);
		rc = 0;
		if (gpu_list_visible(l) == 0) {
			node_task_expected(spec);
			say_none(args, l, &why);
		} else {
			end_ns = clock_now_ns() + spec->soak_ns;
			/* by new processes each time, so that none finds what
			 * the last one left */
			do {
				turn = spec->soak_ns == 0 ? RECORD_NONE :
							    turn + 1;
				rc = test_gpus(args, l, turn, e);
			} while (rc == 0 && clock_now_ns() < end_ns);
			if (spec->dcgm) {
				ask_dcgm(args, l);
			}
			say_growth(facts);
		}
	}
	json_decref(facts);
	free(l);
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof: not what a limit says, but what breaks, as the user that jobs run
 * as, under the limit of the context that is judged.
 */
#include "probes/memlock/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_B 4096

/* ---- one row ----------------------------------------------------------- */

static int64_t count_maps(struct memlock *m)
{
	int64_t n = 0;

	memlock_read(m, "/proc/self/maps", NULL);
	for (const char *c = str_text(&m->text); *c != '\0'; c++) {
		n += *c == '\n';
	}
	return n;
}

static void explain(const struct proof *p, struct memlock_row *row, int error,
		    bool nothing_works, int64_t device_max)
{
	struct refusal r = {
		.check = row->check, .error = error,
		.tried_B = row->min_fail_B, .nothing_works = nothing_works,
		.limit_B = p->limit_B, .cgroup_B = p->m->cgroup_B,
		.maps = count_maps(p->m), .device_max = device_max,
	};

	memlock_read_number(p->m, "/proc/sys/vm/max_map_count", &r.max_maps,
			    NULL);
	STR_COPY(row->code,
		 refusal_explain(&r, row->detail, sizeof(row->detail)));
}

static void init_row(const struct proof *p, struct memlock_row *row,
		     const char *check, const char *hca)
{
	memlock_row_init(p->m, row, p->context, check, "");
	STR_COPY(row->hca, hca);
	row->limit_B = p->limit_B;
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < limit ? value : limit;
}

void proof_try(const struct proof *p, const struct trial *t)
{
	int64_t first_B = at_most(t->needed_B, t->ceiling_B);
	const struct bisect b = {
		.unit_B = PAGE_B, .first_B = first_B,
		.ceiling_B = t->ceiling_B, .attempt = t->attempt,
		.arg = t->arg,
	};
	struct bisect_result r;
	struct memlock_row row;

	init_row(p, &row, t->check, t->hca);
	/* no part needs more than the whole */
	row.needed_B = at_most(first_B, p->m->needed_B);
	bisect_run(&b, &r);
	row.max_ok_B = r.max_ok_B;
	row.min_fail_B = r.min_fail_B;
	if (r.min_fail_B != RECORD_NONE) {
		explain(p, &row, r.error, r.max_ok_B == 0, t->device_max);
	}
	if (r.max_ok_B < row.needed_B) {
		row.outcome = OUTCOME_ERROR;
	}
	memlock_row_say(p->m, &row);
}

void proof_refused(const struct proof *p, const char *check, const char *hca,
		   int error)
{
	struct memlock_row row;

	init_row(p, &row, check, hca);
	row.outcome = OUTCOME_ERROR;
	explain(p, &row, error, true, 0);
	memlock_row_say(p->m, &row);
}

void proof_skipped(const struct proof *p, const char *check, const char *hca,
		   const char *why)
{
	struct memlock_row row;

	init_row(p, &row, check, hca);
	memlock_row_absent(&row, why);
	memlock_row_say(p->m, &row);
}

/* ---- without an HCA ---------------------------------------------------- */

/*
 * Lock the first bytes of the area, unlock them.  The kernel is asked without
 * the C library, because sanitizers put an mlock() there that does nothing.
 */
static int attempt_mlock(int64_t size_B, void *area)
{
	if (syscall(SYS_mlock, area, (size_t)size_B) < 0) {
		return errno;
	}
	syscall(SYS_munlock, area, (size_t)size_B);
	return 0;
}

static void prove_mlock(const struct proof *p)
{
	size_t size = (size_t)p->m->needed_B;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct trial t = {
		.check = CHECK_MLOCK, .hca = "", .needed_B = p->m->needed_B,
		.ceiling_B = p->m->needed_B, .attempt = attempt_mlock,
		.arg = area,
	};

	if (area == MAP_FAILED) {
		proof_refused(p, CHECK_MLOCK, "", errno);
		return;
	}
	proof_try(p, &t);
	munmap(area, size);
}

/* ---- under whose limit ------------------------------------------------- */

static rlim_t rlim_of(int64_t limit_B)
{
	return limit_B == MEMLOCK_UNLIMITED ? RLIM_INFINITY : (rlim_t)limit_B;
}

/*
 * On a node of a cluster root's own limit says nothing about jobs: slurmd's
 * does.  Take it over.
 */
static enum memlock_context take_limit(const struct memlock *m)
{
	const struct rlimit r = { .rlim_cur = rlim_of(m->slurmd.soft),
				  .rlim_max = rlim_of(m->slurmd.hard) };

	if (m->in_step) {
		return MEMLOCK_STEP;
	}
	return m->is_root && m->slurmd_known &&
			       setrlimit(RLIMIT_MEMLOCK, &r) == 0 ?
		       MEMLOCK_SLURMD :
		       MEMLOCK_HERE;
}

static void say_not_proved(const struct proof *p, const struct err *why)
{
	struct memlock_row row;

	init_row(p, &row, CHECK_MLOCK, "");
	memlock_row_unknown(&row, why);
	memlock_row_say(p->m, &row);
}

/* libibverbs warns of a low limit on stderr; the rows say it better. */
static void hush(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
}

void memlock_prove(struct memlock *m)
{
	struct proof p = { .m = m, .context = MEMLOCK_HERE,
			   .limit_B = RECORD_NONE };
	struct err e = { 0 };
	int tried;

	if (m->root[0] != '\0') {
		proof_skipped(&p, CHECK_MLOCK, "",
			      "not tried: the machine is a recorded one");
		return;
	}
	p.context = take_limit(m);
	p.limit_B = memlock_limit_now().soft;
	if (memlock_drop_privileges(&e) < 0) {
		say_not_proved(&p, &e);
		return;
	}
	hush();
	tried = proof_verbs(&p, &e);
	if (tried < 0 && m->hcas > 0) {
		proof_skipped(&p, CHECK_CQ, "", e.text);
	}
	if (tried <= 0) {
		prove_mlock(&p);
	}
}

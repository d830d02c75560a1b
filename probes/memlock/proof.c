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
		proof_unknown(&p, CHECK_MLOCK, &e);
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

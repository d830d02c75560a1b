/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof: find the size that breaks, as a user like that of a job, under the
 * limit of the context that is judged.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/dl/verbs.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"
#include "probes/memlock/look.h"

/* ---- drop ---------------------------------------------------------------- */

/* If there is no user "nobody". */
#define NOBODY_ID 65534

static void say_refused(struct memlock *m, const char *check, const char *hca,
			int error);
static void say_skipped(struct memlock *m, const char *check, const char *hca,
			const char *why);
static void run_trial(struct memlock *m, struct trial t);

/* Become the user nobody if root, and drop CAP_IPC_LOCK, for good; -1 with @e
 * if the capability is still there. */
static int drop_privileges(struct err *e)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };
	const struct passwd *p = getpwnam("nobody");
	uid_t uid = p != NULL ? p->pw_uid : NOBODY_ID;
	gid_t gid = p != NULL ? p->pw_gid : NOBODY_ID;
	bool dropped;

	/* if the user cannot be changed, drop the capability at least */
	(void)(geteuid() == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0);
	dropped = syscall(SYS_capget, &head, data) == 0;
	if (dropped) {
		data[0].effective &= ~(1u << CAP_IPC_LOCK);
		data[0].permitted &= ~(1u << CAP_IPC_LOCK);
		data[0].inheritable &= ~(1u << CAP_IPC_LOCK);
		syscall(SYS_capset, &head, data);
		dropped = syscall(SYS_capget, &head, data) == 0 &&
			  !(data[0].effective & 1u << CAP_IPC_LOCK);
	}
	/* a change of user hides /proc/self from the process itself */
	prctl(PR_SET_DUMPABLE, 1);
	return dropped ? 0 :
			 err_set(e, EPERM, "CAP_IPC_LOCK cannot be dropped; it "
					   "exempts this process from the "
					   "limit");
}

/* ---- verbs --------------------------------------------------------------- */

#if HAVE_VERBS
#include <infiniband/verbs.h>

#define VERBS_PAGE_B 4096
#define HCAS_MAX     64
#define CQ_CEILING_B (INT64_C(4) << 20)
#define QP_CEILING_B (INT64_C(2) << 20)
#define MR_NEEDED_B  (NEED_CHANNELS * NEED_BUFFER_B)

/* One open device and what a trial needs of it. */
struct hca {
	const struct verbs *v;
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;	/* for queue pairs */
	void *area;		/* for registrations */
};

/* Some providers return NULL and leave errno alone. */
static int refusal_errno(void)
{
	return errno != 0 ? errno : EIO;
}

static int attempt_cq(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_cq *cq;

	errno = 0;
	cq = h->v->create_cq(h->ctx, (int)(size_B / NEED_CQE_B), NULL, NULL,
			     0);
	return cq != NULL ? h->v->destroy_cq(cq) : refusal_errno();
}

static int attempt_qp(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_qp_init_attr init = {
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = (uint32_t)(size_B / NEED_REQUEST_B),
			 .max_recv_wr = (uint32_t)(size_B / NEED_REQUEST_B),
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = h->v->create_qp(h->pd, &init);
	return qp != NULL ? h->v->destroy_qp(qp) : refusal_errno();
}

static int attempt_mr(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_mr *mr;

	errno = 0;
	mr = h->v->reg_mr(h->pd, h->area, (size_t)size_B,
			  IBV_ACCESS_LOCAL_WRITE);
	return mr != NULL ? h->v->dereg_mr(mr) : refusal_errno();
}

/* Bytes of @n entries, a whole number of pages, one page at least, no more than
 * @ceiling_B. */
static int64_t pages(int64_t n, int64_t entry_B, int64_t ceiling_B)
{
	int64_t bytes = n * entry_B / VERBS_PAGE_B * VERBS_PAGE_B;

	bytes = bytes > VERBS_PAGE_B ? bytes : VERBS_PAGE_B;
	return bytes < ceiling_B ? bytes : ceiling_B;
}

static void try_qp(struct memlock *m, struct hca *h, const char *name)
{
	h->cq = h->v->create_cq(h->ctx, 1, NULL, NULL, 0);
	if (h->cq == NULL) {
		say_skipped(m, CHECK_QP, name,
			    "there is no completion queue for it");
		return;
	}
	run_trial(m, (struct trial){
			     .check = CHECK_QP,
			     .hca = name,
			     .first_B = NEED_QP_B,
			     .ceiling_B = pages(h->attr.max_qp_wr,
						NEED_REQUEST_B, QP_CEILING_B),
			     .device_max = h->attr.max_qp,
			     .attempt = attempt_qp,
			     .arg = h,
		     });
	h->v->destroy_cq(h->cq);
}

static void try_mr(struct memlock *m, struct hca *h, const char *name)
{
	h->area = mmap(NULL, MR_NEEDED_B, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->area == MAP_FAILED) {
		say_refused(m, CHECK_MR, name, errno);
		return;
	}
	run_trial(m, (struct trial){
			     .check = CHECK_MR,
			     .hca = name,
			     .first_B = MR_NEEDED_B,
			     .ceiling_B = MR_NEEDED_B,
			     .device_max = h->attr.max_mr,
			     .attempt = attempt_mr,
			     .arg = h,
		     });
	munmap(h->area, MR_NEEDED_B);
}

static void try_device(struct memlock *m, const struct verbs *v,
		       struct ibv_device *dev)
{
	const char *name = v->get_device_name(dev);
	struct hca h = { .v = v };

	errno = 0;
	h.ctx = v->open_device(dev);
	if (h.ctx == NULL) {
		/* libibverbs tries several files and tells the errno of the
		 * last: look at the right one */
		say_refused(m, CHECK_CQ, name,
			    port_device_errno(name, refusal_errno()));
		return;
	}
	if (v->query_device(h.ctx, &h.attr) != 0) {
		say_refused(m, CHECK_CQ, name, refusal_errno());
		goto close;
	}
	run_trial(m, (struct trial){
			     .check = CHECK_CQ,
			     .hca = name,
			     .first_B = NEED_CQ_B,
			     .ceiling_B = pages(h.attr.max_cqe, NEED_CQE_B,
						CQ_CEILING_B),
			     .device_max = h.attr.max_cq,
			     .attempt = attempt_cq,
			     .arg = &h,
		     });
	errno = 0;
	h.pd = v->alloc_pd(h.ctx);
	if (h.pd == NULL) {
		say_refused(m, CHECK_MR, name, refusal_errno());
		goto close;
	}
	try_qp(m, &h, name);
	try_mr(m, &h, name);
	v->dealloc_pd(h.pd);
close:
	v->close_device(h.ctx);
}

/* Try every HCA that libibverbs shows; refuse those of the kernel that it does
 * not.  Returns how many that are, or -1 with @e: there is no libibverbs, or
 * this program was built without its header. */
static int prove_verbs(struct memlock *m, struct err *e)
{
	const struct verbs *v = dl_verbs(e);
	char names[HCAS_MAX][64];
	struct ibv_device **list;
	int n = 0;

	if (v == NULL) {
		return -1;
	}
	list = v->get_device_list(&n);
	if (list == NULL || n == 0) {
		/* the kernel has HCAs, but libibverbs shows none of them */
		n = (int)sysfile_list(names, HCAS_MAX, "/sys/class/infiniband");
		for (int i = 0; i < n; i++) {
			say_refused(m, CHECK_CQ, names[i], ENODEV);
		}
	}
	for (int i = 0; list != NULL && list[i] != NULL; i++) {
		try_device(m, v, list[i]);
	}
	if (list != NULL) {
		v->free_device_list(list);
	}
	return n;
}

#else

/* Try every HCA that libibverbs shows; refuse those of the kernel that it does
 * not.  Returns how many that are, or -1 with @e: there is no libibverbs, or
 * this program was built without its header. */
static int prove_verbs(struct memlock *m, struct err *e)
{
	(void)m;
	return err_set(e, 0, "built without infiniband/verbs.h");
}

#endif

/* ---- bisect -------------------------------------------------------------- */

/* Try @size_B; true if it works. */
static bool try_size(struct trial *t, int64_t size_B)
{
	int why = t->attempt(size_B, t->arg);

	if (why == 0) {
		t->max_ok_B = size_B;
		return true;
	}
	t->min_fail_B = size_B;
	t->error = why;
	return false;
}

void trial_bisect(struct trial *t)
{
	int64_t size = t->first_B;

	t->max_ok_B = t->error = 0;
	t->min_fail_B = RECORD_NONE;
	while (try_size(t, size)) {
		if (size >= t->ceiling_B) {
			return;
		}
		size = size > t->ceiling_B / 2 ? t->ceiling_B : 2 * size;
	}
	while (t->min_fail_B - t->max_ok_B > t->unit_B) {
		int64_t units = (t->min_fail_B - t->max_ok_B) / t->unit_B;

		try_size(t, t->max_ok_B + (units + 1) / 2 * t->unit_B);
	}
}

/* ---- refusal ------------------------------------------------------------- */

/* A driver pins this much besides what it was asked for. */
#define PINNED_BESIDES_B (128 * 1024)
/* Mappings that the call itself may have wanted. */
#define MAPS_BESIDES	 16

/** Signs of a cause besides the errno. */
enum {
	BY_PERMISSION = 1,	/* a permission could be lacking */
	AT_LIMIT = 2,
	ABOVE_CGROUP = 4,
	OUT_OF_MAPS = 8,
	IS_FULL = 16,
};

/* The first that fits is the cause. */
static const struct proof_cause {
	const char *code;
	int errors[3];		/* any, if there are none */
	unsigned shows;		/* one of these; 0: whatever it shows */
	const char *says;
} causes[] = {
	{ .code = "infiniband_denied", .errors = { EACCES, EPERM },
	  .shows = BY_PERMISSION,
	  .says = "the user of the job may not open it: check the permissions "
		  "of /dev/infiniband/uverbs*" },
	{ .code = "infiniband_missing", .errors = { ENOENT, ENODEV, ENXIO },
	  .says = "the kernel has the HCA, but there is no "
		  "/dev/infiniband/uverbs* for it" },
	{ .code = "fd_limit", .errors = { EMFILE, ENFILE },
	  .says = "too many open files: see nofile" },
	{ .code = CODE_ENOMEM, .errors = { ENOMEM, EAGAIN, EPERM },
	  .shows = AT_LIMIT, .says = "refused at the limit RLIMIT_MEMLOCK" },
	{ .code = "cgroup_memory", .errors = { ENOMEM }, .shows = ABOVE_CGROUP,
	  .says = "not memlock: the limit of the job's memory cgroup is "
		  "smaller" },
	{ .code = "map_count", .errors = { ENOMEM }, .shows = OUT_OF_MAPS,
	  .says = "not memlock: vm.max_map_count mappings are in use" },
	{ .code = "device_full", .errors = { ENOMEM, ENOSPC }, .shows = IS_FULL,
	  .says = "not memlock: the device has none left, even for the "
		  "smallest request" },
	{ .code = "enomem_not_memlock", .errors = { ENOMEM },
	  .says = "not memlock: RLIMIT_MEMLOCK is not reached; a limit of the "
		  "device or its driver" },
	{ .code = "refused", .says = "refused" },
};

static bool has_error(const struct proof_cause *c, int error)
{
	bool has = c->errors[0] == 0;

	/* what refuses without an errno is none of those that are listed */
	for (int i = 0; i < 3 && c->errors[i] != 0; i++) {
		has |= c->errors[i] == error;
	}
	return has;
}

const char *refusal_explain(const struct refusal *r, char *detail, size_t size)
{
	const struct proof_cause *c = causes;
	unsigned shown = strcmp(r->check, CHECK_MLOCK) != 0 ? BY_PERMISSION : 0;
	char have[32];
	int n;

	if (r->limit_B != MEMLOCK_UNLIMITED &&
	    r->tried_B > r->limit_B - PINNED_BESIDES_B) {
		shown |= AT_LIMIT;
	}
	if (r->cgroup_B != MEMLOCK_UNLIMITED && r->tried_B > r->cgroup_B) {
		shown |= ABOVE_CGROUP;
	}
	if (r->max_maps > 0 && r->maps + MAPS_BESIDES >= r->max_maps) {
		shown |= OUT_OF_MAPS;
	}
	if (r->nothing_works && r->device_max > 0) {
		shown |= IS_FULL;
	}
	while (!has_error(c, r->error) || (c->shows & ~shown) != 0) {
		c++;		/* the last one fits all */
	}
	n = snprintf(detail, size, "%s: %s",
		     r->error != 0 ? strerror(r->error) : "no reason given",
		     c->says);
	if (c->shows == AT_LIMIT && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, ", %s",
			 memlock_text(r->limit_B, have, sizeof(have)));
	} else if (c->shows == IS_FULL && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, " (its maximum is %lld)",
			 (long long)r->device_max);
	}
	return c->code;
}

/* ---- trial --------------------------------------------------------------- */

/* One trial of a proof, and the row with its result. */

#define PAGE_B 4096

static void explain(struct memlock *m, struct memlock_row *row, int error,
		    bool nothing_works, int64_t device_max)
{
	struct refusal r = {
		.check = row->check,
		.error = error,
		.tried_B = row->min_fail_B,
		.nothing_works = nothing_works,
		.limit_B = m->proof_limit_B,
		.cgroup_B = m->cgroup_B,
		.device_max = device_max,
	};

	memlock_read(m, "/proc/self/maps", NULL);
	for (const char *c = str_text(&m->text); *c != '\0'; c++) {
		r.maps += *c == '\n';
	}
	memlock_read_number(m, "/proc/sys/vm/max_map_count", &r.max_maps, NULL);
	STR_COPY(row->code,
		 refusal_explain(&r, row->detail, sizeof(row->detail)));
}

static void init_row(struct memlock *m, struct memlock_row *row,
		     const char *check, const char *hca)
{
	memlock_row_init(m, row, m->proof_context, check, "");
	STR_COPY(row->hca, hca);
	row->limit_B = m->proof_limit_B;
}

/* Search for the size that breaks, and report it in a row. */
static void run_trial(struct memlock *m, struct trial t)
{
	struct memlock_row row;

	t.unit_B = PAGE_B;
	t.first_B = t.first_B < t.ceiling_B ? t.first_B : t.ceiling_B;
	init_row(m, &row, t.check, t.hca);
	/* no part needs more than the whole */
	row.needed_B = t.first_B < m->needed_B ? t.first_B : m->needed_B;
	trial_bisect(&t);
	row.max_ok_B = t.max_ok_B;
	row.min_fail_B = t.min_fail_B;
	if (t.min_fail_B != RECORD_NONE) {
		explain(m, &row, t.error, t.max_ok_B == 0, t.device_max);
	}
	if (t.max_ok_B < row.needed_B) {
		row.outcome = OUTCOME_ERROR;
	}
	memlock_row_say(m, &row);
}

/* Say that @check of @hca was refused before a size could be tried. */
static void say_refused(struct memlock *m, const char *check, const char *hca,
			int error)
{
	struct memlock_row row;

	init_row(m, &row, check, hca);
	row.outcome = OUTCOME_ERROR;
	explain(m, &row, error, true, 0);
	memlock_row_say(m, &row);
}

/* Say why @check of @hca was not tried. */
static void say_skipped(struct memlock *m, const char *check, const char *hca,
			const char *why)
{
	struct memlock_row row;

	init_row(m, &row, check, hca);
	memlock_row_absent(&row, why);
	memlock_row_say(m, &row);
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

/* ---- the limit --------------------------------------------------------- */

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

void memlock_prove(struct memlock *m)
{
	size_t size = (size_t)m->needed_B;
	struct err e = { 0 };
	struct memlock_row row;
	void *area;
	int tried;
	int fd;

	m->proof_context = MEMLOCK_HERE;
	m->proof_limit_B = RECORD_NONE;
	if (m->root[0] != '\0') {
		say_skipped(m, CHECK_MLOCK, "",
			    "not tried: the machine is a recorded one");
		return;
	}
	m->proof_context = take_limit(m);
	m->proof_limit_B = memlock_limit_now().soft;
	if (drop_privileges(&e) < 0) {
		init_row(m, &row, CHECK_MLOCK, "");
		memlock_row_unknown(&row, &e);
		memlock_row_say(m, &row);
		return;
	}
	/* libibverbs warns of a low limit on stderr; the rows say it better */
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	tried = prove_verbs(m, &e);
	if (tried < 0 && m->hcas > 0) {
		say_skipped(m, CHECK_CQ, "", e.text);
	}
	if (tried > 0) {
		return;
	}
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED) {
		say_refused(m, CHECK_MLOCK, "", errno);
		return;
	}
	run_trial(m, (struct trial){
			     .check = CHECK_MLOCK,
			     .hca = "",
			     .first_B = m->needed_B,
			     .ceiling_B = m->needed_B,
			     .attempt = attempt_mlock,
			     .arg = area,
		     });
	munmap(area, size);
}

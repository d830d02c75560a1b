/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/order.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/sysfile.h"

/* ---- stacks -------------------------------------------------------------- */

#define PRINTED_MAX 60000	/* what a pipe holds */
#define FRAMES_MAX  6
#define ARGS_MAX    12
#define PID	    "PID"

/** py-spy shows Python frames, gdb those of C only. */
static const struct tool {
	const char *name;
	const char *args[ARGS_MAX];
} tools[] = {
	{ "py-spy", { "py-spy", "dump", "--pid", PID } },
	{ "gdb", { "gdb", "-batch", "-nx", "-p", PID, "-ex",
		   "set print frame-arguments none", "-ex", "bt 6" } },
};

/* ---- their output -------------------------------------------------------- */

/** "    read (data.py:31)" of py-spy, "#1  0x00007f in read () from" of gdb,
 *  "[<0>] pipe_read+0x1a/0x70" of the kernel: the name, NULL: the line has
 *  none. */
static const char *frame_of(const char *line, bool main, size_t *len)
{
	const char *in;

	if (str_starts(line, "[<") && strstr(line, ">] ")) {
		line = strstr(line, ">] ") + strlen(">] ");
		*len = strcspn(line, "+ \n");
		return *len > 0 ? line : NULL;
	}
	if (line[0] == '#' && isdigit((unsigned char)line[1])) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
		in = str_starts(line, "0x") ? strstr(line, " in ") : NULL;
		line = in ? in + strlen(" in ") : line;
	} else if (main && str_starts(line, "    ")) {
		line += strspn(line, " ");
	} else {
		return NULL;
	}
	*len = strcspn(line, " \n");
	return *len > 0 ? line : NULL;
}

void stack_parse(const char *printed, char text[STACK_SIZE])
{
	struct str out = STR_INIT;
	bool main = false;
	int n = 0;

	while (*printed && n < FRAMES_MAX) {
		char line[512];
		size_t whole = strcspn(printed, "\n"), len;
		const char *frame;

		snprintf(line, sizeof(line), "%.*s",
			 (int)(whole < sizeof(line) ? whole :
						      sizeof(line) - 1),
			 printed);
		main = str_starts(line, "Thread ") ?
			       strstr(line, "\"MainThread\"") != NULL : main;
		frame = frame_of(line, main, &len);
		if (frame) {
			str_addf(&out, "%s%.*s", n++ ? " < " : "",
				 (int)(len < 60 ? len : 60), frame);
		}
		printed += whole + (printed[whole] == '\n');
	}
	snprintf(text, STACK_SIZE, "%s", str_text(&out));
	for (char *c = text; *c; c++) {
		*c = isprint((unsigned char)*c) ? *c : '?';
	}
	str_release(&out);
}

/* ---- asking them --------------------------------------------------------- */

const char *stacks_read(struct procs *p, int64_t deadline_ns)
{
	struct {
		struct spawn_child child;
		struct str out;
		int rc;
	} *asks = calloc(STACKS_MAX, sizeof(*asks));
	const struct tool *t = tools;
	size_t n = p->n < STACKS_MAX ? p->n : STACKS_MAX;

	while (t < tools + sizeof(tools) / sizeof(tools[0]) &&
	       !spawn_find(t->name, NULL, 0)) {
		t++;
	}
	if (!asks || t == tools + sizeof(tools) / sizeof(tools[0])) {
		free(asks);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		char *argv[ARGS_MAX + 1] = { NULL }, number[24];

		snprintf(number, sizeof(number), "%" PRId64, p->list[i].pid);
		for (int k = 0; k < ARGS_MAX && t->args[k]; k++) {
			argv[k] = strcmp(t->args[k], PID) == 0 ?
					  number :
					  (char *)(uintptr_t)t->args[k];
		}
		asks[i].rc = spawn_start(&asks[i].child, argv, &asks[i].out,
					 NULL, PRINTED_MAX, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		struct spawn_status st;

		if (asks[i].rc == 0) {
			spawn_finish(&asks[i].child, deadline_ns, &st);
			stack_parse(str_text(&asks[i].out), p->list[i].stack);
		}
		str_release(&asks[i].out);
	}
	free(asks);
	return t->name;
}

/* ---- procs --------------------------------------------------------------- */

#define ENVIRON_MAX (1 << 20)
#define MAPS_MAX (8 << 20)
#define READ_S	  1		/* for the memory map of one */
#define MUTE_MAX  3		/* then the others are not looked at */

/* ---- its sockets --------------------------------------------------------- */

#define SOCKETS_MAX 4096	/* of a process */
#define TABLE_MAX   (4 << 20)

static const struct order_key by_number[] = {
	ORDER_ITEM(ORDER_UINT64),
	ORDER_END
};

/** The inodes of the sockets of @pid, sorted, up to SOCKETS_MAX; their number,
 *  0 where this may not be read. */
static size_t list_sockets(const char *root, int64_t pid, unsigned long *inodes)
{
	char path[PATH_MAX], link[64];
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%.2000s/proc/%" PRId64 "/fd", root, pid);
	dir = opendir(path);
	while (dir && n < SOCKETS_MAX && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link,
					 sizeof(link) - 1);

		link[len > 0 ? len : 0] = '\0';
		n += sscanf(link, "socket:[%lu]", &inodes[n]) == 1;
	}
	if (dir) {
		closedir(dir);
	}
	order_sort(inodes, n, sizeof(*inodes), by_number);
	return n;
}

/* sock_diag(7) has the sockets of the caller's network namespace alone. */
void proc_sockets(const char *root, int64_t pid, struct proc_look *l)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	unsigned long *inodes = calloc(SOCKETS_MAX + 1, sizeof(*inodes));
	size_t n = inodes ? list_sockets(root, pid, inodes) : 0;

	l->unread_B = l->unsent_B = n > 0 ? 0 : -1;
	for (size_t i = 0; i < 2 && n > 0; i++) {
		char *table = sysfile_whole(TABLE_MAX, "%s/proc/%" PRId64
					    "/net/%s", root, pid, tables[i]);
		char *save = NULL, *line;

		line = table ? strtok_r(table, "\n", &save) : NULL;
		for (; line; line = strtok_r(NULL, "\n", &save)) {
			unsigned int state, unsent, unread;
			unsigned long inode;

			/* of a listener the queue has connections */
			if (sscanf(line, " %*d: %*s %*s %x %x:%x %*s %*s %*u "
				   "%*d %lu", &state, &unsent, &unread,
				   &inode) == 4 && state != TCP_LISTEN &&
			    order_find(&inode, inodes, n, sizeof(inode),
				       by_number)) {
				l->unread_B += unread;
				l->unsent_B += unsent;
			}
		}
		free(table);
	}
	free(inodes);
}

/* ---- one of them --------------------------------------------------------- */

static int64_t count_in(const char *status, const char *key)
{
	char text[24];
	int64_t n;

	return sysfile_value(status, key, text, sizeof(text)) &&
			       units_parse_int(text, 0, INT64_MAX / 2, &n,
					       NULL) == 0 ?
		       n : 0;
}

int proc_look(const char *root, int64_t pid, struct proc_look *l)
{
	char stat[1024], name[64], status[4096], *rest;
	unsigned long long user = 0, kernel = 0, started = 0, faults = 0;
	long long parent = 0;
	int64_t kib;

	*l = (struct proc_look){ .state = 'X', .swapped_B = -1,
				 .unread_B = -1, .unsent_B = -1,
				 .at_ns = clock_now_ns() };
	if (sysfile_read(stat, sizeof(stat), "%s/proc/%" PRId64 "/stat", root,
			 pid) < 0) {
		return -1;
	}
	/* the name, in brackets, may have anything in it; proc(5): state 3,
	 * parent 4, majflt 12, utime 14, stime 15, starttime 22 */
	rest = strrchr(stat, ')');
	if (!rest || sscanf(rest + 1, " %c %lld %*d %*d %*d %*d %*u %*u %*u "
			    "%llu %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
			    &l->state, &parent, &faults, &user, &kernel,
			    &started) != 6) {
		l->state = 'X';
		return -1;
	}
	l->parent = parent;
	l->ticks = (int64_t)(user + kernel);
	l->started = (int64_t)started;
	l->faults = (int64_t)faults;
	sysfile_read(status, sizeof(status), "%s/proc/%" PRId64 "/status", root,
		     pid);
	l->switches = count_in(status, "voluntary_ctxt_switches");
	if (sysfile_value(status, "VmSwap", name, sizeof(name))) {
		name[strcspn(name, " ")] = '\0';
		if (units_parse_int(name, 0, INT64_MAX >> 10, &kib, NULL) ==
		    0) {
			l->swapped_B = kib << 10;
		}
	}
	sysfile_read(name, sizeof(name), "%s/proc/%" PRId64 "/comm", root, pid);
	STR_COPY(l->command, name);
	sysfile_read(name, sizeof(name), "%s/proc/%" PRId64 "/wchan", root,
		     pid);
	STR_COPY(l->waits_in, strcmp(name, "0") == 0 ? "" : name);
	return 0;
}

double proc_cpu(const struct proc *p)
{
	if (p->first.state == 'X' || p->last.state == 'X' ||
	    p->first.started != p->last.started ||
	    p->first.at_ns >= p->last.at_ns) {
		return NAN;
	}
	return (double)(p->last.ticks - p->first.ticks) /
	       (double)sysconf(_SC_CLK_TCK) * (double)NS_PER_S /
	       (double)(p->last.at_ns - p->first.at_ns);
}

/* ---- its threads --------------------------------------------------------- */

#define THREADS_MAX 1024

/** False unless thread @tid of @pid is there, and in state D. */
static bool read_blocked(const char *root, int64_t pid, const char *tid,
			 struct proc_thread *t)
{
	char status[8192], value[64];

	sysfile_read(status, sizeof(status), "%s/proc/%" PRId64
		     "/task/%s/status", root, pid, tid);
	if (!sysfile_value(status, "State", value, sizeof(value)) ||
	    value[0] != 'D') {
		return false;
	}
	t->tid = strtoll(tid, NULL, 10);
	t->switches = count_in(status, "voluntary_ctxt_switches") +
		      count_in(status, "nonvoluntary_ctxt_switches");
	sysfile_value(status, "Name", t->name, sizeof(t->name));
	sysfile_read(value, sizeof(value), "%s/proc/%" PRId64 "/task/%s/wchan",
		     root, pid, tid);
	STR_COPY(t->waits_in, strcmp(value, "0") == 0 ? "" : value);
	return true;
}

void proc_note_blocked(const char *root, struct proc *p)
{
	char (*tids)[64] = calloc(THREADS_MAX, sizeof(*tids));
	size_t n = tids ? sysfile_list(tids, THREADS_MAX, "%s/proc/%" PRId64
				       "/task", root, p->pid) : 0;

	p->n_blocked = 0;
	for (size_t i = 0; i < n && p->n_blocked < PROC_BLOCKED; i++) {
		p->n_blocked += read_blocked(root, p->pid, tids[i],
					     &p->blocked[p->n_blocked]);
	}
	free(tids);
}

void proc_find_stuck(const char *root, struct proc *p)
{
	p->stuck = (struct proc_thread){ 0 };
	for (size_t i = 0; i < p->n_blocked; i++) {
		const struct proc_thread *then = &p->blocked[i];
		struct proc_thread now;
		char tid[24];

		snprintf(tid, sizeof(tid), "%" PRId64, then->tid);
		if (read_blocked(root, p->pid, tid, &now) &&
		    now.switches == then->switches &&
		    (p->stuck.tid == 0 || now.tid == p->pid)) {
			p->stuck = now;
		}
	}
}

#define PLACES_MAX 32		/* more kinds of them are not told apart */

void proc_threads(const char *root, int64_t pid, char *buf, size_t size)
{
	char (*tids)[64] = calloc(THREADS_MAX, sizeof(*tids)), name[64];
	size_t n = tids ? sysfile_list(tids, THREADS_MAX, "%s/proc/%" PRId64
				       "/task", root, pid) : 0, kinds = 0;
	char places[PLACES_MAX][64];
	int threads[PLACES_MAX] = { 0 };
	struct str out = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		sysfile_read(name, sizeof(name), "%s/proc/%" PRId64
			     "/task/%s/wchan", root, pid, tids[i]);
		while (k < kinds && strcmp(places[k], name) != 0) {
			k++;
		}
		if (name[0] && strcmp(name, "0") != 0 && k < PLACES_MAX) {
			STR_COPY(places[k], name);
			threads[k]++;
			kinds += k == kinds;
		}
	}
	for (size_t i = 0; i < kinds; i++) {
		size_t most = 0;

		for (size_t k = 1; k < kinds; k++) {
			most = threads[k] > threads[most] ? k : most;
		}
		str_addf(&out, "%s%s %d", i ? ", " : "", places[most],
			 threads[most]);
		threads[most] = 0;
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	free(tids);
}

/* ---- its children -------------------------------------------------------- */

void proc_children(const char *root, int64_t pid, char *buf, size_t size)
{
	static const char states[] = "RSDTtZ";
	size_t count[sizeof(states)] = { 0 };
	char tasks[64][64], text[4096], *save = NULL;
	size_t n = sysfile_list(tasks, 64, "%s/proc/%" PRId64 "/task", root,
				pid);
	struct str out = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		char *word;

		sysfile_read(text, sizeof(text),
			     "%s/proc/%" PRId64 "/task/%s/children", root, pid,
			     tasks[i]);
		for (word = strtok_r(text, " ", &save); word;
		     word = strtok_r(NULL, " ", &save)) {
			struct proc_look l;
			const char *at;

			proc_look(root, strtoll(word, NULL, 10), &l);
			at = strchr(states, l.state);
			count[at ? at - states : 0] += at && *at;
		}
	}
	for (size_t i = 0; states[i]; i++) {
		if (count[i] > 0) {
			str_addf(&out, "%s%zu %c", out.len ? ", " : "",
				 count[i], states[i]);
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
}

/* ---- ranks --------------------------------------------------------------- */

/** Environment variables in which launchers and PyTorch keep the rank and the
 *  number of ranks, a launcher's own names first: it also has those of the
 *  Slurm that started it. */
static const struct {
	const char *rank, *world, *local, *locals;
} env_names[] = {
	{ "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" },
	{ "PMIX_RANK", "PMIX_SIZE", NULL, NULL },
	{ "PMI_RANK", "PMI_SIZE", NULL, NULL },
	{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL, NULL },
	{ "SLURM_PROCID", "SLURM_NTASKS", NULL, NULL },
};

struct proc *procs_at(const struct procs *p, int64_t pid)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->list[i].pid == pid) {
			return &p->list[i];
		}
	}
	return NULL;
}

struct proc *procs_add(struct procs *p, int64_t pid)
{
	struct proc *list = procs_at(p, pid);

	if (list) {
		return list;
	}
	list = realloc(p->list, (p->n + 1) * sizeof(*list));
	if (!list) {
		return NULL;
	}
	p->list = list;
	list[p->n] = (struct proc){ .pid = pid, .rank = -1, .world = -1,
				    .local = -1 };
	return &list[p->n++];
}

/** A process, and whether it has such a library. */
struct candidate {
	char root[PATH_MAX];
	struct proc p;
	bool has;
};

/** Read which rank of how many the process is from its environment @vars. */
static void read_rank(const char *vars, size_t len, struct proc *p)
{
	const size_t n = sizeof(env_names) / sizeof(env_names[0]);

	for (size_t i = 0; i < n && p->rank < 0; i++) {
		const char *rank = process_env(vars, len, env_names[i].rank);
		int64_t local, locals;

		if (units_parse_int(rank, 0, INT32_MAX, &p->rank, NULL) < 0) {
			continue;
		}
		p->rank_own = i == 0;
		units_parse_int(process_env(vars, len, env_names[i].world), 1,
				INT32_MAX, &p->world, NULL);
		/* in a row, and not by turns over the nodes */
		if (env_names[i].local &&
		    units_parse_int(process_env(vars, len, env_names[i].local),
				    0, INT16_MAX, &local, NULL) == 0 &&
		    units_parse_int(process_env(vars, len, env_names[i].locals),
				    1, INT16_MAX, &locals, NULL) == 0 &&
		    p->rank % locals == local) {
			p->local = locals;
		}
	}
}

/* Find out whether the process maps a library that ranks map and, if it does,
 * read its environment. */
static void *identify(void *arg)
{
	static const char *const names[] = {
		"/libnccl.so", "/libcuda.so", "/libtorch_cuda.so",
		"/libtorch_cpu.so", "/libgloo", "/libmpi.so", "/libmpi_",
		"/libucp.so", "/libucc.so",
	};
	struct candidate *c = arg;
	struct proc *p = &c->p;
	char *maps = sysfile_whole(MAPS_MAX, "%s/proc/%" PRId64 "/maps",
				   c->root, p->pid);
	const char *store;
	char *vars;
	size_t len;
	int got;

	for (size_t i = 0; maps && i < sizeof(names) / sizeof(names[0]); i++) {
		c->has = c->has || strstr(maps, names[i]);
	}
	free(maps);
	if (!c->has) {
		return NULL;
	}
	vars = malloc(ENVIRON_MAX);
	got = vars ? sysfile_read(vars, ENVIRON_MAX,
				  "%s/proc/%" PRId64 "/environ", c->root,
				  p->pid) :
		     -1;
	len = got > 0 ? (size_t)got : 0;
	read_rank(vars, len, p);
	store = process_env(vars, len, "MASTER_ADDR");
	if (store[0]) {
		snprintf(p->store, sizeof(p->store), "%.80s:%.10s", store,
			 process_env(vars, len, "MASTER_PORT"));
	}
	STR_COPY(p->job, process_env(vars, len, "SLURM_JOB_ID"));
	STR_COPY(p->ras_addr, process_env(vars, len, "NCCL_RAS_ADDR"));
	free(vars);
	return NULL;
}

/** Add @pid if it is a process of @job.  0, 1 where that cannot be told, or
 *  -1. */
static int consider(const char *root, const char *job, int64_t pid,
		    struct procs *p)
{
	struct candidate *c = malloc(sizeof(*c));
	struct proc *new;
	int rc = 0;

	if (!c) {
		return -1;
	}
	STR_COPY(c->root, root);
	c->has = false;
	c->p = (struct proc){ .pid = pid, .rank = -1, .world = -1,
			      .local = -1 };
	if (!within(READ_S, identify, c)) {
		return 1;	/* it still has @c */
	}
	if (c->has && (!job[0] || strcmp(c->p.job, job) == 0)) {
		new = procs_add(p, pid);
		rc = new ? 0 : -1;
		if (new) {
			*new = c->p;
			proc_look(root, pid, &new->first);
		}
	}
	free(c);
	return rc;
}

int procs_find(const char *root, const char *job, int64_t pid,
	       struct procs *p)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	*p = (struct procs){ 0 };
	snprintf(path, sizeof(path), "%.2000s/proc", root);
	dir = opendir(path);
	while (rc >= 0 && p->mute < MUTE_MAX && dir && (entry = readdir(dir))) {
		int64_t id = strtoll(entry->d_name, NULL, 10);

		if (id > 0 && id != getpid() &&
		    (pid <= 0 || process_is_below(root, id, pid))) {
			rc = consider(root, pid > 0 ? "" : job, id, p);
			p->mute += rc > 0;
		}
	}
	if (dir) {
		closedir(dir);
	}
	return rc < 0 ? -1 : 0;
}

void procs_keep_ranks(struct procs *p)
{
	struct procs all = *p;
	size_t n = 0;
	bool *keep = calloc(p->n + 1, sizeof(*keep));

	for (size_t i = 0; keep && i < all.n; i++) {
		const struct proc *c = &all.list[i];
		/* it has forked @c */
		const struct proc *above = procs_at(&all, c->first.parent);
		bool below = false;		 /* @c has started a rank */

		for (size_t k = 0; k < all.n && !below; k++) {
			below = all.list[k].first.parent == c->pid &&
				all.list[k].rank_own;
		}
		keep[i] = c->rank_own ?
				  !above || !above->rank_own ||
					  above->rank != c->rank :
				  c->rank >= 0 && !below &&
					  (!above || above->rank != c->rank);
	}
	for (size_t i = 0; keep && i < all.n; i++) {
		if (keep[i]) {
			p->list[n++] = p->list[i];
		}
	}
	p->n = keep ? n : p->n;
	free(keep);
}

void procs_release(struct procs *p)
{
	free(p->list);
	*p = (struct procs){ 0 };
}

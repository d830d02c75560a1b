/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The most valuable facts come first: if the driver hangs over a later
 * question, the earlier answers are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/allocation.h"
#include "lib/data/hosts.h"
#include "lib/data/record.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "probes/dl/nvml.h"
#include "probes/host/gpu_state.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"
#include "probes/self/self.h"

/* ---- share --------------------------------------------------------------- */

/** More are a misreading. */
#define WORDS_MAX 256

/** Take the GPUs that @word names: "3", "0-3" or "GPU-4fd2"; false if it names
 * no whole GPU but one of MIG, or nonsense. */
static bool take_word(struct self_gpu *gpus, size_t n, char *word,
		      struct self_share *share)
{
	char *dash = strchr(word, '-');
	int64_t first, last;
	size_t i = 0;

	if (str_starts(word, "GPU-") && word[4]) {
		share->wanted++;
		while (i < n && (!gpus[i].id.uuid[0] ||
				 !str_starts(gpus[i].id.uuid, word))) {
			i++;
		}
		if (i < n) {
			gpus[i].taken = true;
		}
		return true;
	}
	if (dash) {
		*dash++ = '\0';
	}
	if (units_parse_int(word, 0, GPU_LIST_MAX, &first, NULL) < 0 ||
	    units_parse_int(dash ? dash : word, 0, GPU_LIST_MAX, &last,
			    NULL) < 0 || last < first) {
		return false;
	}
	for (; first <= last; first++) {
		for (i = 0; i < n && gpus[i].index != first; i++) {
		}
		share->wanted++;
		if (i < n) {
			gpus[i].taken = true;
		}
	}
	return true;
}

void self_share_find(const char *visible, const char *job_gpus, bool in_job,
		     struct self_gpu *gpus, size_t n, struct self_share *share)
{
	const char *text = visible ? visible : job_gpus;
	bool whole = true;
	char word[64];
	size_t len;

	*share = (struct self_share){
		.all = !text && !in_job,
		.source = visible ? CUDA_VISIBLE :
			  job_gpus ? "SLURM_JOB_GPUS" :
			  in_job ? "SLURM_JOB_ID" : NULL,
	};
	for (size_t i = 0; i < n; i++) {
		gpus[i].taken = share->all;
	}
	for (int words = 0; text && *text && words < WORDS_MAX; words++) {
		text += strspn(text, ", \t");
		len = strcspn(text, ", \t");
		if (len > 0) {
			snprintf(word, sizeof(word), "%.*s", (int)len, text);
			whole = take_word(gpus, n, word, share) && whole;
		}
		text += len;
	}
	share->wanted = whole ? share->wanted : 0;
}

/* ---- host ---------------------------------------------------------------- */

/** Add the interfaces of the running machine; a recorded one has none. */
static void add_interfaces(const struct spec *s, json_t *facts)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n = list && !s->sysroot[0] ?
			   interface_list(list, INTERFACE_MAX) : 0;
	const char *name;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		/* it has an entry for each of its addresses */
		while (strcmp(list[k].name, list[i].name) != 0) {
			k++;
		}
		name = list[i].name;
		if (k < i || (s->ifname[0] && !port_matches(s->ifname, name))) {
			continue;
		}
		/* those of containers and virtual machines have no cable */
		if (s->ifname[0] ||
		    (!net_is_inner(name) &&
		     !sysfile_there("/sys/class/net/%s/bridge", name))) {
			facts_add(facts, name, SELF_LINK, list[i].state, "",
				  "getifaddrs");
		}
	}
	free(list);
}

/** NCCL's values since 2.23, unless it is told others. */
#define IB_TIMEOUT 20
#define IB_RETRIES 7

/** Add links that went and came back, and for how long NCCL waits for one: the
 *  timeout of its queue pairs, 4.096 us x 2^timeout, times the retries. */
static void add_links_away(const struct spec *s, json_t *facts)
{
	int64_t timeout = IB_TIMEOUT, retries = IB_RETRIES;
	const char *source = "default of NCCL 2.23";
	json_t *conf;

	link_away_facts(s->sysroot, clock_now_ns() + NS_PER_S, facts);
	if (json_array_size(facts) < 2) {
		return;		/* none went, or that is not known */
	}
	conf = nccl_conf_read(s->sysroot, 0);
	nccl_conf_int(conf, "NCCL_IB_RETRY_CNT", 1, 7, &retries, &source);
	nccl_conf_int(conf, "NCCL_IB_TIMEOUT", 0, 31, &timeout, &source);
	if (timeout > 0) {	/* else it waits for ever */
		facts_addf(facts, "node", SELF_IB_WINDOW, "s", source, "%.1f",
			   4.096e-6 * (double)(INT64_C(1) << timeout) *
				   (double)retries);
	}
	json_decref(conf);
}

int self_host_child(const struct node_args *args, struct err *e)
{
	json_t *facts = json_array();
	const struct spec *spec = &args->spec;
	struct utsname u;
	struct port *ports;
	size_t n;

	(void)e;
	if (uname(&u) == 0) {
		facts_add(facts, "node", "kernel", u.release, "", "uname");
	}
	add_interfaces(spec, facts);
	node_task_facts(facts);
	ports = calloc(PORT_MAX, sizeof(*ports));
	n = ports ? port_list(spec->sysroot, ports, PORT_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		if (port_matches(spec->hca, ports[i].name)) {
			port_facts(&ports[i], facts);
		}
	}
	free(ports);
	node_task_facts(facts);
	node_facts(spec->sysroot, facts);
	bond_facts(spec->sysroot, facts);
	node_task_facts(facts);
	add_links_away(spec, facts);
	node_task_facts(facts);
	json_decref(facts);
	return 0;
}

/* ---- gpus ---------------------------------------------------------------- */

#define CONF_MAX (4 << 20)

struct self_gpus {
	const struct nvml *nvml;	/* NULL: there is none */
	const char *state;		/* SELF_NVML_.. or "ok" */
	char why[160];
	const char *source;
	struct self_gpu list[GPU_LIST_MAX];
	size_t n;
};

/* ---- GPUs of the node ---------------------------------------------------- */

/** List the GPUs, but those that a cgroup hides. */
static int list_by_nvml(struct self_gpus *s)
{
	unsigned int count = 0, celsius;
	int rc = s->nvml->nvmlInit_v2();

	if (rc == NVML_SUCCESS) {
		rc = s->nvml->nvmlDeviceGetCount_v2(&count);
	}
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < count &&
				 s->n < GPU_LIST_MAX; i++) {
		struct self_gpu *g = &s->list[s->n];

		*g = (struct self_gpu){ .index = (int)i };
		g->code = s->nvml->nvmlDeviceGetHandleByIndex_v2(i, &g->dev);
		if (g->code == NVML_SUCCESS) {
			/* a lost GPU may still have a handle, and its name */
			g->code = gpu_id_read(s->nvml, g->dev, &g->id);
			if (g->code == NVML_SUCCESS &&
			    s->nvml->nvmlDeviceGetTemperature) {
				g->code = s->nvml->nvmlDeviceGetTemperature(
					g->dev, NVML_TEMPERATURE_GPU, &celsius);
			}
			if (g->code != NVML_ERROR_GPU_IS_LOST &&
			    g->code != NVML_ERROR_UNKNOWN &&
			    g->code != NVML_ERROR_RESET_WANTED) {
				g->code = NVML_SUCCESS;
			}
			s->n++;
		} else {
			g->dev = NULL;
			s->n += g->code != NVML_ERROR_NO_PERMISSION;
		}
	}
	return rc;
}

static void list_gpus(struct self_gpus *s, const char *root)
{
	struct gpu_list l;
	struct err e = { 0 };
	bool known = false;
	int rc;

	s->nvml = root[0] ? NULL : dl_nvml(&e);
	s->state = root[0] ? "" : SELF_NVML_ABSENT;
	s->source = "nvml";
	STR_COPY(s->why, e.text);
	if (s->nvml) {
		rc = list_by_nvml(s);
		s->state = rc == NVML_SUCCESS		 ? "ok" :
			   rc == NVML_ERROR_OTHER_DRIVER ? SELF_NVML_OTHER :
			   rc == NVML_ERROR_NO_DRIVER	 ? SELF_NVML_NONE :
							   SELF_NVML_FAILED;
		STR_COPY(s->why, rc == NVML_SUCCESS ? "" :
				 s->nvml->nvmlErrorString(rc));
		known = rc == NVML_SUCCESS || rc == NVML_ERROR_NO_DRIVER;
	}
	if (known) {
		return;
	}
	/* as the kernel driver has them: no library, and no health */
	gpu_list_read_proc(&l, root);
	for (size_t i = 0; i < l.n; i++) {
		s->list[i] =
			(struct self_gpu){ .index = (int)i, .id = l.gpus[i] };
	}
	s->n = l.n;
	s->source = "/proc";
}

/* ---- GPUs that Slurm gives ----------------------------------------------- */

static void take_conf(struct slurm_conf_node *c, const char *path)
{
	struct str text = STR_INIT;

	if (str_add_file(&text, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			 CONF_MAX) == 0) {
		slurm_conf_take(c, str_text(&text));
	}
	str_release(&text);
}

/** GPUs that slurm.conf gives this node; 0: none, or there is no such file.
 *  Slurm itself is not asked: a thousand nodes would ask at once. */
static int64_t slurm_gpus(const struct spec *s, const char *node)
{
	static const char *const usual[] = {
		"/run/slurm/conf/slurm.conf", "/etc/slurm/slurm.conf", NULL
	};
	struct slurm_conf_node c = { .node = node };
	const char *path = s->sysroot[0] ? NULL : getenv("SLURM_CONF");
	char file[PATH_MAX];

	for (int i = 0; !path && usual[i]; i++) {
		snprintf(file, sizeof(file), "%.2000s%s", s->sysroot,
			 usual[i]);
		path = access(file, R_OK) == 0 ? file : NULL;
	}
	if (!path) {
		return 0;
	}
	take_conf(&c, path);
	for (size_t i = 0; i < c.n_includes; i++) {
		const char *name = c.includes[i], *slash = strrchr(path, '/');
		char other[PATH_MAX];

		/* beside the file, where it is no whole path */
		snprintf(other, sizeof(other), "%.*s%s",
			 name[0] != '/' && slash ?
				 (int)(slash - path) + 1 : 0, path, name);
		take_conf(&c, other);
	}
	return c.gpus;
}

/* ---- facts --------------------------------------------------------------- */

/** Report the GPUs of the job; returns how many there are. */
static int say_list(const struct self_gpus *s, json_t *facts)
{
	char scope[16];
	int n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct self_gpu *g = &s->list[i];

		if (!g->taken) {
			continue;
		}
		n++;
		snprintf(scope, sizeof(scope), "gpu%d", g->index);
		facts_add(facts, scope, "uuid", g->id.uuid, "", s->source);
		facts_add(facts, scope, "name", g->id.name, "", s->source);
		facts_add(facts, scope, "bus", g->id.bus, "", s->source);
		if (g->code != NVML_SUCCESS) {
			facts_add(facts, scope, SELF_LOST,
				  s->nvml->nvmlErrorString(g->code), "",
				  s->source);
		}
	}
	node_task_facts(facts);
	return n;
}

/** @taken: how many are the job's. */
static void say_expected(const struct spec *spec, const struct self_gpus *s,
			 const struct self_share *share, int64_t slurm,
			 int taken, json_t *facts)
{
	bool job = share->source;	/* what others have is not asked */
	int64_t n = job ? share->wanted :
		    spec->expect_gpus ? spec->expect_gpus : slurm;
	bool matters = n > 0 || taken > 0;

	if (n > 0) {
		facts_addf(facts, "node", INFO_EXPECTED, "",
			   job ? share->source :
			   spec->expect_gpus ? "--expect-gpus" : "slurm.conf",
			   "%" PRId64, n);
	}
	if (matters && s->state[0]) {
		facts_add(facts, "node", SELF_NVML, s->state, "",
			  "libnvidia-ml");
		if (s->why[0]) {
			facts_add(facts, "node", "gpu_note", s->why, "",
				  "libnvidia-ml");
		}
	}
	node_task_facts(facts);
}

static void say_health(const struct self_gpus *s, json_t *facts)
{
	bool prolog = getenv("SLURM_JOB_ID") && !getenv("SLURM_PROCID");
	struct gpu_holders by;
	char scope[16];
	bool taken = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct self_gpu *g = &s->list[i];

		if (g->taken && g->dev && g->code == NVML_SUCCESS) {
			snprintf(scope, sizeof(scope), "gpu%d", g->index);
			gpu_health_facts(s->nvml, g->dev, scope, facts);
			gpu_fabric_facts(s->nvml, g->dev, scope, facts);
			taken = true;
			node_task_facts(facts);
		}
	}
	if (taken) {
		node_fabric_facts(s->nvml, facts);
		node_task_facts(facts);
	}
	/* last, as the name of a user is asked of the directory service */
	for (size_t i = 0; i < s->n; i++) {
		const struct self_gpu *g = &s->list[i];

		if (!g->taken || !g->dev || g->code != NVML_SUCCESS) {
			continue;
		}
		gpu_holders(g->id.uuid, false, &by);
		snprintf(scope, sizeof(scope), "gpu%d", g->index);
		/* a process of a job is expected outside a prolog; one of no
		 * job never is */
		if (by.n > 0 && (prolog || strcmp(by.code, GPU_BUSY) == 0)) {
			facts_add(facts, scope, by.code, by.words, "", "nvml");
		}
		node_task_facts(facts);
	}
}

int self_gpus_child(const struct node_args *args, struct err *e)
{
	const struct spec *spec = &args->spec;
	const char *visible = getenv(CUDA_VISIBLE);
	const char *of_job = getenv("SLURM_JOB_GPUS");
	bool in_job = getenv("SLURM_JOB_ID") && !spec->sysroot[0];
	struct self_gpus *s = calloc(1, sizeof(*s));
	json_t *facts = json_array();
	struct self_share share;
	int64_t slurm = 0;
	int taken;

	if (!s || !facts) {
		json_decref(facts);
		free(s);
		return err_set(e, ENOMEM, "no memory to look at GPUs");
	}
	/* where Slurm gives out no GPUs, a job has its node's */
	if (in_job && !visible && !of_job) {
		slurm = slurm_gpus(spec, args->node);
		in_job = slurm > 0;
	}
	list_gpus(s, spec->sysroot);
	self_share_find(visible, of_job, in_job, s->list, s->n, &share);
	taken = say_list(s, facts);
	if (share.all && !spec->expect_gpus && !getenv("SLURM_JOB_ID")) {
		slurm = slurm_gpus(spec, args->node);
	}
	say_expected(spec, s, &share, slurm, taken, facts);
	if (s->nvml) {
		say_health(s, facts);
	}
	json_decref(facts);
	free(s);
	return 0;
}

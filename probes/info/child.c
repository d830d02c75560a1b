/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/order.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "probes/dl/nccl.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"
#include "probes/plan/layout.h"

/* ---- record -------------------------------------------------------------- */

#define HCA  "/sys/class/infiniband/*/"
#define PORT HCA "ports/*/"
#define MODULE(name) "/sys/module/" name "/version"
#define PCI  "/sys/bus/pci/devices/%s"

/* Below the root; what is not there, or empty, is left out. */
static const char *const files[] = {
	"/proc/driver/nvidia/version",
	MODULE("nvidia"), MODULE("nvidia_peermem"), MODULE("mlx5_core"),
	MODULE("gdrdrv"),
	HCA "fw_ver", HCA "board_id", HCA "hca_type",
	PORT "state", PORT "phys_state", PORT "link_layer", PORT "rate",
	PORT "pkeys/0", PORT "gid_attrs/ndevs/*", PORT "gid_attrs/types/*",
	"/sys/class/net/*/bonding_slave/ad_*_oper_port_state",
	NULL
};
/* Devices: only their names are recorded. */
static const char *const names[] = {
	"/dev/nvidia-caps-imex-channels/*", NULL
};
/* Processes whose presence is a fact. */
static const char *const services[] = {
	"nvidia-imex", "nvidia-cuda-mps", "nv-fabricmanage", NULL
};
static const char *const links[] = {
	"/sys/class/infiniband/*", HCA "device", "/sys/class/net/*",
	"/sys/class/net/*/master", NULL
};
static const char *const of_device[] = {
	"numa_node", "current_link_speed", "current_link_width",
	"max_link_speed", "max_link_width", NULL
};
/* Files of the bridges above a device, from which NCCL makes its tree. */
static const char *const of_bridge[] = {
	"numa_node", "max_link_speed", "max_link_width", "vendor", "device",
	"subsystem_vendor", "subsystem_device", NULL
};
#define BRIDGES 7
/* Lines of /proc/cpuinfo that tell the kind of CPU, and of bonds without an
 * address. */
static const char *const of_lines[] = {
	"vendor_id", "cpu family", "model\t", "CPU implementer", "cpu\t",
	"Bonding Mode", "Slave Interface", "MII Status", "Aggregator ID", NULL
};

/* Settings of slurm.conf to report; others contain host names, users and
 * keys. */
static const char *const slurm_settings[] = {
	"GresTypes", "LaunchParameters", "MpiDefault", "ProctrackType",
	"PropagateResourceLimits", "PropagateResourceLimitsExcept",
	"SelectType", "SelectTypeParameters", "TaskPlugin", "TopologyPlugin",
	NULL
};

/* Settings of nccl.conf to report; others contain files, addresses and
 * plugins. */
static const char *const nccl_settings[] = {
	"NCCL_ALGO", "NCCL_CROSS_NIC", "NCCL_DMABUF_ENABLE",
	"NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_DISABLE",
	"NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_MERGE_NICS",
	"NCCL_IB_MERGE_VFS", "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_PKEY",
	"NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_RETRY_CNT",
	"NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_SL", "NCCL_IB_SPLIT_DATA_ON_QPS",
	"NCCL_IB_TC", "NCCL_IB_TIMEOUT", "NCCL_MNNVL_ENABLE", "NCCL_NET",
	"NCCL_NET_GDR_C2C", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ",
	"NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_PROTO",
	"NCCL_PXN_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_FAMILY",
	"NCCL_SOCKET_IFNAME", NULL
};

struct recording {
	const char *root;
	char real[PATH_MAX];	/* the same without links; "" = / */
	json_t *lines;		/* of each path */
};

/** Where @path really is, below the root and without its first '/'; NULL: not
 *  below it.  Of a link, which stays one, its folder is resolved. */
static const char *place(const struct recording *r, const char *path, bool link,
			 char real[PATH_MAX])
{
	char folder[PATH_MAX];
	const char *last = strrchr(path, '/');
	size_t len = strlen(r->real);

	if (last == NULL) {
		return NULL;
	}
	snprintf(folder, sizeof(folder), "%.*s",
		 link ? (int)(last - path) : (int)strlen(path), path);
	if (realpath(folder, real) == NULL) {
		return NULL;
	}
	if (link && strlen(real) + strlen(last) < PATH_MAX) {
		memcpy(real + strlen(real), last, strlen(last) + 1);
	}
	return strncmp(real, r->real, len) == 0 && real[len] == '/' ?
		       real + len + 1 :
		       NULL;
}

/** A line of "tree": what file @path has, @text, in one line. */
static void keep(struct recording *r, const char *path, const char *text)
{
	struct str line = STR_INIT;

	str_addf(&line, "%s = ", path);
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			str_add(&line, "\\n");
		} else if (*text == '\\') {
			str_add(&line, "\\\\");
		} else {
			str_addch(&line, *text);
		}
	}
	json_object_set_new(r->lines, path, json_text(str_text(&line)));
	str_release(&line);
}

static void record_file(struct recording *r, const char *path)
{
	char text[4096], real[PATH_MAX];
	const char *at = place(r, path, false, real);

	if (at != NULL && sysfile_read(text, sizeof(text), "%s", path) > 0) {
		keep(r, at, text);
	}
}

static void record_name(struct recording *r, const char *path)
{
	char real[PATH_MAX];
	const char *at = place(r, path, true, real);

	if (at != NULL) {
		keep(r, at, "");
	}
}

static void record_link(struct recording *r, const char *path)
{
	char text[PATH_MAX], line[2 * PATH_MAX + 8], real[PATH_MAX];
	const char *at = place(r, path, true, real);
	ssize_t n = at != NULL ? readlink(path, text, sizeof(text) - 1) : -1;

	if (n > 0) {
		text[n] = '\0';
		snprintf(line, sizeof(line), "%s -> %s", at, text);
		json_object_set_new(r->lines, at, json_text(line));
	}
}

static void record_all(struct recording *r, const char *pattern,
		       void (*one)(struct recording *r, const char *path))
{
	char path[PATH_MAX];
	glob_t found;

	snprintf(path, sizeof(path), "%.1500s%.1500s", r->root, pattern);
	if (glob(path, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			one(r, found.gl_pathv[i]);
		}
		globfree(&found);
	}
}

static void record_device(struct recording *r, const char *device)
{
	char path[256];

	record_all(r, device, record_link);
	for (int i = 0; of_device[i] != NULL; i++) {
		snprintf(path, sizeof(path), "%.150s/%s", device, of_device[i]);
		record_all(r, path, record_file);
	}
	for (int up = 1; up <= BRIDGES; up++) {
		for (int i = 0; of_bridge[i] != NULL; i++) {
			snprintf(path, sizeof(path), "%.150s%.*s/%s", device,
				 3 * up, "/../../../../../../..", of_bridge[i]);
			record_all(r, path, record_file);
		}
	}
}

/* Record the lines of @path, which is not followed, that tell the kind of the
 * first CPU, or about a bond. */
static void record_lines(struct recording *r, const char *path)
{
	struct str out = STR_INIT;
	char text[16384];
	const char *at = text;
	size_t len;

	sysfile_read(text, sizeof(text), "%s", path);
	for (; *at != '\0'; at += len + (at[len] == '\n')) {
		len = strcspn(at, "\n");
		if (len == 0 && str_starts(text, "processor")) {
			break;	/* the first of several CPUs */
		}
		for (int i = 0; of_lines[i] != NULL; i++) {
			if (str_starts(at, of_lines[i])) {
				str_addf(&out, "%s%.*s",
					 out.len > 0 ? "\n" : "", (int)len,
					 at);
			}
		}
	}
	if (out.len > 0) {
		keep(r, path + strlen(r->root) + 1, str_text(&out));
	}
	str_release(&out);
}

/* Every HCA's device, as /sys/bus/pci has it. */
static void record_hcas(struct recording *r)
{
	char hcas[64][64], bus[256];
	size_t n = sysfile_list(hcas, 64, "%s/sys/class/infiniband", r->root);

	for (size_t i = 0; i < n; i++) {
		struct pcie_place at;

		pcie_find_hca(r->root, hcas[i], &at);
		if (pcie_bus(&at) != NULL) {
			snprintf(bus, sizeof(bus), PCI, pcie_bus(&at));
			record_device(r, bus);
		}
	}
}

/* ---- settings ------------------------------------------------------------ */

static void record_nccl_conf(struct recording *r)
{
	char name[NCCL_CONF_NAME], value[NCCL_CONF_VALUE], text[16384];
	struct str out = STR_INIT;
	const char *at = text;

	sysfile_read(text, sizeof(text), "%s/etc/nccl.conf", r->root);
	while ((at = nccl_conf_next(at, 0, name, value)) != NULL) {
		for (int i = 0; nccl_settings[i] != NULL; i++) {
			if (strcmp(name, nccl_settings[i]) == 0) {
				str_addf(&out, "%s%s=%s",
					 out.len > 0 ? "\n" : "", name, value);
			}
		}
	}
	if (out.len > 0) {
		keep(r, "etc/nccl.conf", str_text(&out));
	}
	str_release(&out);
}

static void record_slurm_conf(struct recording *r)
{
	static char text[65536];
	struct str out = STR_INIT;
	const char *at = text;
	size_t len, said;

	sysfile_read(text, sizeof(text), "%s/etc/slurm/slurm.conf", r->root);
	for (; *at != '\0'; at += len + (at[len] == '\n')) {
		size_t name = strcspn(at, "= \t\n");

		len = strcspn(at, "\n");
		said = strcspn(at, "#\n");
		while (said > 0 && (at[said - 1] == ' ' ||
				    at[said - 1] == '\t')) {
			said--; /* a comment may have anything in it */
		}
		for (int i = 0; slurm_settings[i] != NULL; i++) {
			const char *s = slurm_settings[i];

			if (strlen(s) == name &&
			    strncasecmp(at, s, name) == 0) {
				str_addf(&out, "%s%.*s",
					 out.len > 0 ? "\n" : "", (int)said,
					 at);
			}
		}
	}
	if (out.len > 0) {
		keep(r, "etc/slurm/slurm.conf", str_text(&out));
	}
	str_release(&out);
}

/* Where it is read without being named, whatever it is called here. */
static void record_topology(struct recording *r)
{
	char *text = topo_file_read(r->root);
	struct str plain = STR_INIT;

	topo_file_plain(text != NULL ? text : "", &plain);
	if (plain.len > 0) {
		plain.data[--plain.len] = '\0';	/* the last line's end */
		keep(r, &TOPO_FILE_USUAL[1], str_text(&plain));
	}
	str_release(&plain);
	free(text);
}

/* ---- writing ------------------------------------------------------------- */

static int write_text(const char *dir, const char *name, const char *text,
		      struct err *e)
{
	char path[PATH_MAX];
	size_t len = strlen(text);
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.3000s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0666);
	if (fd < 0) {
		return err_set(e, errno, "cannot create '%s'", path);
	}
	n = write(fd, text, len);
	if (close(fd) < 0 || n != (ssize_t)len) {
		return err_set(e, n < 0 ? errno : ENOSPC, "cannot write '%s'",
			       path);
	}
	return 0;
}

static int write_answer(const char *dir, struct gpu_list *l,
			const json_t *facts, struct err *e)
{
	json_t *plain = json_array(), *list, *entry;
	char *one, *other;
	struct str text = STR_INIT;
	size_t k;
	int rc;

	json_array_foreach(facts, k, entry) {
		const struct fact f = fact_of(entry);

		if (strcmp(f.source, "rtnetlink") == 0 ||
		    (str_starts(f.scope, "gpu") &&
		     strcmp(f.source, "nvml") == 0 &&
		     strstr(f.fact, "uuid") == NULL &&
		     strstr(f.fact, "serial") == NULL)) {
			json_array_append(plain, entry);
		}
	}
	for (size_t i = 0; i < l->n; i++) {
		snprintf(l->gpus[i].uuid, sizeof(l->gpus[i].uuid),
			 "GPU-%08u-0000-0000-0000-000000000000",
			 (unsigned)i % 100);
	}
	l->why[0] = '\0';
	list = schema_json(gpu_list_fields, l);
	one = json_dumps(list, JSON_COMPACT);
	other = json_dumps(plain, JSON_COMPACT);
	str_addf(&text, "%s\n%s\n", one != NULL ? one : "",
		 other != NULL ? other : "[]");
	rc = write_text(dir, INVENTORY_ANSWER, str_text(&text), e);
	str_release(&text);
	free(one);
	free(other);
	json_decref(list);
	json_decref(plain);
	return rc;
}

static const struct order_key by_text[] = {
	ORDER_ITEM(ORDER_TEXT),
	ORDER_END
};

static int write_tree(const char *dir, const json_t *lines, struct err *e)
{
	size_t n = json_object_size(lines), i = 0;
	const char **all = calloc(n + 1, sizeof(*all)), *path;
	struct str text = STR_INIT;
	json_t *line;
	int rc;

	if (all == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu files", n);
	}
	json_object_foreach((json_t *)lines, path, line) {
		all[i++] = json_string_value(line);
	}
	order_sort(all, n, sizeof(*all), by_text);
	for (i = 0; i < n; i++) {
		str_addf(&text, "%s\n", all[i]);
	}
	rc = write_text(dir, "tree", str_text(&text), e);
	str_release(&text);
	free(all);
	return rc;
}

/* Record this machine, as found below @root ("" = /), into two new files of the
 * new folder @dir: "tree", the files of /sys, /proc and /etc that gpucheck
 * reads, a line each, and INVENTORY_ANSWER.  Which these are is a closed list;
 * nothing in it is secret: of nccl.conf and slurm.conf only settings that have
 * to do with fabrics and GPUs and hold no address, GPUs without their UUIDs, no
 * GID, of NCCL's topology file what topo_file_plain() leaves.  The driver is
 * asked until @deadline_ns.  0, or -1 with @e. */
static int record_machine(const char *root, const char *dir,
			  int64_t deadline_ns, struct err *e)
{
	struct recording r = { .root = root, .lines = json_object() };
	json_t *facts = json_array();
	struct gpu_list *l = calloc(1, sizeof(*l));
	char path[128];
	int rc = -1;

	if (l == NULL || r.lines == NULL || facts == NULL) {
		err_set(e, ENOMEM, "no memory to record the machine");
		goto release;
	}
	if (mkdir(dir, 0777) < 0 ||
	    (root[0] != '\0' && realpath(root, r.real) == NULL)) {
		err_set(e, errno, "cannot record '%s' in the new folder '%s'",
			root[0] != '\0' ? root : "/", dir);
		goto release;
	}
	/* without a driver there are no GPUs, which is worth recording */
	inventory_ask_gpus(root, l, facts, deadline_ns, NULL);
	for (int i = 0; links[i] != NULL; i++) {
		record_all(&r, links[i], record_link);
	}
	for (int i = 0; files[i] != NULL; i++) {
		record_all(&r, files[i], record_file);
	}
	for (int i = 0; names[i] != NULL; i++) {
		record_all(&r, names[i], record_name);
	}
	record_all(&r, "/proc/cpuinfo", record_lines);
	record_all(&r, "/proc/net/bonding/[!.]*", record_lines);
	for (int i = 0; services[i] != NULL; i++) {
		long pid = process_find(root, services[i]);

		snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
		if (pid > 0) {
			record_all(&r, path, record_file);
		}
	}
	record_hcas(&r);
	for (size_t i = 0; i < l->n; i++) {
		snprintf(path, sizeof(path), PCI, l->gpus[i].bus);
		record_device(&r, path);
	}
	record_nccl_conf(&r);
	record_slurm_conf(&r);
	record_topology(&r);
	rc = write_tree(dir, r.lines, e) < 0 ||
			     write_answer(dir, l, facts, e) < 0 ? -1 : 0;
release:
	json_decref(r.lines);
	json_decref(facts);
	free(l);
	return rc;
}

/* ---- child --------------------------------------------------------------- */

#define TORCH_NS (5 * NS_PER_S)

/** Report a library that workers load and agents do not. */
static void say_library(const json_t *all, const char *name)
{
	const json_t *library = json_object_get(all, name);
	char fact[32], why[32];

	snprintf(fact, sizeof(fact), "%s_version", name);
	if (json_is_object(library)) {
		const char *version = json_member(library, "version");
		const char *path = json_member(library, "path");
		const char *in = json_member(library, "in");
		const char *also = json_member(library, "also");

		node_task_fact(name, fact, path, "%s",
			       version[0] ? version : "unknown");
		snprintf(fact, sizeof(fact), "%s_lib", name);
		node_task_fact(name, fact, "dlopen", "%s", path);
		if (in[0]) {
			snprintf(fact, sizeof(fact), "%s_in", name);
			node_task_fact(name, fact, "dlopen", "%s", in);
		}
		if (also[0]) {
			snprintf(fact, sizeof(fact), "%s_also", name);
			node_task_fact(name, fact, "glob", "%s", also);
		}
	} else {
		snprintf(why, sizeof(why), "%s_why", name);
		node_task_fact(name, fact, "dlopen", INFO_NONE);
		snprintf(fact, sizeof(fact), "%s_note", name);
		node_task_fact(name, fact, "dlopen", "%s",
			       json_member(all, why));
	}
}

#define NVCC_NS	 (2 * NS_PER_S)
#define NVCC_MAX 4096

/** Report the version of the CUDA compiler if there is one, in PATH or where
 *  CUDA installs it: "..., release 13.0, V13.0.88". */
static void say_nvcc(void)
{
	static const char *const places[] = {
		"nvcc", "/usr/local/cuda/bin/nvcc"
	};
	char *argv[] = { NULL, (char *)"--version", NULL };

	for (int i = 0; i < 2; i++) {
		struct str out = STR_INIT;
		struct spawn_status st;
		const char *at = NULL;

		argv[0] = (char *)places[i];
		if (spawn_capture(argv, &out, NULL, NVCC_MAX,
				  clock_now_ns() + NVCC_NS, &st, NULL) == 0) {
			at = strstr(str_text(&out), ", V");
		}
		if (at) {
			at += strlen(", V");
			node_task_fact("node", "nvcc", places[i], "%.*s",
				       (int)strspn(at, "0123456789."), at);
		}
		str_release(&out);
		if (at) {
			return;
		}
	}
}

#define DRIVER_NS (10 * NS_PER_S)

/** Report for each GPU its NICs, their path and rail, as NCCL chooses. */
static void say_nics(const json_t *inventory)
{
	int n = (int)json_array_size(inventory_seen(inventory).gpus);
	struct affinity a = { 0 };
	int slots[SPEC_MAX_GPUS];
	struct layout l;

	if (n == 0 || n > SPEC_MAX_GPUS || layout_init(&l, 1) < 0) {
		return;
	}
	l.nodes[0].gpus = n;
	for (int g = 0; g < n; g++) {
		slots[g] = g;
	}
	if (layout_number(&l) < 0) {
		return;
	}
	if (affinity_init(&a, n) == 0) {
		affinity_add_inventory(&a, inventory, slots, NULL);
		affinity_apply(&l, &a);
	}
	for (int g = 0; l.nic_names != NULL && g < n; g++) {
		char scope[32], name[LAYOUT_NIC];
		struct affinity_pick p;

		affinity_pick(&a, g, false, &p);
		snprintf(scope, sizeof(scope), "gpu%d", g);
		if (p.n_near > 0) {
			node_task_fact(scope, "nic", "NCCL's rule",
				       "%s %s %.3g GB/s, rail %d",
				       layout_nic(&l, g, name),
				       affinity_way_names[p.path.way],
				       p.path.GB_s, l.ranks[g].nic);
		}
	}
	affinity_release(&a);
	layout_release(&l);
}

/** Report the layout of this node, read below @root, and what tools say. */
static void say_layout(const char *root)
{
	struct port *ports = calloc(PORT_MAX, sizeof(*ports));
	json_t *inventory = json_object(), *facts = json_array();
	size_t n;

	if (ports != NULL) {
		inventory_read(inventory, root, clock_now_ns() + DRIVER_NS,
			       ports, &n, NULL);
		say_nics(inventory);
		tools_facts(root, ports, n, clock_now_ns() + TOOLS_NS, facts);
		node_task_facts(facts);
	}
	json_decref(facts);
	json_decref(inventory);
	free(ports);
}

#define RECORD_NS (30 * NS_PER_S)

int info_child(const struct node_args *args, struct err *e)
{
	struct info_row row = { .outcome = OUTCOME_OK };
	json_t *libraries, *facts = json_array();
	struct nccl_torch_look torch;
	const struct spec *spec = &args->spec;
	char root[PATH_MAX], dir[PATH_MAX];
	struct err why = { 0 };
	bool looks;
	int rc;

	clock_utc(row.start_utc);
	(void)e;
	STR_COPY(row.node, args->node);
	node_task_expected(spec);
	looks = nccl_torch_begin(&torch, NULL) == 0;
	if (spec->record[0] != '\0') {
		/* into the folder of the node, whose name must not lead out of
		 * it */
		sysfile_root(spec->sysroot, args->node, root, sizeof(root));
		snprintf(dir, sizeof(dir), "%.2000s/%.64s", spec->record,
			 args->node);
		rc = args->node[strspn(args->node, HOSTLIST_NAME_CHARS)] ||
				     !isalnum((unsigned char)args->node[0]) ?
			     err_set(&why, 0,
				     "'%.64s' is not the name of a folder",
				     args->node) :
			     record_machine(root, dir,
					    clock_now_ns() + RECORD_NS, &why);
		node_task_fact("node", "recorded", "--record", "%s",
			       rc == 0 ? dir : INFO_NONE);
		if (rc < 0) {
			node_task_fact("node", "recorded_note", "--record",
				       "%s", why.text);
		}
	}
	libraries = probes_libraries();
	say_library(libraries, "nccl");
	say_library(libraries, "pmi2");
	json_decref(libraries);
	say_nvcc();
	sysfile_root(spec->sysroot, args->node, root, sizeof(root));
	say_layout(root);
	if (looks) {	/* the NCCL of PyTorch may be another one */
		torch_facts(&torch, clock_now_ns() + TORCH_NS, facts);
		node_task_facts(facts);
	}
	json_decref(facts);
	node_task_row(&schema_info, &row);
	return 0;
}

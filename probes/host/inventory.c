/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/host/facts.h"
#include "probes/host/gpu_pci.h"
#include "probes/host/gpu_state.h"
#include "probes/host/pcie.h"

#define CHILD_MAX_BYTES (1024 * 1024)
#define CHILD_MAX_FACTS 8192
/* Of a driver that is loaded it takes 40 ms. */
#define SLOW_INIT_NS	NS_PER_S

/*
 * Two lines: which GPUs there are, then what is known of them.  A driver that
 * hangs over the second has not taken the first with it.
 */
int inventory_child_main(void)
{
	const struct nvml *nvml = dl_nvml(NULL);
	json_t *json, *facts = json_array();
	int64_t began_ns = clock_now_ns(), took_ns = 0;
	struct gpu_list list;
	bool said;

	/* it counts users; the first takes 40 ms, and so would each again */
	if (nvml != NULL) {
		nvml->nvmlInit_v2();	/* who needs it looks for itself */
		took_ns = clock_now_ns() - began_ns;
	}
	gpu_list_ask_driver(&list);
	json = gpu_list_json(&list);
	said = json_dumpfd(json, STDOUT_FILENO, JSON_COMPACT) == 0 &&
	       write(STDOUT_FILENO, "\n", 1) == 1;
	if (took_ns >= SLOW_INIT_NS) {
		facts_addf(facts, "node", "nvml_init", "s", "nvml", "%.1f",
			   (double)took_ns / 1e9);
	}
	libraries_facts(facts);
	gpu_xid_facts(&list, facts);
	gpu_state_facts(&list, facts);
	said = said && json_dumpfd(facts, STDOUT_FILENO, JSON_COMPACT) == 0;
	json_decref(json);
	json_decref(facts);
	return said ? 0 : 3;
}

/* Facts as the child prints them, one by one. */
static void take_facts(const char *text, size_t len, json_t *facts)
{
	json_t *json = json_loadb(text, len, 0, NULL), *f;
	char value[5][160];
	size_t i;

	if (json_array_size(json) <= CHILD_MAX_FACTS) {
		json_array_foreach(json, i, f) {
			static const char *const keys[] = {
				"scope", "fact", "value", "unit", "source",
			};
			int rc = 0;

			for (int k = 0; k < 5 && rc == 0; k++) {
				rc = json_get_text(f, keys[k], value[k],
						   sizeof(value[k]), NULL);
			}
			if (rc == 0) {
				facts_add(facts, value[0], value[1], value[2],
					  value[3], value[4]);
			}
		}
	}
	json_decref(json);
}

/* The two lines of the child; -1 with @e when there is not even the first. */
static int take_lines(const struct str *out, struct gpu_list *l, json_t *facts,
		      struct err *e)
{
	const char *text = str_text(out), *line = memchr(text, '\n', out->len);
	json_t *json;
	int rc;

	if (line == NULL) {
		return err_set(e, EPROTO, "the list of GPUs is empty");
	}
	json = json_parse(text, (size_t)(line - text), e);
	rc = json != NULL ? gpu_list_parse(json, l, e) : -1;
	json_decref(json);
	line++;
	if (rc == 0) {
		take_facts(line, out->len - (size_t)(line - text), facts);
	}
	return rc;
}

/* What the child said on the machine that was recorded below @root; -1: it is
 * none, or its answer cannot be read. */
static int take_recorded(const char *root, struct gpu_list *l, json_t *facts)
{
	struct str out = STR_INIT;
	char path[PATH_MAX];
	int rc;

	if (root[0] == '\0') {
		return -1;
	}
	snprintf(path, sizeof(path), "%.2000s/" INVENTORY_ANSWER, root);
	rc = str_add_file(&out, open(path, O_RDONLY | O_CLOEXEC),
			  CHILD_MAX_BYTES) == 0 ?
		     take_lines(&out, l, facts, NULL) :
		     -1;
	str_release(&out);
	return rc;
}

int inventory_ask_gpus(const char *root, struct gpu_list *l, json_t *facts,
		       int64_t deadline_ns, struct err *e)
{
	char self[PATH_MAX], text[96];
	char *const argv[] = { self, (char *)"worker", (char *)"inventory",
			       NULL };
	struct str out = STR_INIT;
	struct spawn_status st;
	int rc = -1;

	if (take_recorded(root, l, facts) == 0) {
		return 0;
	}
	if (spawn_self(self, sizeof(self), e) == 0 &&
	    spawn_capture(argv, &out, NULL, CHILD_MAX_BYTES, deadline_ns, &st,
			  e) == 0) {
		rc = take_lines(&out, l, facts, NULL);
		if (st.exit_code != 0) {
			err_set(e, st.timed_out ? ETIMEDOUT : EIO,
				"the process that lists the GPUs failed: %s%s",
				spawn_status_text(&st, text, sizeof(text)),
				st.timed_out ? " (the driver hangs, or takes "
					       "long to start as persistence "
					       "mode is off)" : "");
		} else if (rc < 0) {
			err_set(e, EPROTO, "the GPU driver's list of GPUs "
					   "cannot be read");
		}
		if (rc == 0 && st.exit_code != 0) {
			STR_COPY(l->why, e != NULL ? e->text : "");
		}
	}
	str_release(&out);
	return rc;
}

static void write_gpus(json_t *out, const struct gpu_list *l)
{
	json_t *gpus = json_array(), *facts = json_object_get(out, "facts");
	const char *shows = getenv(CUDA_VISIBLE);
	int64_t divided = 0, hidden;

	for (size_t i = 0; i < l->n; i++) {
		const struct gpu_id *gpu = &l->gpus[i];
		char scope[32];

		snprintf(scope, sizeof(scope), "gpu%zu", i);
		divided += gpu->divided;
		if (gpu->hidden) {
			facts_addf(facts, "node", "gpu_hidden", "",
				   gpu->divided ? "MIG" : CUDA_VISIBLE,
				   "%s %s %s", gpu->uuid, gpu->bus, gpu->name);
			continue;
		}
		json_array_append_new(
			gpus, json_pack("{s:I,s:s,s:s,s:s}", "index",
					(json_int_t)i, "uuid", gpu->uuid,
					"bus", gpu->bus, "name", gpu->name));
		facts_add(facts, scope, "uuid", gpu->uuid, "", l->source);
		facts_add(facts, scope, "bus", gpu->bus, "", l->source);
		facts_add(facts, scope, "name", gpu->name, "", l->source);
	}
	json_object_set_new(out, "gpus", gpus);
	json_object_set_new(out, "gpu_source", json_string(l->source));
	hidden = (int64_t)(l->n - gpu_list_visible(l));
	facts_addf(facts, "node", "gpus_hidden", "", l->source, "%lld",
		   (long long)hidden);
	json_object_set_new(out, "gpus_divided", json_integer(divided));
	json_object_set_new(out, "gpus_hidden", json_integer(hidden - divided));
	json_object_set_new(out, "gpu_note", json_text(l->why));
	if (shows != NULL) {
		json_object_set_new(out, "gpus_shown", json_text(shows));
		facts_add(facts, "node", CUDA_VISIBLE, shows, "",
			  "environment");
	}
	if (l->why[0] != '\0') {
		facts_add(facts, "node", "gpu_note", l->why, "", l->source);
	}
}

/* The GPU driver is asked by a process that takes its time to start: meanwhile
 * the rest is read. */
struct ask {
	const char *root;
	struct gpu_list list;
	json_t *facts;
	int64_t deadline_ns;
	struct err why;
	int rc;
};

static void *ask_gpus(void *arg)
{
	struct ask *a = arg;

	a->rc = inventory_ask_gpus(a->root, &a->list, a->facts, a->deadline_ns,
				   &a->why);
	return NULL;
}

int inventory_read(json_t *out, const char *root, int64_t deadline_ns,
		   struct port ports[PORT_MAX], size_t *n_ports, struct err *e)
{
	struct ask a = {
		.root = root, .facts = json_array(), .deadline_ns = deadline_ns,
	};
	json_t *facts;
	pthread_t thread;
	bool beside = pthread_create(&thread, NULL, ask_gpus, &a) == 0;

	*n_ports = inventory_read_host(out, root, ports);
	if (beside) {
		pthread_join(thread, NULL);
	} else {
		ask_gpus(&a);
	}
	facts = json_object_get(out, "facts");
	json_array_extend(facts, a.facts);
	json_decref(a.facts);
	if (a.rc < 0) {
		gpu_list_read_proc(&a.list, "");
		gpu_list_apply_visible(&a.list, getenv(CUDA_VISIBLE));
		STR_COPY(a.list.why, a.why.text);
		if (e != NULL) {
			*e = a.why;
		}
	}
	write_gpus(out, &a.list);
	pcie_facts(root, json_object_get(out, "gpus"), facts);
	gpu_pci_facts(root, json_object_get(out, "gpus"), facts);
	return a.rc;
}

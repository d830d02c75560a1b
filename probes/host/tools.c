/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of tools that may be installed and know what /sys does not: mlxlink the
 * transceivers and bit errors of NVIDIA's HCAs, rdma_topo the PCIe settings of
 * platforms with a direct path between GPU and NIC.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/host/inventory.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

/* ---- mlxlink ------------------------------------------------------------- */

#define MODULE	 "Module Info"
#define COUNTERS "Physical Counters and BER Info"
#define STATE	 "Operational Info"

static const struct {
	const char *section, *key, *fact, *unit;
} said[] = {
	{ MODULE, "Vendor Part Number", "module", "" },
	{ MODULE, "Temperature [C]", "module_temp", "C" },
	{ MODULE, "Tx Power Current [dBm]", "module_tx_power", "dBm" },
	{ MODULE, "Rx Power Current [dBm]", "module_rx_power", "dBm" },
	{ STATE, "FEC", "fec", "" },
	{ COUNTERS, "Raw Physical BER", "raw_ber", "" },
	{ COUNTERS, "Effective Physical BER", "effective_ber", "" },
	{ COUNTERS, "Effective Physical Errors", "effective_errors", "" },
};

/* Values of the module, one a lane, with the range that it allows. */
static const char *const ranged[] = {
	"Temperature [C]", "Voltage [mV]", "Bias Current [mA]",
	"Tx Power Current [dBm]", "Rx Power Current [dBm]",
};

/* Faults that the module reports itself, some of them of each lane. */
static const char *const faults[] = {
	"Module FW Fault", "DataPath FW Fault", "Tx Fault [per lane]",
	"Tx LOS [per lane]", "Rx LOS [per lane]", "Tx CDR LOL [per lane]",
	"Rx CDR LOL [per lane]",
};

#define N(list) (sizeof(list) / sizeof((list)[0]))

static const char *text_of(json_t *output, const char *section,
			   const char *key)
{
	const char *text = "";

	json_unpack(output, "{s:{s:s}}", section, key, &text);
	return strcmp(text, "N/A") != 0 ? text : "";
}

/* Add to @out the values of "61,62 [-10..80]" that are out of the range. */
static void add_outside(const char *key, const char *text, struct str *out)
{
	const char *at = strchr(text, '['), *unit = strchr(key, '[');
	const char *to = at != NULL ? strstr(at, "..") : NULL;
	double low, high;
	char *end;

	if (to == NULL) {
		return;
	}
	low = strtod(at + 1, &end);
	high = strtod(to + 2, &end);
	for (int lane = 0; text < at; lane++) {
		const double value = strtod(text, &end);

		if (end == text) {
			return;		/* N/A */
		}
		if (value < low || value > high) {
			str_addf(out, "%s%.*sof lane %d is %g %.*s, not %g to "
				 "%g", out->len ? "; " : "", (int)(unit - key),
				 key, lane, value, (int)strlen(unit) - 2,
				 unit + 1, low, high);
		}
		text = end + (*end == ',');
		if (*end != ',') {
			return;
		}
	}
}

/* Add to @out the faults that the module of @output has. */
static void add_faults(json_t *output, struct str *out)
{
	for (size_t i = 0; i < N(faults); i++) {
		json_t *lanes = NULL, *lane;
		bool set = strcmp(text_of(output, MODULE, faults[i]), "1") == 0;
		size_t k;

		json_unpack(output, "{s:{s:{s:o}}}", MODULE, faults[i],
			    "values", &lanes);
		json_array_foreach(lanes, k, lane) {
			const char *word = json_string_value(lane);

			set = set || (word != NULL && strcmp(word, "1") == 0);
		}
		if (set) {
			str_addf(out, "%s%s", out->len ? "; " : "", faults[i]);
		}
	}
}

int mlxlink_parse(const char *text, size_t len, const struct port *p,
		  json_t *facts)
{
	json_t *json = json_parse(text, len, NULL), *output = NULL;
	struct str alarm = STR_INIT;
	int rc;

	if (json != NULL) {
		json_unpack(json, "{s:{s:o}}", "result", "output", &output);
	}
	rc = json_is_object(output) ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < N(said); i++) {
		const char *value = text_of(output, said[i].section,
					    said[i].key);
		/* without the range that follows it */
		const int n = (int)strcspn(value, "[");

		/* what /sys has already is not said twice */
		if (n > 0 &&
		    (strcmp(said[i].fact, "fec") != 0 || p->fec[0] == '\0') &&
		    (strcmp(said[i].fact, "module_temp") != 0 ||
		     p->module_C <= 0)) {
			facts_addf(facts, p->name, said[i].fact, said[i].unit,
				   "mlxlink", "%.*s",
				   n > 1 && value[n - 1] == ' ' ? n - 1 : n,
				   value);
		}
	}
	/* a port without a link has no light */
	if (rc == 0 &&
	    strcmp(text_of(output, STATE, "State"), "Active") == 0) {
		for (size_t i = 0; i < N(ranged); i++) {
			add_outside(ranged[i],
				    text_of(output, MODULE, ranged[i]), &alarm);
		}
		add_faults(output, &alarm);
	}
	if (alarm.len > 0) {
		facts_add(facts, p->name, "module_alarm", str_text(&alarm), "",
			  "mlxlink");
	}
	str_release(&alarm);
	json_decref(json);
	return rc;
}

/* ---- rdma_topo ----------------------------------------------------------- */

#define TOPO_RIGHT  "OK\tACS for "
#define TOPO_WRONG  "FAIL\tACS for "
#define TOPO_UNREAD "FAIL\tCould not read ACS"

void rdma_topo_parse(const char *text, json_t *facts)
{
	struct str wrong = STR_INIT;
	size_t right = 0, unread = 0;

	for (const char *line = text; *line != '\0';) {
		const int n = (int)strcspn(line, "\n");

		right += str_starts(line, TOPO_RIGHT);
		unread += str_starts(line, TOPO_UNREAD);
		if (str_starts(line, TOPO_WRONG)) {
			str_addf(&wrong, "%s%.*s", wrong.len ? "; " : "",
				 n - (int)strlen(TOPO_WRONG),
				 line + strlen(TOPO_WRONG));
		}
		line += n + (line[n] == '\n');
	}
	/* what cannot be read, as without root, is not wrong */
	if (wrong.len > 0 || (right > 0 && unread == 0)) {
		facts_add(facts, "node", "acs_check",
			  wrong.len > 0 ? "wrong" : "right", "", "rdma_topo");
	}
	if (wrong.len > 0) {
		facts_add(facts, "node", "acs_wrong", str_text(&wrong), "",
			  "rdma_topo");
	}
	str_release(&wrong);
}

/* ---- the tools ----------------------------------------------------------- */

#define TOOL_MAX (256 * 1024)
#define WORDS	 9

/* Return true if this user may ask port @p; mlxlink goes through the space of
 * its PCI function. */
static bool may_ask(const struct port *p)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%.64s/device/config", p->hca);
	return spawn_find("mlxlink", NULL, 0) && access(path, W_OK) == 0;
}

void tools_facts(const char *root, const struct port *ports, size_t n,
		 int64_t deadline_ns, json_t *facts)
{
	static char *const topo[] = { (char *)"rdma_topo", (char *)"check",
				      NULL };
	struct gather *list = calloc(n + 1, sizeof(*list));
	char *argv[PORT_MAX][WORDS], number[PORT_MAX][12], path[PATH_MAX];
	size_t at[PORT_MAX + 1], k = 0;	/* the port of each child; n: none */

	for (size_t i = 0; list != NULL && i <= n; i++) {
		char *const words[WORDS] = {
			(char *)"mlxlink", (char *)"-d",
			i < n ? (char *)ports[i].hca : NULL, (char *)"-p",
			i < n ? number[i] : NULL, (char *)"-m", (char *)"-c",
			(char *)"--json", NULL
		};

		snprintf(path, sizeof(path), "%.2000s/%s/%s", root,
			 i < n ? words[0] : topo[0],
			 i < n ? ports[i].name : topo[1]);
		at[k] = i;
		if (root[0] != '\0') {	/* a recorded machine */
			str_add_file(&list[k++].out,
				     open(path, O_RDONLY | O_CLOEXEC),
				     TOOL_MAX);
		} else if (i < n && may_ask(&ports[i])) {
			snprintf(number[i], sizeof(number[i]), "%d",
				 ports[i].number);
			memcpy(argv[k], words, sizeof(words));
			list[k].argv = argv[k];
			k++;
		} else if (i == n && spawn_find(topo[0], NULL, 0)) {
			list[k++].argv = topo;
		}
	}
	if (root[0] == '\0') {
		gather(list, k, TOOL_MAX, deadline_ns);
	}
	for (size_t i = 0; i < k; i++) {
		if (at[i] < n) {
			mlxlink_parse(str_text(&list[i].out), list[i].out.len,
				      &ports[at[i]], facts);
		} else {
			rdma_topo_parse(str_text(&list[i].out), facts);
		}
		str_release(&list[i].out);
	}
	free(list);
}

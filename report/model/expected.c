/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/grow.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

const char *const ceiling_path_names[CEILING_PATHS + 1] = {
	[CEILING_NVLINK] = "nvlink",
	[CEILING_RING] = "network_ring",
	[CEILING_TREE] = "network_tree",
	[CEILING_SHARP] = "network_sharp",
	[CEILING_DIRECT] = "network_direct",
};

int machine_rails_parse(const char *text, int *rails, double *GB_s)
{
	char *end;
	long n = strtol(text, &end, 10);
	double rate;

	if (end == text || *end != 'x' || n < 1 || n > MACHINE_RAILS_MAX ||
	    end[1] < '0' || end[1] > '9') {
		return -1;
	}
	rate = strtod(end + 1, &end);
	if (strcmp(end, "G") != 0 || !(rate > 0) || rate > MACHINE_RATE_MAX) {
		return -1;
	}
	*rails = (int)n;
	*GB_s = rate / 8;
	return 0;
}

/* ---- expected ini -------------------------------------------------------- */

/* The text of expected.ini. */

#define MAX_LINE_GB_S 1e6

/** data/expected.ini as text, part of the program. */
EMBED_TEXT(expected_text, "data/expected.ini");

static struct expected_line *section(struct expected *x, const char *name)
{
	struct expected_line new = { .line_GB_s = -1 };

	if (x->n > x->first && strcmp(x->list[x->n - 1].name, name) == 0) {
		return &x->list[x->n - 1];
	}
	if (x->n == EXPECTED_MAX) {
		x->why = "too many sections";
		return NULL;
	}
	if (!name[0] || !STR_COPY(new.name, name)) {
		x->why = "a section without a name, or with a long one";
		return NULL;
	}
	x->why = "no memory";
	return grow_add(&x->list, &x->n, &new, sizeof(new));
}

/** A number above 0 up to @most. */
static bool take_number(const char *value, double most, double *out)
{
	char *end;

	*out = strtod(value, &end);
	return end != value && *end == '\0' && *out > 0 && *out <= most;
}

/* ---- collectives and machines -------------------------------------------- */

#define COLLECTIVE "collective"
#define MACHINE	   "machine "

/** "75 55": two numbers above 0, up to @most. */
static bool take_two(const char *value, double most, double *a, double *b)
{
	size_t n = strcspn(value, " ");
	char first[16];

	if (n >= sizeof(first) || !value[n]) {
		return false;
	}
	snprintf(first, sizeof(first), "%.*s", (int)n, value);
	return take_number(first, most, a) && take_number(value + n + 1, most,
							  b);
}

/** Shares below which a warning and a fault begin, or latencies. */
static bool take_share(struct expected *x, const char *key, const char *value)
{
	static const char latency[] = "latency_";
	int path = str_index(ceiling_path_names, key);
	struct ceiling_share s;
	struct expected_latency l;
	int i = 0;

	if (strcmp(key, "source") == 0) {
		return true;
	}
	/* latencies of a number of nodes, from low to high.  What an earlier
	 * text has set, that of the site, stays; so it is with shares. */
	if (str_starts(key, latency)) {
		if (units_parse_int(key + strlen(latency), 1, SPEC_MAX_NODES,
				    &l.nodes, NULL) < 0 ||
		    !take_two(value, 1e6, &l.low, &l.high) || l.low > l.high) {
			return false;
		}
		while (i < EXPECTED_LATENCIES && x->latencies[i].nodes &&
		       x->latencies[i].nodes != l.nodes) {
			i++;
		}
		if (i < EXPECTED_LATENCIES && !x->latencies[i].nodes) {
			x->latencies[i] = l;
		}
		return i < EXPECTED_LATENCIES;
	}
	if (path < 0 || !take_two(value, 100, &s.warn, &s.fail) ||
	    s.fail > s.warn) {
		return false;
	}
	x->shares[path] = x->shares[path].warn > 0 ? x->shares[path] : s;
	return true;
}

static struct expected_machine *machine(struct expected *x, const char *name)
{
	struct expected_machine new = { .gpus = 0 };

	if (x->n_machines > x->first_machine &&
	    strcmp(x->machines[x->n_machines - 1].name, name) == 0) {
		return &x->machines[x->n_machines - 1];
	}
	if (x->n_machines == EXPECTED_MAX) {
		x->why = "too many sections";
		return NULL;
	}
	if (!name[0] || !STR_COPY(new.name, name)) {
		x->why = "a machine without a name, or with a long one";
		return NULL;
	}
	x->why = "no memory";
	return grow_add(&x->machines, &x->n_machines, &new, sizeof(new));
}

static bool take_machine(struct expected_machine *m, const char *key,
			 const char *value)
{
	return strcmp(key, "gpu") == 0 ? STR_COPY(m->gpu, value) :
	       strcmp(key, "source") == 0 ? STR_COPY(m->source, value) :
	       strcmp(key, "gpus") == 0 ?
		       units_parse_int(value, 1, SPEC_MAX_GPUS, &m->gpus,
				       NULL) == 0 :
	       strcmp(key, "rails") == 0 &&
		       machine_rails_parse(value, &m->rails, &m->rail_GB_s) ==
			       0;
}

const struct expected_machine *expected_machine(const struct expected *x,
						const char *name)
{
	const size_t i = STR_FIND(x->machines, x->n_machines, name, name);

	return i < x->n_machines ? &x->machines[i] : NULL;
}

/* ---- links --------------------------------------------------------------- */

#define BY "percent_"

/** inih's handler: 1 is good. */
static int take(void *user, const char *name, const char *key,
		const char *value)
{
	static const char bad[] = "a value that is out of range, too long, or "
				  "one too many";
	struct expected *x = user;
	struct expected_machine *m;
	struct expected_line *l;

	if (strcmp(name, COLLECTIVE) == 0) {
		x->why = bad;
		return take_share(x, key, value);
	}
	if (str_starts(name, MACHINE)) {
		m = machine(x, name + strlen(MACHINE));
		x->why = m ? bad : x->why;
		return m && take_machine(m, key, value);
	}
	l = section(x, name);
	if (!l) {
		return 0;
	}
	x->why = bad;
	if (strncmp(key, BY, sizeof(BY) - 1) == 0) {
		key += sizeof(BY) - 1;
		return l->n_by < EXPECTED_WORDS && key[0] &&
		       STR_COPY(l->by[l->n_by].transport, key) &&
		       take_number(value, 100, &l->by[l->n_by++].percent);
	}
	if (strcmp(key, "path") == 0) {
		return STR_COPY(l->path, value);
	}
	if (strcmp(key, "source") == 0) {
		return STR_COPY(l->source, value);
	}
	if (strcmp(key, "gpu") == 0) {
		return value[0] && l->n_gpu < EXPECTED_WORDS &&
		       STR_COPY(l->gpu[l->n_gpu++], value);
	}
	if (strcmp(key, "not") == 0) {
		return value[0] && l->n_not < EXPECTED_WORDS &&
		       STR_COPY(l->not_gpu[l->n_not++], value);
	}
	if (strcmp(key, "gpus") == 0) {
		return units_parse_int(value, 1, SPEC_MAX_RANKS, &l->gpus,
				       NULL) == 0;
	}
	if (strcmp(key, "percent") == 0) {
		return take_number(value, 100, &l->percent);
	}
	if (strcmp(key, "line_GB_s") == 0) {
		l->line_GB_s = NAN;	/* that of the NIC */
		return strcmp(value, "nic") == 0 ||
		       take_number(value, MAX_LINE_GB_S, &l->line_GB_s);
	}
	x->why = "no such key";
	return 0;
}

int expected_parse(const char *text, struct expected *x, struct err *e)
{
	int line;

	x->first = x->n;
	x->first_machine = x->n_machines;
	x->why = "not KEY=VALUE";
	line = ini_parse_string(text, take, x);
	if (line < 0) {
		return err_set(e, ENOMEM, "no memory");
	}
	if (line > 0) {
		return err_set(e, EINVAL, "line %d: %s", line, x->why);
	}
	for (size_t i = x->first; i < x->n; i++) {
		const struct expected_line *l = &x->list[i];

		if (l->line_GB_s < 0 || l->percent <= 0 || !l->path[0]) {
			return err_set(e, EINVAL, "section [%s] lacks path, "
				       "line_GB_s or percent", l->name);
		}
	}
	for (size_t i = x->first_machine; i < x->n_machines; i++) {
		if (!x->machines[i].rails || !x->machines[i].gpus) {
			return err_set(e, EINVAL, "section [machine %s] lacks "
				       "rails or gpus", x->machines[i].name);
		}
	}
	return 0;
}

int expected_read(const char *dir, struct expected *x, struct err *e)
{
	struct err why = { 0 };
	char *site = dir ? rundir_read_text(dir, RUN_EXPECTED,
					    EXPECTED_MAX_BYTES, NULL, &why) :
			   NULL;
	int rc;

	*x = (struct expected){ 0 };
	if (why.code == EFBIG) {
		return err_set(e, E2BIG, "%s is too long", RUN_EXPECTED);
	}
	if (why.code == ENOMEM) {
		return err_set(e, ENOMEM, "no memory for %s", RUN_EXPECTED);
	}
	if (site && expected_parse(site, x, e) < 0) {
		rc = err_hint(e, "it is %s of the run", RUN_EXPECTED);
	} else {
		rc = expected_parse(expected_text, x, e);
	}
	free(site);
	return rc;
}

/* ---- reference ----------------------------------------------------------- */

/** The probe of the run in @dir; -1 with @e. */
static int probe_of(const char *dir, char probe[32], struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	int rc = run ? json_get_text(run, "probe", probe, 32, e) : -1;

	json_decref(run);
	return rc;
}

int reference_find(const char *reference, const char *probe,
		   char dir[PATH_MAX], struct err *e)
{
	char full[PATH_MAX], is[32];
	struct stat st;
	int rc = -1;

	if (!realpath(reference, full) || stat(full, &st) < 0) {
		rc = 1;
		err_set(e, errno, "there is no reference '%.300s'", reference);
	} else if (!S_ISDIR(st.st_mode)) {
		rc = 1;
		err_set(e, 0, "the reference '%.300s' is not a directory",
			reference);
	} else if (probe_of(full, is, e) == 0) {
		if (strcmp(is, probe) == 0) {
			str_copy(dir, PATH_MAX, full);
			return 0;
		}
		if (strcmp(is, "all") == 0 &&
		    rundir_path(full, probe, dir, e) == 0 &&
		    probe_of(dir, is, e) == 0 && strcmp(is, probe) == 0) {
			return 0;
		}
		err_set(e, 0, "the reference '%.300s' has no run of %s: it is "
			"one of %s", reference, probe, is);
	}
	err_hint(e, "--reference names the directory of an earlier run of %s, "
		 "or of all", probe);
	return rc;
}

/* ---- expected ------------------------------------------------------------ */

/** GPUs that are told apart, by model and by how many a node has. */
#define MAX_MODELS 32
/** Less than this says more of the latency than of the line. */
#define MIN_BYTES  65536
#define NOT_LOOKED 255

struct expected_matching {
	struct run *run;
	const struct expected *x;
	char models[MAX_MODELS][64];	/* their names; "" = not known */
	int gpus[MAX_MODELS];		/* of a node of that model */
	int n_models;
	int *model;		/* of each rank, in models[] */
	double *nic_GB_s;	/* of each rank; NAN = not known */
	uint8_t *lines;		/* n_paths x models x models: number of the
				 * section + 1, or NOT_LOOKED */
};

/** Number of the model, of the last one when there are too many. */
static int model_of(struct expected_matching *m, const char *name, int gpus)
{
	int i = 0;

	while (i < m->n_models && (m->gpus[i] != gpus ||
				   strcmp(m->models[i], name) != 0)) {
		i++;
	}
	if (i < m->n_models) {
		return i;
	}
	if (i == MAX_MODELS) {
		return MAX_MODELS - 1;
	}
	/* one too many, and all behind it, are of no known model */
	STR_COPY(m->models[i], i == MAX_MODELS - 1 ? "" : name);
	m->gpus[i] = gpus;
	return m->n_models++;
}

static void learn(struct expected_matching *m)
{
	int at = -1;

	for (int i = 0; i < m->run->n_nodes; i++) {
		const struct cluster_node *n = &m->run->nodes[i];

		for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
			m->model[r] = model_of(m, "", n->gpus);
			m->nic_GB_s[r] = NAN;
		}
	}
	run_foreach_fact(m->run, f) {
		int gpu = run_number_in(f->scope, "gpu");
		const struct cluster_node *n;
		double GB_s;

		at = run_find_node(m->run, f->node, at);
		n = at >= 0 ? &m->run->nodes[at] : NULL;
		if (n && strcmp(f->fact, "line_rate") == 0) {
			GB_s = strtod(f->value, NULL);
			/* the faster NIC counts for ranks that use several,
			 * which may share a slot */
			for (int r = n->first_rank;
			     GB_s > 0 && r < n->first_rank + n->gpus; r++) {
				if (str_names_meet(m->run->ranks[r].nic_name,
						   f->scope)) {
					m->nic_GB_s[r] = fmax(
						GB_s, m->nic_GB_s[r]);
				}
			}
		} else if (n && strcmp(f->fact, "name") == 0 &&
			   gpu >= 0 && gpu < n->gpus) {
			m->model[n->first_rank + gpu] =
				model_of(m, f->value, n->gpus);
		}
	}
}

static bool has_any(const char *name, const char words[][40], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strstr(name, words[i])) {
			return true;
		}
	}
	return false;
}

bool expected_is_of(const struct expected_line *l, const char *name)
{
	return (l->n_gpu == 0 || has_any(name, l->gpu, l->n_gpu)) &&
	       !has_any(name, l->not_gpu, l->n_not);
}

static bool is_about(const struct expected_line *l,
		     const struct expected_matching *m, int model)
{
	return expected_is_of(l, m->models[model]) && m->gpus[model] >= l->gpus;
}

/** Number of the section + 1 for the cell at @at, 0 = none. */
static uint8_t line_of(const struct expected_matching *m, size_t at, int src,
		       int dst)
{
	uint16_t way = m->run->cell_way[at];
	int a = m->model[src], b = m->model[dst];
	uint8_t *line = &m->lines[((size_t)way * MAX_MODELS + (size_t)a) *
				  MAX_MODELS + (size_t)b];

	if (*line != NOT_LOOKED) {
		return *line;
	}
	*line = 0;
	for (size_t i = 0; i < m->x->n && *line == 0; i++) {
		const struct expected_line *l = &m->x->list[i];

		if (str_starts(m->run->paths[way], l->path) &&
		    is_about(l, m, a) && is_about(l, m, b)) {
			*line = (uint8_t)(i + 1);
		}
	}
	return *line;
}

double expected_percent(const struct expected_line *l, const char *transport)
{
	for (size_t i = 0; i < l->n_by; i++) {
		if (strcmp(l->by[i].transport, transport) == 0) {
			return l->by[i].percent;
		}
	}
	return l->percent;
}

/** Return the bandwidth of a healthy pair, NAN if unknown. */
static double expect(const struct expected_matching *m,
		     const struct expected_line *l, const struct cell *c,
		     int src, int dst)
{
	double s = m->nic_GB_s[src], d = m->nic_GB_s[dst];
	/* that of the slower NIC, if both are known; fmin() skips NAN */
	double nics = isnan(s) || isnan(d) ? NAN : fmin(s, d);
	double line = isnan(l->line_GB_s) ? nics : l->line_GB_s;
	double size_GB = (double)m->run->size_B / 1e9;
	double latency_s = isfinite(c->lat_us) ? (double)c->lat_us / 1e6 : 0;

	return expected_percent(l, m->run->transport) / 100 * size_GB /
	       (latency_s + size_GB / line);
}

int expected_apply(struct run *run, const struct expected *x)
{
	struct expected_matching m = { .run = run, .x = x };
	size_t lines = run->n_paths * MAX_MODELS * MAX_MODELS;
	int rc = -1;

	if (run->size_B < MIN_BYTES) {
		return 0;
	}
	m.model = calloc((size_t)run->n_ranks + 1, sizeof(*m.model));
	m.nic_GB_s = calloc((size_t)run->n_ranks + 1, sizeof(*m.nic_GB_s));
	m.lines = malloc(lines + 1);
	run->cell_line = calloc(run_n_cells(run) + 1, sizeof(*run->cell_line));
	if (m.model && m.nic_GB_s && m.lines && run->cell_line) {
		memset(m.lines, NOT_LOOKED, lines);
		learn(&m);
		run_foreach_cell(run, at) {
			int src = run_src(run, at), dst = run_dst(run, at);
			struct cell *c = &run->cells[at];
			/* not measured, or its row says it */
			bool skip = !isfinite(c->bw_GB_s) ||
				    c->expected_GB_s > 0;
			uint8_t line = skip ? 0 : line_of(&m, at, src, dst);

			if (line > 0) {
				c->expected_GB_s = (float)expect(
					&m, &x->list[line - 1], c, src, dst);
				run->cell_line[at] = line;
			}
		}
		rc = 0;
	}
	free(m.model);
	free(m.nic_GB_s);
	free(m.lines);
	return rc;
}

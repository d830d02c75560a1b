/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/expected.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/** GPUs that are told apart, by model and by how many a node has. */
#define MAX_MODELS 32
/** Less than this says more of the latency than of the line. */
#define MIN_BYTES  65536
#define NOT_LOOKED 255

struct model {
	char name[64];		/* "" = not known */
	int gpus;
};

struct rank_line {
	int model;
	double nic_GB_s;	/* NAN = not known */
};

struct matching {
	struct run *run;
	const struct expected *x;
	struct model models[MAX_MODELS];
	int n_models;
	struct rank_line *ranks;
	uint8_t *lines;		/* n_paths x models x models: number of the
				 * section + 1, or NOT_LOOKED */
};

/** Number of the model, of the last one when there are too many. */
static int model_of(struct matching *m, const char *name, int gpus)
{
	int i = 0;

	while (i < m->n_models && (m->models[i].gpus != gpus ||
				   strcmp(m->models[i].name, name) != 0)) {
		i++;
	}
	if (i < m->n_models) {
		return i;
	}
	if (i == MAX_MODELS) {
		return MAX_MODELS - 1;
	}
	/* one too many, and all behind it, are of no known model */
	STR_COPY(m->models[i].name, i == MAX_MODELS - 1 ? "" : name);
	m->models[i].gpus = gpus;
	return m->n_models++;
}

/** The rate of a NIC, for the ranks that use it; the faster one counts where
 *  they use several, which may share a slot. */
static void learn_rate(struct matching *m, const struct run_node *n,
		       const struct fact_row *f)
{
	double GB_s = strtod(f->value, NULL);

	for (int r = n->first_rank; GB_s > 0 && r < n->first_rank + n->gpus;
	     r++) {
		if (str_names_meet(m->run->ranks[r].nic_name, f->scope)) {
			m->ranks[r].nic_GB_s = fmax(GB_s, m->ranks[r].nic_GB_s);
		}
	}
}

static void learn(struct matching *m)
{
	int at = -1;

	for (int i = 0; i < m->run->n_nodes; i++) {
		const struct run_node *n = &m->run->nodes[i];

		for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
			m->ranks[r].model = model_of(m, "", n->gpus);
			m->ranks[r].nic_GB_s = NAN;
		}
	}
	for (size_t i = 0; i < m->run->n_facts; i++) {
		const struct fact_row *f = &m->run->facts[i];
		int gpu = run_number_in(f->scope, "gpu");
		const struct run_node *n;

		at = run_find_node(m->run, f->node, at);
		n = at >= 0 ? &m->run->nodes[at] : NULL;
		if (n && strcmp(f->fact, "line_rate") == 0) {
			learn_rate(m, n, f);
		} else if (n && strcmp(f->fact, "name") == 0 &&
			   gpu >= 0 && gpu < n->gpus) {
			m->ranks[n->first_rank + gpu].model =
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

static bool is_about(const struct expected_line *l, const struct model *x)
{
	return (l->n_gpu == 0 || has_any(x->name, l->gpu, l->n_gpu)) &&
	       !has_any(x->name, l->not_gpu, l->n_not) && x->gpus >= l->gpus;
}

/** Number of the section + 1 for a path between two models, 0 = none. */
static uint8_t find_line(const struct matching *m, const char *path,
			 const struct model *a, const struct model *b)
{
	for (size_t i = 0; i < m->x->n; i++) {
		const struct expected_line *l = &m->x->list[i];

		if (strncmp(path, l->path, strlen(l->path)) == 0 &&
		    is_about(l, a) && is_about(l, b)) {
			return (uint8_t)(i + 1);
		}
	}
	return 0;
}

static uint8_t line_of(const struct matching *m, size_t at, int src, int dst)
{
	uint16_t way = m->run->cell_way[at];
	int a = m->ranks[src].model, b = m->ranks[dst].model;
	uint8_t *line = &m->lines[((size_t)way * MAX_MODELS + (size_t)a) *
				  MAX_MODELS + (size_t)b];

	if (*line == NOT_LOOKED) {
		*line = find_line(m, m->run->paths[way], &m->models[a],
				  &m->models[b]);
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

/** What the slower of both NICs carries, NAN unless both are known. */
static double nics_GB_s(const struct rank_line *s, const struct rank_line *d)
{
	return isnan(s->nic_GB_s) || isnan(d->nic_GB_s) ?
		       NAN : fmin(s->nic_GB_s, d->nic_GB_s);
}

/** What a healthy pair would reach, NAN = not known. */
static double expect(const struct matching *m, const struct expected_line *l,
		     const struct cell *c, int src, int dst)
{
	double line = isnan(l->line_GB_s) ?
			      nics_GB_s(&m->ranks[src], &m->ranks[dst]) :
			      l->line_GB_s;
	double size_GB = (double)m->run->size_B / 1e9;
	double latency_s = isfinite(c->lat_us) ? (double)c->lat_us / 1e6 : 0;

	return expected_percent(l, m->run->transport) / 100 * size_GB /
	       (latency_s + size_GB / line);
}

static void apply_cell(const struct matching *m, size_t at)
{
	int src = run_src(m->run, at), dst = run_dst(m->run, at);
	struct cell *c = &m->run->cells[at];
	uint8_t line;

	if (!isfinite(c->bw_GB_s) || c->expected_GB_s > 0) {
		return;		/* not measured, or its row says it */
	}
	line = line_of(m, at, src, dst);
	if (line > 0) {
		c->expected_GB_s = (float)expect(m, &m->x->list[line - 1], c,
						 src, dst);
		m->run->cell_line[at] = line;
	}
}

int expected_apply(struct run *run, const struct expected *x)
{
	struct matching m = { .run = run, .x = x };
	size_t lines = run->n_paths * MAX_MODELS * MAX_MODELS;
	int rc = -1;

	if (run->size_B < MIN_BYTES) {
		return 0;
	}
	m.ranks = calloc((size_t)run->n_ranks + 1, sizeof(*m.ranks));
	m.lines = malloc(lines + 1);
	run->cell_line = calloc(run_n_cells(run) + 1, sizeof(*run->cell_line));
	if (m.ranks && m.lines && run->cell_line) {
		memset(m.lines, NOT_LOOKED, lines);
		learn(&m);
		for (size_t at = 0; at < run_n_cells(run); at++) {
			apply_cell(&m, at);
		}
		rc = 0;
	}
	free(m.ranks);
	free(m.lines);
	return rc;
}

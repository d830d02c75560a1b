/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

const char *const ceiling_path_names[CEILING_PATHS + 1] = {
	[CEILING_NVLINK] = "nvlink",
	[CEILING_RING] = "network_ring",
	[CEILING_TREE] = "network_tree",
	[CEILING_SHARP] = "network_sharp",
	[CEILING_DIRECT] = "network_direct",
};

/* ---- machine ------------------------------------------------------------- */

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

void machine_init(struct machine *m)
{
	*m = (struct machine){ .rails_GB_s = NAN, .nic_GB_s = NAN,
			       .nvlink_GB_s = NAN };
}

void machine_set_rails(struct machine *m, int rails, double GB_s, int64_t gpus)
{
	m->rails = rails;
	m->rails_GB_s = rails * GB_s;
	m->nic_GB_s = gpus > 0 && rails > gpus ?
			      GB_s * (double)(rails / gpus) : GB_s;
	m->gpus = gpus;
	m->whole = gpus > 0;
}

int64_t machine_nodes(const struct machine *m,
		      const struct collective_row *row)
{
	if (row->nodes > 0) {
		return row->nodes;
	}
	return m->gpus <= 0 || row->ranks <= 0 ? 0 :
	       row->ranks <= m->gpus		? 1 :
	       row->ranks % m->gpus == 0	? row->ranks / m->gpus : 0;
}

/* ---- bounds -------------------------------------------------------------- */

/** Input of the bounds; bandwidths in GB/s. */
struct shape {
	double rails, nic, nvlink;	/* B, one GPU's NICs, L */
	double nodes, ranks, local;	/* N, n, g = n / N */
};

static double ring(const struct shape *s)
{
	return s->rails;
}

static double tree(const struct shape *s)
{
	return s->rails * s->nodes / (s->nodes - 1) * (s->ranks - 1) / s->ranks;
}

static double sharp(const struct shape *s)
{
	return 2 * s->rails * (s->ranks - 1) / s->ranks;
}

static double all_to_all(const struct shape *s)
{
	return s->rails * (s->ranks - 1) /
	       (s->local * (s->ranks - s->local));
}

static double one_gpu(const struct shape *s)
{
	return s->nic;
}

static double nvlink(const struct shape *s)
{
	return s->nvlink;
}

static double nvls(const struct shape *s)
{
	return 2 * s->nvlink * (s->ranks - 1) / (s->ranks + 1);
}

/** Twice the data moves in a switch as over a link. */
static double twice(const struct shape *s)
{
	return 2 * s->nvlink * (s->ranks - 1) / s->ranks;
}

#define OP(name) (1U << COLLECTIVE_##name)
#define GATHERS	 (OP(ALLGATHER) | OP(REDUCESCATTER))
#define ROOTED	 (OP(BROADCAST) | OP(REDUCE))
#define ANY	 ((1U << COLLECTIVES) - 1)

/** Bounds by collective and algorithm, as NCCL calls it; "": any. */
static const struct bound {
	unsigned ops;
	const char *algo;
	enum ceiling_path path;
	double (*between)(const struct shape *s);	/* NULL: inside only */
	double (*inside)(const struct shape *s);
} bounds[] = {
	{ OP(ALLREDUCE) | GATHERS, "Ring", CEILING_RING, ring, nvlink },
	{ OP(ALLREDUCE), "Tree", CEILING_TREE, tree, nvlink },
	{ OP(ALLREDUCE), "NVLSTree", CEILING_TREE, tree, twice },
	{ OP(ALLREDUCE), "CollNetDirect", CEILING_SHARP, sharp, twice },
	{ OP(ALLREDUCE), "CollNetChain", CEILING_SHARP, sharp, nvlink },
	{ OP(ALLREDUCE), "NVLS", CEILING_SHARP, sharp, nvls },
	{ GATHERS, "PAT", CEILING_TREE, tree, nvlink },
	{ GATHERS, "NVLS", CEILING_TREE, tree, nvlink },
	{ GATHERS, "CollNetDirect", CEILING_TREE, tree, nvlink },
	{ ROOTED, "", CEILING_RING, ring, nvlink },
	{ OP(ALLTOALL), "", CEILING_DIRECT, all_to_all, nvlink },
	{ OP(SENDRECV), "", CEILING_DIRECT, one_gpu, nvlink },
};

/** The bound of row @b; NAN in it: not known. */
static struct ceiling bound_of(const struct machine *m, const struct bound *b,
			       const struct shape *s, int rails)
{
	struct ceiling c = { .path = b->path, .algo = b->algo,
			     .rails = rails };
	double inside = b->inside(s);

	if (s->nodes <= 1 || m->one_domain) {
		c.GB_s = inside;
		c.path = CEILING_NVLINK;
		c.rails = 0;
		return c;
	}
	c.GB_s = b->between(s);
	/* NVLink carries the same data on the way */
	if (inside < c.GB_s && s->local > 1) {
		c.GB_s = inside;
		c.path = CEILING_NVLINK;
		c.rails = 0;
	}
	return c;
}

/** Return true if NCCL may use the algorithm of @b, where @algo ("": any) is
 *  known of it.  SHARP needs switches and a plugin, so that it is not assumed;
 *  @inside a node, trees are no faster than rings. */
static bool may_be(const struct bound *b, const char *algo, bool inside)
{
	return !b->algo[0] || (algo[0] ? strcmp(b->algo, algo) == 0 :
			       inside  ? strcmp(b->algo, "Ring") == 0 ||
						 strcmp(b->algo, "NVLS") == 0 :
					 b->path != CEILING_SHARP);
}

static bool is_known(const char *algo, unsigned op)
{
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		if ((bounds[i].ops & op) && strcmp(bounds[i].algo, algo) == 0) {
			return true;
		}
	}
	return false;
}

void ceiling_of_row(const struct machine *m, const struct collective_row *row,
		    struct ceiling *most, struct ceiling *least)
{
	enum collective kind = collective_parse(row->op);
	unsigned op = kind == COLLECTIVES ? 0 : 1U << kind;
	int64_t nodes = machine_nodes(m, row);
	struct shape s = { .nodes = (double)nodes, .nic = m->nic_GB_s,
			   .ranks = (double)row->ranks,
			   .nvlink = m->nvlink_GB_s, .rails = m->rails_GB_s };
	const char *algo = is_known(row->algo, op) ? row->algo : "";
	int rails = m->rails;

	*most = *least = (struct ceiling){ .GB_s = NAN, .algo = "" };
	if (nodes < 1 || row->ranks < 2) {
		return;
	}
	s.local = ceil(s.ranks / s.nodes);
	if (m->whole && s.local < (double)m->gpus) {
		rails = m->rails > m->gpus ?
				(int)s.local * (int)(m->rails / m->gpus) :
			m->rails < (int)s.local ? m->rails : (int)s.local;
		s.rails = m->rails_GB_s * rails / m->rails;
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		struct ceiling c;

		if (!(bounds[i].ops & op) ||
		    !may_be(&bounds[i], algo, nodes == 1 || m->one_domain)) {
			continue;
		}
		c = bound_of(m, &bounds[i], &s, rails);
		if (!(c.GB_s <= most->GB_s)) {
			*most = c;
		}
		if (!(c.GB_s >= least->GB_s)) {
			*least = c;
		}
	}
}

void ceiling_words(const struct ceiling *c, double GB_s, struct str *out)
{
	str_addf(out, "%.0f %% of what ", 100 * GB_s / c->GB_s);
	if (c->rails > 0) {
		str_addf(out, "%d rail%s carr%s", c->rails,
			 c->rails == 1 ? "" : "s", c->rails == 1 ? "ies" : "y");
	} else {
		str_add(out, "NVLink carries");
	}
	str_addf(out, "%s%s", c->algo[0] ? " by " : "", c->algo);
}

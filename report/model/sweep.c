/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sweep.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/grow.h"
#include "lib/base/input.h"
#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"
#include "report/model/run.h"

/* ---- sweep best ---------------------------------------------------------- */

/* Which of several curves is the best one, size by size. */

static size_t curve_from(const struct curve *c, int64_t size_B);
static int sweep_take_row(const struct run_rows *rows, const void *row);

double curve_cell_at(const struct curve *c, int64_t size_B,
		     enum spec_stat stat, int64_t *inplace)
{
	double GB_s = NAN, sum = 0;
	int n = 0;

	*inplace = RECORD_NONE;
	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		const struct collective_row *row = c->rows[i];
		double us = stat == STAT_MIN ? row->time_max_us :
			    stat == STAT_MAX ? row->time_min_us : NAN;
		double bw = row_bandwidth(row);

		if (us > 0 && row->time_us > 0) {
			bw = bw * row->time_us / us;
		}
		if (!isfinite(bw) || row->outcome != OUTCOME_OK) {
			continue;
		}
		sum += bw;
		n++;
		if (isnan(GB_s) || (stat == STAT_MIN ? bw < GB_s : bw > GB_s)) {
			GB_s = bw;
			*inplace = row->inplace;
		}
	}
	if (stat == STAT_AVG && n > 1) {
		GB_s = sum / n;
		*inplace = RECORD_NONE;
	}
	return GB_s;
}

const struct collective_row *curve_peak(const struct curve *c, int64_t least_B)
{
	const struct collective_row *best = NULL;

	for (size_t i = curve_from(c, least_B); i < c->n; i++) {
		const struct collective_row *row = c->rows[i];

		if (row->outcome == OUTCOME_OK && row->busbw_GB_s > 0 &&
		    (!best || row->busbw_GB_s > best->busbw_GB_s)) {
			best = row;
		}
	}
	return best;
}

const struct curve *sweep_peak(const struct sweep *s)
{
	const struct curve *best = s->curves;

	for (size_t i = 1; i < s->n_curves; i++) {
		const struct collective_row *now = curve_peak(&s->curves[i], 0);
		const struct collective_row *was = curve_peak(best, 0);

		if (now && (!was || now->busbw_GB_s > was->busbw_GB_s)) {
			best = &s->curves[i];
		}
	}
	return best;
}

void curve_share_words(const struct sweep *s, const struct curve *c,
		       struct str *out)
{
	const struct collective_row *row = curve_peak(c, 0);
	struct ceiling most, least;
	char size[32];

	if (!row) {
		return;
	}
	ceiling_of_row(&s->machine, row, &most, &least);
	if (!(least.GB_s > 0)) {
		return;
	}
	str_addf(out, "%.1f GB/s at %s, ", row->busbw_GB_s,
		 units_size_text((uint64_t)row->size_B, size, sizeof(size)));
	ceiling_words(&least, row->busbw_GB_s, out);
	if (most.GB_s > least.GB_s) {
		str_addf(out, ", %.0f %% by %s",
			 100 * row->busbw_GB_s / most.GB_s, most.algo);
	}
}

/** The row of @size_B with the shortest time among those that went well (the
 *  bandwidths of small sizes are rounded to nothing); NULL. */
static const struct collective_row *shortest_at(const struct curve *c,
						int64_t size_B)
{
	const struct collective_row *best = NULL;

	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		const struct collective_row *row = c->rows[i];

		if (isfinite(row->time_us) && row->outcome == OUTCOME_OK &&
		    (!best || row->time_us < best->time_us)) {
			best = row;
		}
	}
	return best;
}

bool curve_same_op(const struct curve *a, const struct curve *b)
{
	const struct collective_row *x = a->first, *y = b->first;

	return row_texts_agree(x->op, y->op) &&
	       row_numbers_agree(x->ranks, y->ranks);
}

int64_t sweep_next_size(const struct sweep *s, const struct curve *of,
			int64_t size_B)
{
	int64_t next = -1;

	for (size_t k = 0; k < s->n_curves; k++) {
		const struct curve *c = &s->curves[k];
		size_t i = curve_from(c, size_B + 1);

		if (curve_same_op(c, of) && i < c->n &&
		    (next < 0 || c->rows[i]->size_B < next)) {
			next = c->rows[i]->size_B;
		}
	}
	return next;
}

const struct curve *sweep_fastest(const struct sweep *s,
				  const struct curve *of, int64_t size_B)
{
	const struct curve *best = NULL;
	double best_time = NAN;
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		const struct curve *c = &s->curves[k];
		const struct collective_row *row = shortest_at(c, size_B);

		if (!curve_same_op(c, of) || !row) {
			continue;
		}
		n++;
		if (!(row->time_us >= best_time)) {
			best = c;
			best_time = row->time_us;
		}
	}
	return n > 1 ? best : NULL;
}

/** Means of two runs with the same settings may always differ by this share. */
#define ALIKE 0.01

/*
 * In one run of ours each row was repeated: a difference counts if neither mean
 * is within the variation of the other, without the worst of a hundred.
 * Foreign tables are separate runs, or have only means: they must differ as
 * runs do.
 */
bool curve_keeps_up(const struct curve *c, const struct curve *fastest,
		    int64_t size_B)
{
	const struct collective_row *fast = shortest_at(fastest, size_B);
	const struct collective_row *slow =
		curve_same_op(c, fastest) ? shortest_at(c, size_B) : NULL;

	if (!slow || !fast) {
		return false;
	}
	if (c != fastest && isfinite(fast->time_p99_us) &&
	    isfinite(slow->time_min_us) && !fast->table[0] && !slow->table[0]) {
		return slow->time_us <= fast->time_us * (1 + ALIKE) ||
		       slow->time_us <= fast->time_p99_us ||
		       slow->time_min_us <= fast->time_us;
	}
	return c == fastest ||
	       slow->time_us <= fast->time_us * (1 + curve_band(size_B));
}

size_t sweep_keep_up(const struct sweep *s, const struct curve *fastest,
		     int64_t size_B)
{
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		n += curve_keeps_up(&s->curves[k], fastest, size_B);
	}
	return n;
}

bool sweep_leads(const struct sweep *s, size_t at)
{
	size_t others = 0;

	for (size_t k = 0; k < s->n_curves; k++) {
		if (k != at && curve_same_op(&s->curves[k], &s->curves[at])) {
			if (k < at) {
				return false;
			}
			others++;
		}
	}
	return others > 0;
}

/* ---- sweep reference ----------------------------------------------------- */

/** The files of data/reference as text, part of the program: a name in C and
 *  one for people. */
#define REFERENCES(X) \
	X(aml, "aml") X(msccl, "msccl") X(mscclpp, "mscclpp") X(h200, "h200")

#define INCLUDE(symbol, file) \
	EMBED_TEXT(reference_##symbol, "data/reference/" file ".csv");
REFERENCES(INCLUDE)

static const struct name_text builtins[] = {
#define ROW(symbol, file) { .name = file, .text = reference_##symbol },
	REFERENCES(ROW)
	{ 0 }
};

/** Bytes of one that comes by a pipe. */
#define REFERENCE_MAX ((size_t)64 << 20)

/** The rows of @f, which is closed; -1 with @e, which says what @path is called
 *  in the place of a run's file. */
static int read_rows(FILE *f, const char *path, struct sweep *s, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_collective, .user = s,
				       .take = sweep_take_row };
	static const char ours[] = "'" RUN_RESULTS "' ";
	struct err why = { 0 };

	if (!f) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	if (run_take_rows(f, &rows, &why) == 0) {
		return 0;
	}
	return str_starts(why.text, ours) ?
		       err_set(e, why.code, "'%s' %s", path,
			       why.text + strlen(ours)) :
		       err_set(e, why.code, "%s: %s", path, why.text);
}

/** The links of the run in @dir. */
static struct machine machine_of_dir(const char *dir)
{
	struct run run = { 0 };
	struct sweep s = { 0 };
	struct machine m;

	machine_init(&m);
	if (sweep_read(dir, &run, &s, NULL) == 0) {
		m = s.machine;
	}
	sweep_release(&s);
	run_release(&run);
	return m;
}

int sweep_reference(const char *reference, struct sweep *s, struct err *e)
{
	const struct name_text *b = builtins;
	char path[PATH_MAX];
	struct stat st;
	FILE *f = NULL;
	int rc = -1;

	*s = (struct sweep){ 0 };
	machine_init(&s->machine);
	str_copy(path, sizeof(path), reference);
	while (b->name && strcmp(b->name, reference) != 0) {
		b++;
	}
	if (b->name) {		/* the stream only reads */
		rc = read_rows(fmemopen((void *)(uintptr_t)b->text,
					strlen(b->text), "r"), path, s, e);
	} else if (stat(reference, &st) < 0) {
		err_set(e, errno, "there is no reference '%s'", reference);
	} else {
		/* a directory has its rows in results.csv */
		f = S_ISDIR(st.st_mode) ?
			    rundir_open(reference, RUN_RESULTS, e) :
			    input_open("reference", reference, REFERENCE_MAX,
				       e);
		rc = f && (!S_ISDIR(st.st_mode) ||
			   rundir_path(reference, RUN_RESULTS, path, e) == 0) ?
			     read_rows(f, path, s, e) : -1;
	}
	if (rc == 0 && s->n == 0) {
		rc = err_set(e, 0, "'%s' has no rows of a collective",
			     reference);
	}
	if (rc == 0 && sweep_group(s) < 0) {
		rc = err_set(e, ENOMEM, "cannot hold the reference");
	}
	if (rc == 0 && f && S_ISDIR(st.st_mode)) {
		s->machine = machine_of_dir(reference);
	}
	if (rc < 0) {
		sweep_release(s);
		return err_hint(e, "a run directory, a CSV file of \"gpucheck "
				"import\", or a name of gpucheck-report(1)");
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		s->curves[i].reference = true;
	}
	return 0;
}

/* ---- sweep --------------------------------------------------------------- */

int sweep_add(struct sweep *s, const struct collective_row *row)
{
	return grow_add(&s->rows, &s->n, row, sizeof(*row)) ? 0 : -1;
}

static int sweep_take_row(const struct run_rows *rows, const void *row)
{
	return sweep_add(rows->user, row);
}

/** Sort the rows that were read into curves. */
static int end(const struct run_rows *rows, struct err *e)
{
	struct sweep *s = rows->user;

	rows->run->rows = s->n;
	if (sweep_group(s) < 0 ||
	    run_list_nodes(rows->run, rows->run->json) < 0) {
		return err_set(e, ENOMEM, "cannot hold the rows");
	}
	return 0;
}

int sweep_read(const char *dir, struct run *run, struct sweep *s,
	       struct err *e)
{
	const struct run_rows rows = { .schema = &schema_collective, .run = run,
				       .take = sweep_take_row, .end = end,
				       .user = s };

	*s = (struct sweep){ .run = run };
	if (run_load(dir, &rows, e) < 0 ||
	    expected_read(dir, &run->expected, e) < 0) {
		return -1;
	}
	machine_of_run(run, &s->machine);
	return 0;
}

void sweep_release(struct sweep *s)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		free(s->curves[i].rows);
	}
	free(s->curves);
	free(s->rows);
	*s = (struct sweep){ 0 };
}

/* ---- sizes of pairs ------------------------------------------------------ */

/** The bandwidth of one good test of a pair. */
struct size_test {
	int64_t size_B;
	enum path_class path;
	double bw_GB_s;
};

struct size_tests {
	const struct run *run;
	struct size_test *list;
	size_t n;
};

static int take_size(const struct run_rows *rows, const void *data)
{
	struct size_tests *t = rows->user;
	const struct p2p_row *row = data;
	struct size_test one = { .size_B = row->size_B,
				 .bw_GB_s = row->bw_GB_s };
	const int n = t->run->n_ranks;

	if (row->outcome != OUTCOME_OK || !(row->bw_GB_s > 0) ||
	    row->size_B <= 0 || row->src_rank < 0 || row->src_rank >= n ||
	    row->dst_rank < 0 || row->dst_rank >= n ||
	    strcmp(row->schedule, t->run->schedule) != 0) {
		return 0;	/* of the follow-up, or of another pass */
	}
	one.path = cluster_path(&t->run->cluster, (int)row->src_rank,
				(int)row->dst_rank);
	return grow_add(&t->list, &t->n, &one, sizeof(one)) ? 0 : -1;
}

static const struct order_key by_path_size[] = {
	ORDER_UP(struct size_test, path),
	ORDER_UP(struct size_test, size_B),
	ORDER_UP(struct size_test, bw_GB_s),
	ORDER_END
};

int sweep_of_pairs(const struct run *run, struct sweep *s, struct err *e)
{
	struct size_tests t = { .run = run };
	const struct run_rows rows = { .schema = run->schema,
				       .take = take_size, .user = &t };
	int rc = 0;

	*s = (struct sweep){ .run = run };
	if (run->mesh || json_array_size(run_file(run->json).sizes) < 2) {
		return 0;
	}
	rc = run_take_results(run->dir, &rows, e);
	order_sort(t.list, t.n, sizeof(*t.list), by_path_size);
	for (size_t i = 0, n; rc == 0 && i < t.n; i += n) {
		const struct size_test *first = &t.list[i];
		struct collective_row row;

		for (n = 1; i + n < t.n && first[n].path == first->path &&
			    first[n].size_B == first->size_B; n++) {
		}
		record_init(&schema_collective, &row);
		STR_COPY(row.op, run->probe);
		STR_COPY(row.variant, run_path_words(first->path));
		STR_COPY(row.lib, run->transport);
		row.ranks = run->n_ranks;
		row.nodes = run->n_nodes;
		row.size_B = first->size_B;
		row.inplace = 0;
		row.count = (int64_t)n;
		row.busbw_GB_s = (first[(n - 1) / 2].bw_GB_s +
				  first[n / 2].bw_GB_s) / 2;
		row.algbw_GB_s = row.busbw_GB_s;
		row.time_us = (double)row.size_B / row.busbw_GB_s / 1e3;
		row.time_max_us = (double)row.size_B / first->bw_GB_s / 1e3;
		row.time_min_us = (double)row.size_B / first[n - 1].bw_GB_s /
				  1e3;
		row.outcome = OUTCOME_OK;
		rc = sweep_add(s, &row);
	}
	free(t.list);
	return rc < 0 || sweep_group(s) < 0 ?
		       err_set(e, ENOMEM, "cannot hold the sizes") : 0;
}

bool sweep_is_model(const struct sweep *s)
{
	/* a reference is but rows: the transport stands where the library is */
	for (size_t i = 0; i < s->n; i++) {
		if (spec_transport_is(s->rows[i].lib, XPORT_MODEL)) {
			return true;
		}
	}
	return false;
}

double row_bandwidth(const struct collective_row *row)
{
	return isfinite(row->busbw_GB_s) ? row->busbw_GB_s : row->algbw_GB_s;
}

/** The columns that make one curve of rows, those that name it best first. */
static const struct sweep_key {
	const char *before;	/* in the name */
	size_t offset, size;	/* size 0: an integer */
	bool chosen;		/* by the library, size by size, in a run of
				 * ours; what was asked for is the variant */
	bool unknown;		/* empty where nothing was measured */
} keys[] = {
#define TEXT_KEY(field) .before = "", \
	.offset = offsetof(struct collective_row, field), \
	.size = sizeof(((struct collective_row *)NULL)->field)
#define NUMBER_KEY(field) .before = #field " ", \
	.offset = offsetof(struct collective_row, field)
	{ TEXT_KEY(table) }, { TEXT_KEY(variant) }, { TEXT_KEY(op) },
	{ TEXT_KEY(algo), .chosen = true },
	{ TEXT_KEY(proto), .chosen = true }, { TEXT_KEY(lib), .unknown = true },
	{ TEXT_KEY(dtype) },
	{ TEXT_KEY(redop) },
	{ NUMBER_KEY(ranks) }, { NUMBER_KEY(nodes) }, { NUMBER_KEY(root) },
};

#define KEYS (sizeof(keys) / sizeof(*keys))

static int compare_key(const struct sweep_key *k,
		       const struct collective_row *a,
		       const struct collective_row *b)
{
	const char *x = (const char *)a + k->offset;
	const char *y = (const char *)b + k->offset;

	/* imported tables have a protocol only if NCCL's log has the choice */
	if (k->chosen && ((!a->table[0] && !b->table[0]) || a->proto[0] ||
			  b->proto[0])) {
		return 0;
	}
	if (k->unknown && (!*x || !*y)) {
		return 0;
	}
	return k->size ? strcmp(x, y) :
			 memcmp(x, y, sizeof(int64_t));
}

static struct curve *curve_of(struct sweep *s, const struct collective_row *row)
{
	struct curve new = { .first = row };

	/* rows come table by table: the last one is the likely one */
	for (size_t i = s->n_curves; i > 0; i--) {
		size_t k = 0;

		while (k < KEYS && compare_key(&keys[k], s->curves[i - 1].first,
					       row) == 0) {
			k++;
		}
		if (k == KEYS) {
			return &s->curves[i - 1];
		}
	}
	if (s->n_curves == SWEEP_CURVES_MAX) {
		return &s->curves[s->n_curves - 1];
	}
	return grow_add(&s->curves, &s->n_curves, &new, sizeof(new));
}

static void add_key(const struct sweep_key *k, const struct collective_row *row,
		    struct str *out)
{
	const char *at = (const char *)row + k->offset;
	int64_t number = k->size ? 0 : *(const int64_t *)(const void *)at;

	if (k->size ? !*at : number == RECORD_NONE) {
		return;
	}
	str_add(out, out->len ? " " : "");
	if (k->size) {
		str_add(out, at);
	} else {
		str_addf(out, "%s%lld", k->before, (long long)number);
	}
}

/** A curve is called by what is not the same for all; table and variant say
 *  enough where they tell all of them apart. */
static void name_curve(const struct sweep *s, struct curve *c)
{
	struct str name = STR_INIT;

	for (size_t i = 0; i < KEYS; i++) {
		bool differs = false;

		for (size_t k = 0; k < s->n_curves; k++) {
			differs = differs ||
				  compare_key(&keys[i], s->curves[k].first,
					      c->first) != 0;
		}
		if (differs && !(i > 1 && name.len &&
				 (c->first->table[0] ||
				  c->first->variant[0]))) {
			add_key(&keys[i], c->first, &name);
		}
	}
	if (name.len == 0) {
		add_key(&keys[c->first->table[0] ? 0 :
			       c->first->variant[0] ? 1 : 2], c->first, &name);
	}
	STR_COPY(c->name, str_text(&name));
	str_release(&name);
}

static const struct order_key by_size[] = {
	ORDER_ITEM(ORDER_POINTEE),
	ORDER_UP(struct collective_row, size_B),
	ORDER_UP(struct collective_row, inplace),
	ORDER_ITEM(ORDER_PLACE),
	ORDER_END
};

int sweep_group(struct sweep *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *row = &s->rows[i];
		struct curve *c = curve_of(s, row);

		if (!c || !grow_add(&c->rows, &c->n, &row, sizeof(row))) {
			return -1;
		}
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		order_sort(s->curves[i].rows, s->curves[i].n,
			   sizeof(*s->curves[i].rows), by_size);
		name_curve(s, &s->curves[i]);
	}
	return 0;
}

/* Index of the first row of at least @size_B. */
static size_t curve_from(const struct curve *c, int64_t size_B)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->rows[mid]->size_B < size_B) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low;
}

const struct collective_row *curve_at(const struct curve *c, int64_t size_B,
				      int64_t inplace)
{
	const struct collective_row *found = NULL;

	/* the last of several: a run that was resumed measured it again */
	for (size_t i = curve_from(c, size_B);
	     i < c->n && c->rows[i]->size_B == size_B; i++) {
		if (inplace < 0 || c->rows[i]->inplace == inplace) {
			found = c->rows[i];
		}
	}
	return found;
}

/* ---- curve diff ---------------------------------------------------------- */

/** How much more of two settings is the same, besides. */
static int likeness(const struct collective_row *a,
		    const struct collective_row *b)
{
	return (strcmp(a->table, b->table) == 0) +
	       2 * (strcmp(a->variant, b->variant) == 0) +
	       2 * (strcmp(a->algo, b->algo) == 0) +
	       2 * (strcmp(a->proto, b->proto) == 0) +
	       (strcmp(a->lib, b->lib) == 0);
}

/** The GB/s of @row as a share of its ceiling; NAN: that is not known. */
static double share_of(const struct machine *m,
		       const struct collective_row *row)
{
	struct ceiling most, least;

	ceiling_of_row(m, row, &most, &least);
	return row->busbw_GB_s / least.GB_s;
}

/** The curve of @among that is most like @c, of the same collective and type;
 *  NULL: none.  By their @shares of the ceiling, the sizes of the runs may
 *  differ if the ceiling is known; else ranks and nodes are the same too. */
static const struct curve *partner_of(const struct curve *c,
				      const struct sweep *among, bool shares)
{
	const struct collective_row *x = c->first;
	const struct curve *best = NULL;

	for (size_t i = 0; i < among->n_curves; i++) {
		const struct curve *other = &among->curves[i];
		const struct collective_row *y = other->first;

		if (row_texts_agree(x->op, y->op) &&
		    row_texts_agree(x->dtype, y->dtype) &&
		    row_texts_agree(x->redop, y->redop) &&
		    (shares ? isfinite(share_of(&among->machine, y)) :
			      row_numbers_agree(x->ranks, y->ranks) &&
			      row_numbers_agree(x->nodes, y->nodes)) &&
		    (!best || likeness(x, y) > likeness(x, best->first))) {
			best = other;
		}
	}
	return best;
}

static bool has_figure(const struct collective_row *row)
{
	return row->outcome == OUTCOME_OK &&
	       (isfinite(row->time_us) || isfinite(row_bandwidth(row)));
}

/** How fast @now is in relation to @then; NAN if that is not known. */
static double ratio_of(const struct curve_diff *d,
		       const struct collective_row *now,
		       const struct collective_row *then)
{
	double ratio;

	if (d->shares) {
		return share_of(d->m_now, now) / share_of(d->m_then, then);
	}
	ratio = then->time_us / now->time_us;
	/* without times */
	return isfinite(ratio) ? ratio :
				 row_bandwidth(now) / row_bandwidth(then);
}

static int add_points(struct curve_diff *d, int64_t inplace)
{
	for (size_t i = 0; i < d->now->n; i++) {
		const struct collective_row *now = d->now->rows[i], *then;
		const double band = curve_band(now->size_B);
		struct point_diff p;

		if (now->inplace != inplace ||
		    (d->shares && now->size_B < CEILING_LARGE_B) ||
		    curve_at(d->now, now->size_B, inplace) != now) {
			continue;
		}
		then = curve_at(d->then, now->size_B, inplace);
		if (!then || then->outcome != OUTCOME_OK) {
			d->failing += then &&
				      cells_outcome_failed(then->outcome) &&
				      cells_outcome_failed(now->outcome);
			continue;
		}
		p = (struct point_diff){
			.size_B = now->size_B, .inplace = inplace,
			.now = now, .then = then,
			.ratio = ratio_of(d, now, then),
		};
		if (!cells_outcome_failed(now->outcome) && isnan(p.ratio)) {
			d->missing += has_figure(then);
			continue;
		}
		p.change = now->outcome != OUTCOME_OK ? POINT_LOST :
			   p.ratio < 1 - band	      ? POINT_WORSE :
			   p.ratio > 1 + band	      ? POINT_BETTER :
							POINT_SAME;
		if (!grow_add(&d->points, &d->n, &p, sizeof(p))) {
			return -1;
		}
	}
	return 0;
}

static int compare(struct curve_diff *d)
{
	static const int64_t ways[] = { 0, 1, RECORD_NONE };
	const struct curve *now = d->now, *then = d->then;
	enum point_change was = POINT_SAME, before;

	for (size_t i = 0; i < 3; i++) {
		if (add_points(d, ways[i]) < 0) {
			curve_diff_release(d);
			return -1;
		}
	}
	/* rows of @then that @now does not have */
	for (size_t i = 0; i < then->n; i++) {
		const struct collective_row *row = then->rows[i];
		/* a row that does not say where it was measured may be it */
		const struct collective_row *any =
			curve_at(now, row->size_B, -1);

		d->missing +=
			has_figure(row) &&
			curve_at(then, row->size_B, row->inplace) == row &&
			!curve_at(now, row->size_B, row->inplace) &&
			!(any && any->inplace == RECORD_NONE);
	}
	/* a point that is off while the ones beside it are not is noise; where
	 * there is none beside it, it is believed */
	for (size_t i = 0; i < d->n; i++) {
		struct point_diff *p = &d->points[i];
		bool first = i == 0 || p[-1].inplace != p->inplace;
		bool last = i + 1 == d->n || p[1].inplace != p->inplace;

		before = was;	/* it may be marked already */
		was = p->change;
		if ((was == POINT_WORSE || was == POINT_BETTER) &&
		    !(first && last) && (first || before != was) &&
		    (last || p[1].change != was)) {
			p->change = POINT_NOISY;
		}
		d->count[p->change]++;
	}
	return 0;
}

int curve_compare_with(const struct curve *now, const struct sweep *of,
		       const struct sweep *among, struct curve_diff *d)
{
	const struct curve *then = partner_of(now, among, false);
	bool shares = !then && isfinite(share_of(&of->machine, now->first));

	then = shares ? partner_of(now, among, true) : then;
	*d = (struct curve_diff){ .now = now, .then = then, .shares = shares,
				  .m_now = &of->machine,
				  .m_then = &among->machine };
	return !then ? 0 : compare(d) < 0 ? -1 : 1;
}

void curve_diff_release(struct curve_diff *d)
{
	free(d->points);
	*d = (struct curve_diff){ 0 };
}

void curve_diff_sizes(const struct curve_diff *d, enum point_change change,
		      struct str *out)
{
	const char *comma = "";
	char from[32], to[32];
	size_t end;

	for (size_t i = 0; i < d->n; i = end) {
		const struct point_diff *p = &d->points[i];
		double sum = 0;

		for (end = i; end < d->n && d->points[end].change == change &&
			      d->points[end].inplace == p->inplace; end++) {
			sum += d->points[end].ratio;
		}
		if (end == i) {
			end++;
			continue;
		}
		units_size_text((uint64_t)p->size_B, from, sizeof(from));
		units_size_text((uint64_t)d->points[end - 1].size_B, to,
				sizeof(to));
		str_addf(out, "%s%s%s%s%s", comma, from,
			 end - i > 1 ? " to " : "", end - i > 1 ? to : "",
			 p->inplace == 1 ? " in place" : "");
		if (isfinite(sum)) {
			str_addf(out, " at %.0f %%",
				 100 * sum / (double)(end - i));
		}
		comma = ", ";
	}
}

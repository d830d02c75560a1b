/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a run as CSV: of pairs one line each. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"

/** Write @row, quoted anew: any user may have written it. */
static void put_row(const struct csv_row *row, struct str *line, FILE *out)
{
	str_reset(line);
	for (size_t i = 0; i < row->n; i++) {
		str_add(line, i ? "," : "");
		csv_add_field(line, row->field[i]);
	}
	str_addch(line, '\n');
	fputs(str_text(line), out);
}

/** Write a row for each planned pair that has none; @h has the columns. */
static void put_missing(const struct run *run, const struct csv_row *h,
			struct str *line, FILE *out)
{
	struct p2p_row row;

	run_foreach_cell(run, at) {
		const int src = run_src(run, at), dst = run_dst(run, at);
		const struct cluster_rank *s = &run->ranks[src];
		const struct cluster_rank *d = &run->ranks[dst];

		if (run->cell_row[at] || run->cells[at].class ==
						 CELL_UNPLANNED) {
			continue;
		}
		record_init(&schema_p2p, &row);
		row.src_rank = src;
		row.dst_rank = dst;
		row.src_gpu = s->gpu;
		row.dst_gpu = d->gpu;
		STR_COPY(row.src_node, run->nodes[s->node].name);
		STR_COPY(row.dst_node, run->nodes[d->node].name);
		STR_COPY(row.src_nic, s->nic_name);
		STR_COPY(row.dst_nic, d->nic_name);
		STR_COPY(row.transport, run->transport);
		STR_COPY(row.schedule, run->schedule);
		row.size_B = run->size_B > 0 ? run->size_B : RECORD_NONE;
		str_reset(line);
		record_add_named(&schema_p2p, &row,
				 (const char *const *)h->field, h->n, line);
		fputs(str_text(line), out);
	}
}

/** Copy the first line into @h, or the columns of the schema if there is none:
 *  a run that was imported may have other columns, and another order.  The
 *  caller frees the fields, after an error too. */
static int take_header(struct csv_reader *r, struct csv_row *h, struct err *e)
{
	struct csv_row row = { .n = 0 };
	int got = r->f ? csv_next(r, &row, e) : 0;

	for (const struct column *c = schema_p2p.columns;
	     got == 0 && c->name; c++) {
		row.field[row.n++] = c->name;
	}
	for (size_t i = 0; got >= 0 && i < row.n; i++) {
		h->field[h->n] = strdup(row.field[i]);
		if (!h->field[h->n]) {
			return -1;
		}
		h->n++;
	}
	return got;
}

/** Return true if @line is wanted: all, or, with @bits, a bit for each of the
 *  @lines lines, those that decide a cell. */
static bool wants(const uint8_t *bits, size_t lines, size_t line)
{
	return !bits || (line <= lines && bits[line / 8] >> line % 8 & 1);
}

#define PLAIN_BYTES 65536	/* that are written in one go, at most */

/** Copy the rest of @r; rows that are harmless stay unchanged. */
static int copy_rows(struct csv_reader *r, const uint8_t *bits, size_t lines,
		     struct str *line, FILE *out, struct err *e)
{
	struct str plain = STR_INIT;
	struct csv_row row;
	const char *raw;
	int got = 1;
	size_t n;

	while (got == 1) {
		bool as_it_is = csv_next_plain(r, &raw, &n);

		if (as_it_is && wants(bits, lines, r->line)) {
			str_addmem(&plain, raw, n);
		}
		if (!as_it_is || plain.len > PLAIN_BYTES) {
			fwrite(str_text(&plain), 1, plain.len, out);
			str_reset(&plain);
		}
		if (!as_it_is) {
			got = csv_next(r, &row, e);
			if (got == 1 && wants(bits, lines, r->line)) {
				put_row(&row, line, out);
			}
		}
	}
	got = plain.failed ? -1 : got;	/* judged_csv() has said so */
	str_release(&plain);
	return got;
}

/** All rows of @r, or those of @run's cells. */
static int put_rows(struct csv_reader *r, const struct run *run, FILE *out,
		    struct err *e)
{
	struct csv_row header = { .n = 0 };
	struct str line = STR_INIT;
	size_t lines = 0;
	uint8_t *bits = NULL;
	int got = 1;

	if (run) {
		run_foreach_cell(run, at) {
			lines = run->cell_row[at] > lines ? run->cell_row[at] :
							    lines;
		}
		bits = calloc(lines / 8 + 1, 1);
		got = bits ? take_header(r, &header, e) : -1;
	}
	for (size_t at = 0; bits && at < run_n_cells(run); at++) {
		bits[run->cell_row[at] / 8] |=
			(uint8_t)(1u << run->cell_row[at] % 8);
	}
	if (run && got >= 0) {
		put_row(&header, &line, out);
	}
	if (got == 1) {
		got = copy_rows(r, bits, lines, &line, out, e);
	}
	if (run && got == 0) {
		put_missing(run, &header, &line, out);
	}
	while (header.n > 0) {
		free((void *)(uintptr_t)header.field[--header.n]);
	}
	str_release(&line);
	free(bits);
	return got;
}

int judged_csv(const struct judged *j, FILE *out, struct err *e)
{
	const struct run *run = j->run.cell_row ? &j->run : NULL;
	struct err why = { 0 };
	FILE *f = rundir_open(j->dir, j->kind->csv ? j->kind->csv : RUN_RESULTS,
			      &why);
	struct csv_reader r;
	int rc = -1;

	/* a run of pairs without any row is one of pairs that were not run */
	if (f || (run && why.code == ENOENT)) {
		why = (struct err){ .code = ENOMEM,
				    .text = "cannot hold the rows" };
		csv_reader_init(&r, f);
		rc = put_rows(&r, run, out, &why);
		csv_reader_release(&r);
	}
	if (f) {
		fclose(f);
	}
	if (rc == 0 && ferror(out)) {
		rc = err_set(&why, errno, "cannot write the rows");
	}
	if (rc < 0 && e) {
		*e = why;
	}
	return rc;
}

void judged_schema(const struct judged *j, FILE *out)
{
	const struct {
		const char *file;
		const struct schema *schema;	/* NULL: it has none */
	} files[] = {
		{ RUN_RESULTS, j->run.schema },
		{ RUN_FINAL, run_has_final(&j->run) ? j->run.schema : NULL },
		{ RUN_FACTS, &schema_facts },
		{ RUN_EVENTS, &schema_events },
		{ RUN_DIAGNOSE, j->run.n_diagnose > 0 ? &schema_diagnose :
							NULL },
	};
	struct str line = STR_INIT;

	str_add(&line, "file,schema,column,type,help\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const struct column *c =
			files[i].schema ? files[i].schema->columns : NULL;

		for (; c && c->name; c++) {
			str_addf(&line, "%s,%d,%s,%s,", files[i].file,
				 RECORD_SCHEMA, c->name,
				 column_type_names[c->type]);
			csv_add_field(&line, c->help);
			str_addch(&line, '\n');
		}
	}
	fputs(str_text(&line), out);
	str_release(&line);
}

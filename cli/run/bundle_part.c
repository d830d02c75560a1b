/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a run, as it goes into the archive: redacted, and what matters of
 * it where it is too large. */
#include "cli/run/bundle_part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

#define PARTS_MOST 16384	/* bytes */

/** The nodes that @verdict's findings name. */
static void learn_accused(struct bundle *b, const json_t *verdict)
{
	static const char *const keys[] = { "node", "peer_node" };
	json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		for (size_t k = 0; k < 2; k++) {
			const char *node = json_member(finding, keys[k]);

			if (node[0]) {
				json_object_set_new(b->accused, node,
						    json_true());
			}
		}
	}
}

int part_json(struct bundle *b, const char *name, size_t most, struct str *text,
	      struct str *note, struct err *e)
{
	json_t *json = rundir_read_json(b->dir, name, e);
	json_t *hidden = json ? redact_json(&b->hide, json) : NULL;

	if (!json) {
		return -1;
	}
	(void)note;
	learn_accused(b, json);
	json_add(hidden, JSON_INDENT(2) | JSON_REAL_PRECISION(15), text);
	str_addch(text, '\n');
	json_decref(json);
	json_decref(hidden);
	return text->len > most ?
		       err_set(e, 0, "%zu bytes are too many", text->len) : 0;
}

/** Facts by which a vendor knows a part. */
static const char *const part_facts[] = {
	"name", "serial", "uuid", "bus", "board", "board_serial", "firmware",
	"vbios", "driver", "port_guid", "product", NULL
};

/** Does it speak of a node that is accused, or of a test that failed? */
static bool matters(const struct bundle *b, const struct csv_row *head,
		    const struct csv_row *row)
{
	for (size_t i = 0; i < row->n && i < head->n; i++) {
		const char *column = head->field[i];
		const char *value = row->field[i];

		if (str_ends(column, "node") ?
			    json_object_get(b->accused, value) != NULL :
		    strcmp(column, "outcome") == 0 &&
			    strcmp(value, "ok") != 0) {
			return true;
		}
	}
	return false;
}

static void add_row(struct bundle *b, const struct csv_row *row, bool is_head,
		    struct str *line)
{
	const char *before = "";

	str_reset(line);
	for (size_t i = 0; i < row->n; i++) {
		struct str field = STR_INIT;

		/* a fact stands behind its name */
		redact_value(&b->hide, is_head ? "" : before, row->field[i],
			     &field);
		before = row->field[i];
		if (i > 0) {
			str_addch(line, ',');
		}
		csv_add_field(line, str_text(&field));
		str_release(&field);
	}
	str_addch(line, '\n');
}

/** node,scope,fact,value of a part that a finding may name. */
static void note_part(struct bundle *b, const struct csv_row *row)
{
	struct str line = STR_INIT, hidden = STR_INIT;

	if (row->n < 4 || str_index(part_facts, row->field[2]) < 0 ||
	    !json_object_get(b->accused, row->field[0]) ||
	    b->parts.len > PARTS_MOST) {
		return;
	}
	str_addf(&line, "    %-12s %-10s %-10s %s\n", row->field[0],
		 row->field[1], row->field[2], row->field[3]);
	redact_text(&b->hide, str_text(&line), line.len, &hidden);
	/* each run of several has asked */
	if (!strstr(str_text(&b->parts), str_text(&hidden))) {
		str_add(&b->parts, str_text(&hidden));
	}
	str_release(&line);
	str_release(&hidden);
}

/** Rows of a table in the order of the file: those that matter, and as many of
 *  the others as there is room for. */
struct rows {
	size_t all, taken;
	size_t matter_B;	/* of those that matter, as they stand there,
				 * and of the names of the columns */
};

/** Once to count, and once to take, with @text. */
static int read_rows(struct bundle *b, const char *name, size_t most,
		     struct rows *rows, struct str *text, struct err *e)
{
	const bool facts = str_ends(name, RUN_FACTS);
	FILE *f = rundir_open(b->dir, name, e);
	struct str line = STR_INIT;
	struct csv_row head = { .n = 0 }, row;
	struct csv_reader head_reader, r;
	size_t other_B = 0, raw_B;
	FILE *again;
	int got;

	if (!f) {
		return -1;
	}
	/* the names of the columns stay while the rows go by */
	again = rundir_open(b->dir, name, e);
	if (!again) {
		fclose(f);
		return -1;
	}
	csv_reader_init(&head_reader, again);
	csv_reader_init(&r, f);
	got = csv_next(&head_reader, &head, e);
	if (got == 1) {
		got = csv_next(&r, &row, e);
	}
	if (got == 1) {
		add_row(b, &row, true, &line);
		rows->matter_B += text ? 0 : line.len;
		if (text) {
			str_addmem(text, str_text(&line), line.len);
		}
	}
	while (got == 1 && (got = csv_next(&r, &row, e)) == 1) {
		const bool is_matter = matters(b, &head, &row);

		csv_raw(&r, &raw_B);
		if (!text) {
			rows->all++;
			rows->matter_B += is_matter ? raw_B : 0;
			continue;
		}
		if (facts) {
			note_part(b, &row);
		}
		if (!is_matter && rows->matter_B + other_B + raw_B > most) {
			continue;
		}
		add_row(b, &row, false, &line);
		if (text->len + line.len > most) {
			continue;
		}
		other_B += is_matter ? 0 : line.len;
		str_addmem(text, str_text(&line), line.len);
		rows->taken++;
	}
	csv_reader_release(&head_reader);
	csv_reader_release(&r);
	str_release(&line);
	fclose(again);
	fclose(f);
	return got;
}

int part_rows(struct bundle *b, const char *name, size_t most, struct str *text,
	      struct str *note, struct err *e)
{
	struct rows rows = { 0 };

	if (read_rows(b, name, most, &rows, NULL, e) < 0 ||
	    read_rows(b, name, most, &rows, text, e) < 0) {
		return -1;
	}
	if (rows.taken < rows.all) {
		str_addf(note, "%zu of %zu rows", rows.taken, rows.all);
	}
	return 0;
}

/** @len bytes of @fd from @at, or fewer, redacted; of what does not begin with
 *  the file, whole lines. */
static int take_piece(struct bundle *b, int fd, off_t at, size_t len,
		      struct str *text)
{
	char *buf = malloc(len);
	const char *from = buf, *newline;
	ssize_t got = buf ? pread(fd, buf, len, at) : -1;

	if (got > 0 && at > 0) {
		newline = memchr(buf, '\n', (size_t)got);
		from = newline ? newline + 1 : buf + got;
	}
	if (got > 0) {
		redact_text(&b->hide, from, (size_t)(buf + got - from), text);
	}
	free(buf);
	return got < 0 ? -1 : 0;
}

int part_ends(struct bundle *b, const char *name, size_t most, struct str *text,
	      struct str *note, struct err *e)
{
	int fd = rundir_open_fd(b->dir, name, O_RDONLY, e), rc;
	struct stat st;
	off_t size;

	if (fd < 0) {
		return -1;
	}
	size = fstat(fd, &st) == 0 ? st.st_size : 0;
	if (size <= (off_t)most) {
		rc = take_piece(b, fd, 0, most, text);
	} else {
		rc = take_piece(b, fd, 0, most / 4, text);
		str_addf(note, "%zu of %" PRId64 " bytes: its begin and end",
			 most, (int64_t)size);
		str_addf(text, "\n[gpucheck bundle: bytes are left out "
			       "here]\n");
		rc |= take_piece(b, fd, size - (off_t)(most * 3 / 4),
				 most * 3 / 4, text);
	}
	close(fd);
	return rc < 0 ? err_set(e, errno, "cannot read '%s'", name) : 0;
}

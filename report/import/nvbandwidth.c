/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrices of nvbandwidth, text and JSON.  Between GPUs, a write test copies
 * from the row's GPU to the column's and a read test the other way: so does its
 * source, while the arrow that it prints points the other way for both.  With a
 * CPU the arrow is right.
 */
#include "report/import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MAX 4096

struct nvbandwidth_place {
	char node[64];		/* "": not said */
	int64_t gpu;
};

struct nvbandwidth {
	struct import *x;
	/* the matrix, by its test and title */
	char name[96];		/* device_to_device_memcpy_write_ce */
	char title[96];		/* memcpy CE GPU(row) <- GPU(column) ... */
	bool open;		/* the line of columns was met */
	bool skip;		/* the sum of two others, or no result */
	bool sample;		/* of p2pBandwidthLatencyTest */
	char host[64];		/* a line of one word: the name, if devices
				 * follow */
	struct nvbandwidth_place *places;	/* [rank]; NULL: one node */
	struct import_tokens k;	/* of the line at hand */
};

/* ---- cells --------------------------------------------------------------- */

/* Return true if the data of a cell go from the row to the column. */
static bool is_from_row(const struct nvbandwidth *p)
{
	bool second = strstr(p->title, "Read2") || strstr(p->title, "Write2");

	if (strstr(p->title, "GPU(row)") && !p->name[0]) {
		/* a matrix alone: a write test prints this arrow */
		return strstr(p->title, "<-") && !second;
	}
	if (strstr(p->title, "GPU(row)")) {
		/* of two at once, the second goes the other way */
		return (strstr(p->name, "_read") != NULL) == second;
	}
	return !str_starts(p->name, "device_to_host") &&
	       !strstr(p->title, ") <- ");
}

static void set_end(const struct nvbandwidth *p, bool gpu, size_t index,
		    char node[64], int64_t *at_gpu, int64_t *rank)
{
	bool placed = gpu && p->places && p->places[index].node[0];

	str_copy(node, 64, placed ? p->places[index].node : p->host);
	if (gpu) {
		*at_gpu = placed ? p->places[index].gpu : (int64_t)index;
		*rank = (int64_t)index;
	}
}

/** A cell of p2pBandwidthLatencyTest, with P2P or through the host, as "detail"
 *  says: from the row to the column.  A read goes the other way, and so does
 *  what old versions did with P2P, which do not say that it is a write. */
static int add_sample(struct nvbandwidth *p, int64_t row, int64_t column,
		      double value, struct err *e)
{
	const bool write = strstr(p->title, "Writes");
	const bool back = strstr(p->title, "Reads") ||
			  (!write && strstr(p->title, "P2P=Enabled"));
	struct p2p_row r;

	record_init(&schema_p2p, &r);
	r.attempt = 1;
	STR_COPY(r.transport, "cuda");
	STR_COPY(r.schedule, "serial");
	STR_COPY(r.path, "CE");
	STR_COPY(r.op, write ? "write" :
		       strstr(p->title, "Reads") ? "read" : "copy");
	STR_COPY(r.mode, strstr(p->title, "Bidirectional") ? "bidi" : "uni");
	STR_COPY(r.memory, "gpu");
	snprintf(r.detail, sizeof(r.detail), "%s", p->title);
	STR_COPY(r.src_node, p->host);
	STR_COPY(r.dst_node, p->host);
	r.src_gpu = r.src_rank = back ? column : row;
	r.dst_gpu = r.dst_rank = back ? row : column;
	*(strstr(p->title, "(us)") ? &r.lat_us : &r.bw_GB_s) = value;
	r.outcome = OUTCOME_OK;
	return row == column ? 0 : import_add(p->x, &schema_p2p, &r, e);
}

/** A cell of the matrix, as it is printed. */
static int add_cell(struct nvbandwidth *p, size_t row, size_t column,
		    const char *text, struct err *e)
{
	bool gpus = strstr(p->title, "GPU(row)") != NULL;
	bool from_row = is_from_row(p);
	/* all others at once, a multicast: no single GPU is the other end */
	bool one = strstr(p->title, "(row)") != NULL;
	double value = import_real(text);
	struct p2p_row r;

	if (p->skip || !(value > 0) || row >= GPUS_MAX || column >= GPUS_MAX) {
		return 0;	/* N/A: a GPU to itself, or no way */
	}
	if (p->sample) {
		return add_sample(p, (int64_t)row, (int64_t)column, value, e);
	}
	record_init(&schema_p2p, &r);
	r.attempt = 1;
	STR_COPY(r.transport, "cuda");
	STR_COPY(r.schedule, "serial");
	STR_COPY(r.path, strstr(p->title, " SM ") ? "SM" : "CE");
	STR_COPY(r.op, strstr(p->name, "read") ? "read" :
		       strstr(p->name, "write") ? "write" : "copy");
	STR_COPY(r.mode, strstr(p->title, "<->") &&
			 !strstr(p->title, "(ns)") ? "bidi" : "uni");
	STR_COPY(r.memory, strstr(p->title, "CPU") ? "host" : "gpu");
	STR_COPY(r.detail, p->name);
	if (strstr(p->title, "local")) {
		set_end(p, true, column, r.src_node, &r.src_gpu, &r.src_rank);
	} else if (one || !from_row) {
		set_end(p, gpus || !from_row, from_row ? row : column,
			r.src_node, &r.src_gpu, &r.src_rank);
	}
	set_end(p, gpus || from_row, from_row ? column : row, r.dst_node,
		&r.dst_gpu, &r.dst_rank);
	*(strstr(p->title, "(ns)") ? &r.lat_us : &r.bw_GB_s) =
		strstr(p->title, "(ns)") ? value / 1000 : value;
	r.outcome = OUTCOME_OK;
	return import_add(p->x, &schema_p2p, &r, e);
}

/** The test that was begun came to nothing. */
static int add_error(struct nvbandwidth *p, const char *why, struct err *e)
{
	struct p2p_row r;

	record_init(&schema_p2p, &r);
	STR_COPY(r.transport, "cuda");
	STR_COPY(r.src_node, p->host);
	STR_COPY(r.code, "no_success");
	snprintf(r.detail, sizeof(r.detail), "%s: %s", p->name, why);
	r.outcome = OUTCOME_ERROR;
	return import_add(p->x, &schema_p2p, &r, e);
}

static void set_title(struct nvbandwidth *p, const char *title)
{
	STR_COPY(p->title, title);
	p->open = false;
	p->skip = strstr(title, "<->") && strstr(title, "Total");
}

/* ---- text ---------------------------------------------------------------- */

/** How lines begin that tell nothing of use. */
static const char *const idle[] = {
	"nvbandwidth Version", "Built from Git", "MPI version", "CUDA ",
	"Driver Version", "NOTE: ", "Performance can vary", "SUM ", "MIN ",
	"MAX ", "AVERAGE ", "COUNT ", "Device ", "Process ", "Device: ",
	"Device=", "***NOTE", "So you can see", "[P2P (Peer-to-Peer)", NULL
};

static int take_line(struct nvbandwidth *p, struct err *e)
{
	const char *line = p->x->line;
	struct import_tokens *k = &p->k;
	int64_t row;
	char host[64];
	int rank, gpu;

	import_split(line, k);
	/* the last word may lack digits */
	k->n -= p->x->unended && k->n > 0;
	row = k->n > 0 ? import_int(k->at[0]) : -1;
	if (p->title[0] && row >= 0 && row < GPUS_MAX) {
		/* cells, below the line of columns: 0 1 2 3 */
		for (size_t i = 1; p->open && i < k->n; i++) {
			if (add_cell(p, (size_t)row, i - 1, k->at[i], e) < 0) {
				return -1;
			}
		}
		p->open = true;
		return 0;
	}
	/* "Process 1 (n2): device 0: NVIDIA GB200 (..)": who rank 1 is */
	if (sscanf(line, "Process %4d (%63[^)]): device %4d:", &rank, host,
		   &gpu) == 3 && rank >= 0 && rank < GPUS_MAX && gpu >= 0) {
		STR_COPY(p->places[rank].node, host);
		p->places[rank].gpu = gpu;
	}
	if (strstr(line, "Matrix") && strstr(line, "P2P")) {
		set_title(p, line);
		p->sample = true;
		p->skip = strstr(line, "Connectivity") != NULL;
	} else if (p->sample && k->n > 1 && import_int(k->at[1]) == 0) {
		/* "D\D 0 1", "GPU 0 1"; what "CPU 0 1" has is the time of the
		 * calls */
		p->open = true;
		p->skip = p->skip || strcmp(k->at[0], "CPU") == 0;
	} else if (str_starts(line, "Running ") && k->n == 2) {
		set_title(p, "");
		p->sample = false;
		snprintf(p->name, sizeof(p->name), "%.*s",
			 (int)strcspn(k->at[1], "."), k->at[1]);
	} else if (strstr(line, "GPU(") || strstr(line, "All -> ")) {
		set_title(p, line);
		p->sample = false;
	} else if (str_starts(line, "Waived")) {
		import_note(p->x, "nvbandwidth waived a test: this machine "
			    "cannot run it");
	} else if (p->name[0] && (str_starts(line, "Error: ") ||
				  str_starts(line, "ASSERT in "))) {
		return add_error(p, line[0] == 'A' ? line :
						     line + strlen("Error: "),
				 e);
	} else if (k->n == 1 && !p->name[0] && !p->title[0] &&
		   isalnum((unsigned char)line[0])) {
		STR_COPY(p->host, k->at[0]);
	} else if (line[strspn(line, " ")] &&
		   !import_has_any(line, idle, true)) {
		import_unknown(p->x, line);
	}
	return 0;
}

int import_nvbandwidth(struct import *x, FILE *f, struct err *e)
{
	struct nvbandwidth p = {
		.x = x, .places = calloc(GPUS_MAX, sizeof(*p.places)),
	};
	int rc = p.places ? 0 :
			    err_set(e, ENOMEM, "cannot read '%s'", x->file);

	while (rc == 0 && import_next_line(x, f)) {
		rc = take_line(&p, e);
	}
	free(p.places);
	return rc;
}

/* ---- JSON ---------------------------------------------------------------- */

static int read_testcase(struct nvbandwidth *p, const json_t *test,
			 struct err *e)
{
	const struct import_object t = import_object(test);
	const json_t *row, *cell;
	size_t i, k;

	STR_COPY(p->name, t.name);
	set_title(p, t.title);
	if (strcmp(t.status, "Waived") == 0) {
		import_note(p->x, "nvbandwidth waived a test: this machine "
			    "cannot run it");
	} else if (strcmp(t.status, "Error") == 0 || t.error[0]) {
		return add_error(p, t.error[0] ? t.error : t.status, e);
	}
	json_array_foreach(t.matrix, i, row) {
		json_array_foreach(row, k, cell) {
			const char *text = json_string_value(cell);

			if (text && add_cell(p, i, k, text, e) < 0) {
				return -1;
			}
		}
	}
	return 0;
}

int import_nvbandwidth_json(struct import *x, const json_t *top, struct err *e)
{
	const struct import_object body = import_object(
		import_object(top).nvbandwidth);
	struct nvbandwidth p = { .x = x };
	const char *device = json_string_value(json_array_get(body.gpus, 0));
	const json_t *test;
	size_t i;
	int rc = 0;
	/* "0: NVIDIA H200 (00000000:00:06): (n1)": the node is the last in
	 * () */
	const char *at = strrchr(device ? device : "", '(');

	if (at) {
		snprintf(p.host, sizeof(p.host), "%.*s",
			 (int)strcspn(at + 1, ")"), at + 1);
	}
	if (body.error[0]) {
		STR_COPY(p.name, "nvbandwidth");
		rc = add_error(&p, body.error, e);
	}
	json_array_foreach(body.testcases, i, test) {
		if (rc == 0) {
			rc = read_testcase(&p, test, e);
		}
	}
	return rc;
}

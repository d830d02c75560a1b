/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of the control star: frames, orders and reports from a peer. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "probes/sim/model.h"
#include "probes/transport/order.h"
#include "probes/engine/net/wire.h"

static json_t *order_json(const struct order *o)
{
	struct str bytes = STR_INIT;
	json_t *text;
	char *hex;

	order_add(o, &bytes);
	hex = malloc(2 * bytes.len + 1);
	if (hex == NULL) {
		abort();
	}
	hash_hex(bytes.data, bytes.len, hex);
	text = json_string(hex);
	free(hex);
	str_release(&bytes);
	return text;
}

/** What is taken is written as it was. */
static void check_entries(const json_t *msg, struct order *o)
{
	struct order_report r;
	json_t *v, *again;
	size_t i;

	json_array_foreach(json_object_get(msg, "orders"), i, v) {
		if (order_parse(v, o, NULL) == 0) {
			again = order_json(o);
			if (order_parse(again, o, NULL) < 0) {
				abort();
			}
			json_decref(again);
		}
	}
	json_array_foreach(json_object_get(msg, "reports"), i, v) {
		if (order_report_parse(v, &r, NULL) == 0) {
			again = order_report_json(&r);
			order_report_release(&r);
			if (order_report_parse(again, &r, NULL) < 0) {
				abort();
			}
			order_report_release(&r);
			json_decref(again);
		}
	}
}

static void check_word(const json_t *v)
{
	struct order_word o, back;
	json_t *again;

	if (order_word_parse(v, &o, NULL) < 0) {
		return;
	}
	again = order_word_json(&o);
	if (order_word_parse(again, &back, NULL) < 0 || back.id != o.id ||
	    back.rank != o.rank || strcmp(back.text, o.text) != 0) {
		abort();
	}
	json_decref(again);
}

/** A list is the same without a tree, entry by entry, and fits the table where
 *  it is taken. */
static void check_list(const json_t *msg)
{
	enum message_type type = message_type(msg);
	const json_t *list = list_texts(msg, type), *v;
	struct str bytes = STR_INIT, entry = STR_INIT;
	struct list_out out = { 0 };
	struct list_in in;
	const void *same;
	size_t i, n;

	json_array_foreach(list, i, v) {
		check_word(v);
		if (list_takes(&out, type) &&
		    list_unhex(json_string_value(v), json_string_length(v),
			       &entry)) {
			list_add(&out, type, entry.data, entry.len);
		}
	}
	n = out.n;
	if (n > 0) {
		list_write(&out, &bytes);
		if (!list_open(&in, bytes.data, bytes.len,
			       messages[type].ways)) {
			abort();
		}
	}
	for (i = 0; n > 0 && in.n > 0; i++) {
		v = json_array_get(list, i);
		if (list_unhex(json_string_value(v), json_string_length(v),
			       &entry) &&
		    ((same = list_next(&in, &n)) == NULL || n != entry.len ||
		     memcmp(same, entry.data, n) != 0)) {
			abort();
		}
	}
	list_release(&out);
	str_release(&bytes);
	str_release(&entry);
}

/** Any bytes may stand where a list does. */
static void read_list(const uint8_t *data, size_t size)
{
	struct order_report r;
	struct list_in in;
	const void *entry;
	size_t n;

	if (!list_open(&in, data, size, MSG_PASSED_UP | MSG_PASSED_DOWN)) {
		return;
	}
	while ((entry = list_next(&in, &n)) != NULL) {
		if (order_report_read(entry, n, &r, NULL) == 0) {
			order_report_release(&r);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What fits the table by one way has a type, and fits it as it is built. */
static void check_table(json_t *msg)
{
	for (int way = MSG_TO_COORDINATOR; way <= MSG_TO_WORKER; way *= 2) {
		if (message_check(msg, (enum message_way)way, NULL) == 1) {
			enum message_type type = message_type(msg);
			json_t *again = message_of(type, json_copy(msg));

			if (!json_equal(again, msg)) {
				abort();
			}
			json_decref(again);
		}
	}
}

/** What was read comes back as it was, however it is written. */
static void check_frame(const json_t *msg)
{
	struct wire_buf b = { 0 };
	json_t *back = NULL;

	if (wire_frame(msg, &b.bytes) == 0 &&
	    (wire_buf_next(&b, &back, NULL) != 1 || !json_equal(msg, back))) {
		abort();
	}
	json_decref(back);
	wire_buf_release(&b);
}

/** An order that is taken survives being written again, and can be done. */
static void check_collective(const json_t *msg)
{
	struct collective_order o, back;
	struct collective_result r;
	json_t *json;

	collective_result_parse(msg, &r, NULL);
	if (collective_order_parse(msg, &o, NULL) < 0) {
		return;
	}
	json = collective_order_json(&o);
	if (collective_order_parse(json, &back, NULL) < 0) {
		abort();
	}
	json_decref(json);
	collective_sim(&back, 1, 0.01, &r);
	json = collective_result_json(&r);
	if (collective_result_parse(json, &r, NULL) < 0) {
		abort();
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order *o = malloc(sizeof(*o));
	struct wire_buf b = { 0 };
	struct order_how how;
	json_t *msg;
	size_t half = size / 2;

	if (size > 4) {		/* behind the length of a frame */
		read_list(data + 4, size - 4);
	}
	/* in two pieces, as a socket would */
	wire_buf_add(&b, data, half);
	for (int piece = 0; piece < 2 && o != NULL; piece++) {
		while (wire_buf_next(&b, &msg, NULL) > 0) {
			check_table(msg);
			check_frame(msg);
			check_collective(msg);
			check_entries(msg, o);
			check_list(msg);
			order_how_parse(json_object_get(msg, "how"), &how,
					NULL);
			json_decref(msg);
		}
		if (piece == 0) {
			wire_buf_add(&b, data + half, size - half);
		}
	}
	wire_buf_release(&b);
	free(o);
	return 0;
}

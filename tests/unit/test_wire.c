/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "probes/transport/order.h"
#include "lib/data/pattern.h"
#include "probes/engine/net/wire.h"

static void frames_survive_any_cut(void **state)
{
	struct str out = STR_INIT;
	json_t *msg = json_pack("{s:s,s:i}", "t", "beat", "n", 7);
	struct err e = { 0 };
	int found = 0;

	(void)state;
	assert_int_equal(wire_frame(msg, &out), 0);
	assert_int_equal(wire_frame(msg, &out), 0);
	json_decref(msg);
	for (size_t cut = 0; cut <= out.len; cut++) {
		struct wire_buf b = { 0 };

		found = 0;
		wire_buf_add(&b, out.data, cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			found++;
			json_decref(msg);
		}
		wire_buf_add(&b, out.data + cut, out.len - cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			assert_int_equal(message_type(msg), MSG_BEAT);
			found++;
			json_decref(msg);
		}
		assert_int_equal(found, 2);
		wire_buf_release(&b);
	}
	str_release(&out);
}

static int feed(const char *bytes, size_t n)
{
	struct wire_buf b = { 0 };
	struct err e = { 0 };
	json_t *msg = NULL;
	int rc;

	wire_buf_add(&b, bytes, n);
	rc = wire_buf_next(&b, &msg, &e);
	if (rc < 0) {
		assert_string_not_equal(e.text, "");
	}
	wire_buf_release(&b);
	return rc;
}

static void noise_is_refused(void **state)
{
	(void)state;
	assert_int_equal(feed("\xff\xff\xff\xff....", 8), -1);
	assert_int_equal(feed("\0\0\0\0", 4), -1);
	assert_int_equal(feed("\x02\0\0\0[]", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{}", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{", 5), 0);
	assert_int_equal(feed("GET / HTTP/1.1\r\n", 16), -1);
}

/* What two versions say to each other is read by both; nothing else is text. */
static void versions_understand_each_other(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		json_t *msg = json_pack("{s:s}", "t", messages[i].name), *back;
		bool text = i == MSG_BEAT || i == MSG_HELLO || i == MSG_WELCOME;
		struct wire_buf b = { 0 };

		assert_int_equal(wire_frame(msg, &b.bytes), 0);
		assert_int_equal(b.bytes.data[4] == '{', text);
		assert_int_equal(wire_buf_next(&b, &back, NULL), 1);
		assert_true(json_equal(msg, back));
		json_decref(back);
		json_decref(msg);
		wire_buf_release(&b);
	}
}

static json_t *order_json(const struct order *o)
{
	struct str bytes = STR_INIT;
	char text[2 * XPORT_TICKET_MAX];

	order_add(o, &bytes);
	assert_true(bytes.len < sizeof(text) / 2);
	hash_hex(bytes.data, bytes.len, text);
	str_release(&bytes);
	return json_string(text);
}

static void orders_come_back_as_sent(void **state)
{
	struct order o = { .id = 5, .attempt = 2, .rank = 3, .peer = 9,
			   .seat = { .me = 1, .ranks = 4 }, .ticket = "here" };
	struct order back;
	struct err e = { 0 };
	json_t *j;

	(void)state;
	memcpy(o.nonce, "00112233445566778899aabbccddeeff", 33);
	o.dirs[0].slow_factor = 1;
	o.dirs[1] = (struct order_dir){ .wanted = true, .slow_factor = 0.5,
					.drill = XPORT_DRILL_HANG };
	j = order_json(&o);
	assert_int_equal(order_parse(j, &back, &e), 0);
	assert_int_equal(back.id, 5);
	assert_int_equal(back.attempt, 2);
	assert_int_equal(back.seat.ranks, 4);
	assert_false(back.dirs[0].wanted || back.lead);
	assert_true(back.dirs[1].wanted && back.dirs[1].sender);
	assert_int_equal(back.dirs[1].drill, XPORT_DRILL_HANG);
	assert_true(back.dirs[1].slow_factor == 0.5);
	assert_string_equal(back.nonce, o.nonce);
	assert_string_equal(back.ticket, "here");
	json_decref(j);
	o.seat.me = 4;		/* no such place */
	j = order_json(&o);
	assert_int_equal(order_parse(j, &back, &e), -1);
	json_decref(j);
}

/* As most are: what is left out of them comes back all the same. */
static void usual_orders_come_back_as_sent(void **state)
{
	static const char *const none[] = {
		"",
		"80x",
		"9",
		"8060",			/* more than an order */
		"81f6",			/* no rank is null */
		"8120",			/* nor below 0 */
		"90",			/* more places than there are */
		"9000000000000000000000000000000000",
	};
	struct order o = { .attempt = 1, .seat = { .ranks = 2 } }, back;
	json_t *j;
	struct err e;

	(void)state;
	o.dirs[0] = o.dirs[1] =
		(struct order_dir){ .wanted = true, .slow_factor = 1 };
	j = order_json(&o);
	assert_string_equal(json_string_value(j), "80");
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(order_parse(j, &back, &e), 0);
	assert_int_equal(back.attempt, 1);
	assert_int_equal(back.peer, 0);
	assert_int_equal(back.seat.ranks, 2);
	assert_string_equal(back.ticket, "");
	assert_true(back.lead && back.dirs[0].wanted && back.dirs[0].sender);
	assert_true(back.dirs[0].slow_factor == 1 && !back.dirs[1].sender);
	json_decref(j);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		j = json_string(none[i]);
		assert_int_equal(order_parse(j, &back, &e), -1);
		json_decref(j);
	}
	assert_int_equal(order_parse(NULL, &back, &e), -1);
}

static void what_all_orders_share_has_limits(void **state)
{
	const struct order_how how = { .setup_ns = 7, .run_ns = 8, .n_sizes = 2,
				       .sizes = { 8, 4096 }, .iters = 20,
				       .warmup = 1, .check = true };
	struct order_how back = { 0 };
	json_t *j = order_how_json(&how);

	(void)state;
	assert_int_equal(order_how_parse(j, &back, NULL), 0);
	assert_memory_equal(&back, &how, sizeof(how));
	json_object_set_new(j, "sizes", json_pack("[i]", -1));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_pack("[I]", INT64_MAX));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_array());
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_decref(j);
}

static void results_keep_unmeasured_apart_from_zero(void **state)
{
	struct order_result r = { .dir = 1, .size_B = 64 };
	struct order_report report = { .rank = 2, .id = 9, .late_ns = 4,
				       .unfit = true, .crashed = RECORD_NONE,
				       .facts = json_pack("[s]", "a fact"),
				       .results = &r, .n = 1 }, back;
	json_t *j;

	(void)state;
	xport_result_init(&r.r);
	xport_fail(&r.r, OUTCOME_TIMEOUT, "task_timeout", "late by %d", 3);
	j = order_report_json(&report);
	assert_int_equal(order_report_parse(j, &back, NULL), 0);
	assert_true(back.rank == 2 && back.id == 9 && back.late_ns == 4);
	assert_true(back.unfit && back.crashed == RECORD_NONE);
	assert_true(json_equal(back.facts, report.facts));
	assert_int_equal(back.n, 1);
	assert_true(back.results->dir == 1 && back.results->size_B == 64);
	assert_true(isnan(back.results->r.bw_GB_s));
	assert_true(back.results->r.wrong == RECORD_NONE);
	assert_int_equal(back.results->r.outcome, OUTCOME_TIMEOUT);
	assert_string_equal(back.results->r.detail, "late by 3");
	order_report_release(&back);
	json_decref(j);
	/* a library's words may be no UTF-8 */
	xport_fail(&r.r, OUTCOME_ERROR, "nccl_error", "cannot open \xff");
	j = order_report_json(&report);
	assert_int_equal(order_report_parse(j, &back, NULL), 0);
	assert_string_equal(back.results->r.detail, "cannot open ?");
	order_report_release(&back);
	json_decref(j);
	/* it says one result, and has none, or two */
	j = json_string("83020901");
	assert_int_equal(order_report_parse(j, &back, NULL), -1);
	json_decref(j);
	j = json_string("830209018080");
	assert_int_equal(order_report_parse(j, &back, NULL), -1);
	json_decref(j);
	json_decref(report.facts);
}

static void descriptors_travel_with_messages(void **state)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr mh = { 0 };
	struct cmsghdr *c;
	struct iovec iov;
	struct str out = STR_INIT;
	struct wire_fd w;
	json_t *msg = message_new(MSG_CONN, "{s:i,s:s}", "id", 1, "nonce", "");
	int s[2], p[2], fd;
	char byte = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(pipe(p), 0);
	wire_frame(msg, &out);
	json_decref(msg);
	iov = (struct iovec){ out.data, out.len };
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = control.space;
	mh.msg_controllen = sizeof(control.space);
	c = CMSG_FIRSTHDR(&mh);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &p[1], sizeof(int));
	assert_int_equal(sendmsg(s[0], &mh, 0), (int)out.len);
	w = (struct wire_fd){.fd = s[1], .way = MSG_TO_WORKER};
	assert_int_equal(
		wire_fd_recv(&w, &msg, clock_now_ns() + NS_PER_S, NULL), 1);
	json_decref(msg);
	fd = wire_fd_take(&w);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(wire_fd_take(&w), -1);
	close(s[0]);
	assert_int_equal(
		wire_fd_recv(&w, &msg, clock_now_ns() + NS_PER_S, NULL), -1);
	close(s[1]);
	close(fd);
	close(p[0]);
	close(p[1]);
	wire_buf_release(&w.in);
	str_release(&out);
}

static void drop(void *arg, json_t *msg)
{
	(void)arg;
	(void)msg;
}

static void gone(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

/* Words about a task, at their limits and beyond. */
static void words_come_back_as_sent(void **state)
{
	static const char *const none[] = { "", "zz", "8", "8000", "81f6",
					    "8120", "8301026161ff",
					    "840102616100", "8301026100" };
	struct order_word o = { .rank = 3, .id = UINT32_MAX }, back;
	json_t *j;

	(void)state;
	memset(o.text, 'x', sizeof(o.text) - 1);
	for (int i = 0; i < 2; i++) {
		j = order_word_json(&o);
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(order_word_parse(j, &back, NULL), 0);
		assert_true(back.rank == 3 && back.id == UINT32_MAX);
		assert_string_equal(back.text, o.text);
		assert_int_equal(json_string_length(j) < 20, i == 1);
		json_decref(j);
		o.text[0] = '\0';
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		j = json_string(none[i]);
		assert_int_equal(order_word_parse(j, &back, NULL), -1);
		json_decref(j);
	}
}

/* What is heard of a wire: entries as lists, or the texts of their trees. */
struct heard {
	int entries, messages;
	int64_t next;		/* rank of the entry that is to come */
	struct wire *close_at;	/* the first entry */
};

static void hear_message(void *arg, json_t *msg)
{
	struct heard *h = arg;

	(void)msg;
	h->messages++;
}

static void hear_entry(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct heard *h = arg;
	struct order_word o;

	assert_int_equal(type, MSG_JOINED);
	assert_int_equal(order_word_read(bytes, n, &o, NULL), 0);
	assert_int_equal(o.rank, h->next++);
	h->entries++;
	if (h->close_at != NULL) {
		wire_close(h->close_at, NULL);
	}
}

/* Until @n have been heard, or the wire is closed. */
static void listen_for(uv_loop_t *loop, const struct heard *h, int n,
		       const struct wire *w)
{
	int64_t deadline = clock_now_ns() + 10 * NS_PER_S;

	while (h->entries + h->messages < n && !w->closing) {
		assert_true(clock_now_ns() < deadline);
		uv_run(loop, UV_RUN_ONCE);
	}
}

static void send_frame(int fd, const struct str *in)
{
	uint32_t head = htole32((uint32_t)in->len);

	assert_int_equal(write(fd, &head, 4), 4);
	assert_int_equal(write(fd, in->data, in->len), (ssize_t)in->len);
}

/* The message of three entries; of some more. */
static void make_list(int more, struct str *out)
{
	struct list_out list = { 0 };
	struct str entry = STR_INIT;

	for (int i = 0; i < 3; i++) {
		str_reset(&entry);
		order_word_add(&(struct order_word){ .rank = i }, &entry);
		list_add(&list, MSG_JOINED, entry.data, entry.len);
	}
	while (more-- > 0) {
		list_add(&list, MSG_JOINED, entry.data, entry.len);
	}
	list_write(&list, out);
	list_release(&list);
	str_release(&entry);
}

/* One at a time and in order; a list that is written otherwise comes as a
 * message, and one that may not come is refused.  Whoever closes in between
 * hears no more. */
static void lists_are_heard_entry_by_entry(void **state)
{
	static const struct wire_events events = {
		.message = hear_message, .entry = hear_entry, .closed = gone };
	static const struct {
		enum message_way way;
		bool other, closes, many;
		int entries, messages;
	} cases[] = {
		{ .way = MSG_TO_COORDINATOR, .entries = 3 },
		{ .way = MSG_TO_COORDINATOR, .other = true, .messages = 1 },
		{ .way = MSG_TO_COORDINATOR, .closes = true, .entries = 1 },
		{ .way = MSG_TO_COORDINATOR, .many = true },
		{ .way = MSG_TO_AGENT },
	};
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int want = cases[i].entries + cases[i].messages, s[2];
		uv_pipe_t *pipe = malloc(sizeof(*pipe));
		struct str out = STR_INIT;
		struct heard h = { 0 };
		struct wire w;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
		uv_pipe_init(&loop, pipe, 1);
		uv_pipe_open(pipe, s[0]);
		wire_open(&w, (uv_stream_t *)pipe, cases[i].way, NULL, &events,
			  &h);
		h.close_at = cases[i].closes ? &w : NULL;
		if (cases[i].other) {	/* its entry is a text */
			str_add(&out, "\xa2" "at" "fjoined" "dends" "\x81"
				"b80");
		} else {
			make_list(cases[i].many ? MESSAGE_LIST : 0, &out);
		}
		send_frame(s[1], &out);
		listen_for(&loop, &h, want > 0 ? want : 1, &w);
		assert_int_equal(h.entries, cases[i].entries);
		assert_int_equal(h.messages, cases[i].messages);
		assert_int_equal(w.closing, want != 3 && !cases[i].other);
		wire_close(&w, NULL);
		uv_run(&loop, UV_RUN_DEFAULT);
		close(s[1]);
		str_release(&out);
	}
	uv_loop_close(&loop);
}

static json_t *order_of_rank(int rank)
{
	const struct order o = {
		.rank = rank, .attempt = 1, .seat = { .ranks = 2 },
		.dirs = { { .slow_factor = 1 }, { .slow_factor = 1 } } };

	return message_new(MSG_TASK, "{s:[o]}", "orders", order_json(&o));
}

/* Next to each other and few, else apart; what is between them stays there. */
static void lists_leave_as_one_message(void **state)
{
	static const struct wire_events events = { .message = drop,
						   .closed = gone };
	const size_t sizes[] = { MESSAGE_LIST, 4, 0, 1 };
	uv_pipe_t *pipe = malloc(sizeof(*pipe));
	int s[2], rank = 0;
	struct order o;
	struct wire w;
	struct wire_fd end;
	uv_loop_t loop;
	json_t *msg, *list;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	uv_loop_init(&loop);
	uv_pipe_init(&loop, pipe, 1);
	uv_pipe_open(pipe, s[0]);
	wire_open(&w, (uv_stream_t *)pipe, MSG_TO_COORDINATOR, NULL, &events,
		  NULL);
	for (int i = 0; i < MESSAGE_LIST + 3; i++) {
		wire_send(&w, order_of_rank(i));
	}
	wire_send_entry(&w, MSG_TASK, "\x81\x13", 2);	/* one more */
	wire_send(&w, message_new(MSG_CANCEL, "{s:i,s:i}", "id", 1, "rank", 2));
	wire_send(&w, order_of_rank(MESSAGE_LIST + 4));
	wire_push(&w);
	end = (struct wire_fd){.fd = s[1], .way = MSG_TO_AGENT};
	for (int i = 0; i < 4; i++) {
		assert_int_equal(wire_fd_recv(&end, &msg, clock_now_ns() +
					      10 * NS_PER_S, NULL), 1);
		list = json_object_get(msg, "orders");
		assert_int_equal(json_array_size(list), sizes[i]);
		for (size_t k = 0; k < sizes[i]; k++) {
			assert_int_equal(order_parse(json_array_get(list, k),
						     &o, NULL), 0);
			assert_int_equal(o.rank, rank++);
		}
		json_decref(msg);
	}
	wire_send(&w, order_of_rank(0));	/* never leaves */
	wire_close(&w, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	close(s[1]);
	wire_buf_release(&end.in);
}

/* A worker does one thing at a time: each is a message of its own. */
static void a_worker_gets_one_by_one(void **state)
{
	static const struct wire_events events = { .message = drop,
						   .closed = gone };
	uv_pipe_t *pipe = malloc(sizeof(*pipe));
	struct wire_fd end;
	struct wire w;
	uv_loop_t loop;
	json_t *msg;
	int s[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	uv_loop_init(&loop);
	uv_pipe_init(&loop, pipe, 1);
	uv_pipe_open(pipe, s[0]);
	wire_open(&w, (uv_stream_t *)pipe, MSG_FROM_WORKER, NULL, &events,
		  NULL);
	wire_send(&w, order_of_rank(0));
	wire_send(&w, order_of_rank(1));
	wire_push(&w);
	end = (struct wire_fd){.fd = s[1], .way = MSG_TO_WORKER};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wire_fd_recv(&end, &msg, clock_now_ns() +
					      10 * NS_PER_S, NULL), 1);
		assert_int_equal(json_array_size(json_object_get(
					 msg, "orders")), 1);
		json_decref(msg);
	}
	wire_close(&w, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	close(s[1]);
	wire_buf_release(&end.in);
}

static void pattern_sees_each_kind_of_damage(void **state)
{
	unsigned char buf[1003], was;

	(void)state;
	for (size_t n = 1; n < sizeof(buf); n += 7) {
		pattern_fill(buf, n, 42);
		assert_int_equal(pattern_wrong(buf, n, 42), 0);
		was = buf[n - 1];
		buf[n - 1] ^= 1;
		assert_int_equal(pattern_wrong(buf, n, 42), 1);
		buf[n - 1] = was;
		pattern_spoil(buf, n);
		assert_true(pattern_wrong(buf, n, 42) > 0);
	}
	pattern_fill(buf, 1000, 42);
	memmove(buf, buf + 8, 992);	/* shifted by a word */
	assert_true(pattern_wrong(buf, 992, 42) > 500);
	memset(buf, 0, 1000);
	assert_true(pattern_wrong(buf, 1000, 42) > 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_survive_any_cut),
		cmocka_unit_test(noise_is_refused),
		cmocka_unit_test(versions_understand_each_other),
		cmocka_unit_test(orders_come_back_as_sent),
		cmocka_unit_test(usual_orders_come_back_as_sent),
		cmocka_unit_test(what_all_orders_share_has_limits),
		cmocka_unit_test(results_keep_unmeasured_apart_from_zero),
		cmocka_unit_test(descriptors_travel_with_messages),
		cmocka_unit_test(words_come_back_as_sent),
		cmocka_unit_test(lists_are_heard_entry_by_entry),
		cmocka_unit_test(lists_leave_as_one_message),
		cmocka_unit_test(a_worker_gets_one_by_one),
		cmocka_unit_test(pattern_sees_each_kind_of_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/json.h"
#include "lib/data/bundle.h"

#define PEM(what) "-----" what " RSA PRIVATE KEY-----"
#define SK "sk-0123456789abcdefXYZ"
#define JWT "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.x-y_z"

static void check(struct redact *r, const char *text, const char *want)
{
	struct str out = STR_INIT;

	redact_text(r, text, strlen(text), &out);
	assert_string_equal(str_text(&out), want);
	str_release(&out);
}

static void secrets_go(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "HF_TOKEN=abc", "HF_TOKEN=[removed]" },
		{ "export WANDB_API_KEY='a b' X=1",
		  "export WANDB_API_KEY='[removed]' X=1" },
		{ "x password: two words\nnext",
		  "x password: [removed]\nnext" },
		{ "Authorization: Basic dXNlcg==\r\n",
		  "Authorization: [removed]\n" },
		{ "{\"client_secret\": \"a\\\"b\", \"n\": 1}",
		  "{\"client_secret\": \"[removed]\", \"n\": 1}" },
		{ "\"{\\\"token\\\":\\\"abc\\\", \\\"n\\\":1}\"",
		  "\"{\\\"token\\\":\\\"[removed]\\\", \\\"n\\\":1}\"" },
		{ "run --api-key abc --nodes 2",
		  "run --api-key [removed] --nodes 2" },
		{ "SLURM_JWT=abc", "SLURM_JWT=[removed]" },
		{ "WANDB_API_KEY abc", "WANDB_API_KEY [removed]" },
		{ "machine h login me password hunter2",
		  "machine h login me password [removed]" },
		{ "Bearer a1b2c3d4", "Bearer [removed]" },
		{ "java -storepass x", "java -storepass [removed]" },
		{ "mysql -u me -pPASS db", "mysql -u me -p[removed] db" },
		{ "/usr/bin/mysqldump -pPASS\n",
		  "/usr/bin/mysqldump -p[removed]\n" },
		{ "sshpass -p abc ssh h", "sshpass -p [removed] ssh h" },
		{ "ipmitool -H h -U me -P abc power",
		  "ipmitool -H h -U me -P [removed] power" },
		{ "curl -s -u me:pw url", "curl -s -u [removed] url" },
		{ "docker login -u me -p pw",
		  "docker login -u me -p [removed]" },
		{ "DB_PWD=x PWD=/a OLDPWD=/b",
		  "DB_PWD=[removed] PWD=/a OLDPWD=/b" },
		{ "https://me:pw@host/x?a=1", "https://[removed]@host/x?a=1" },
		{ "with " SK ", " JWT "!", "with [removed], [removed]!" },
		{ "a\n" PEM("BEGIN") "\nMII\n" PEM("END") "\nb",
		  "a\n[removed]\nb" },
		{ "a\n" PEM("BEGIN") "\nMII\n", "a\n[removed]" },
		{ "KEY=\"" PEM("BEGIN") "\nMII\n" PEM("END") "\"\nb",
		  "KEY=\"[removed]\"\nb" },
		{ "MII\n" PEM("END") "\nb", "[removed]\nb" },
	};
	struct redact r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const size_t before = r.removed;

		check(&r, cases[i].text, cases[i].want);
		assert_true(r.removed > before);
	}
}

static void what_is_none_stays(void **state)
{
	static const char *const texts[] = {
		"", "--pkey-index=3 pkey: 0xffff lkey=1 Q_Key", "task-sk-1",
		"n0:0 -> n1:0 fail: key", "http://host/a@b", "token",
		"the token expired", "key exchange failed", "secret of a run",
		"mysql -p db", "mkdir -p dir; ssh -p 22", "-pabc mysql",
		"mysql ok\nmkdir -pdir", "NCCL version 2.27.7+cuda12.9",
		"PATH=/usr/bin PWD=/home/alice", "hf_short",
		"-----BEGIN CERTIFICATE-----\nMII",
		"\xff\x01 GPU-8f3c2e1a-0123-4567-89ab-cdef01234567",
	};
	struct redact r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		check(&r, texts[i], texts[i]);
	}
	redact_add(&r, REDACT_HOST, "n0");
	check(&r, "n0 /home/alice", "n0 /home/alice");
	assert_int_equal(r.removed, 0);
}

static void names_become_others(void **state)
{
	struct redact r = { 0 };

	(void)state;
	assert_int_equal(redact_names(&r), 0);
	redact_add(&r, REDACT_HOST, "gpu1.hpc.example");
	redact_add(&r, REDACT_HOST, "gpu10");
	redact_add(&r, REDACT_HOST, "10.0.0.1");
	redact_add(&r, REDACT_HOST, "localhost");
	redact_add(&r, REDACT_USER, "alice");
	redact_add(&r, REDACT_USER, "root");
	check(&r, "gpu1 gpu10:3 gpu11 xgpu1 gpu1-ib0 logs/t7-gpu1.log",
	      "node1 node2:3 gpu11 xgpu1 node1-ib0 logs/t7-node1.log");
	check(&r, "gpu1.hpc.example gpu10.hpc.example 10.0.0 localhost root",
	      "node1 node2 10.0.0 localhost root");
	check(&r, "-x gpu[1-3,10] of x[1]", "-x hosts of x[1]");
	check(&r, "alice in /home/alice/a, /users/bob/b; then bob, malice",
	      "user1 in /home/user1/a, /users/user2/b; then user2, malice");
	redact_release(&r);
}

/** Appends @text, redacted, to @out, which is emptied before. */
static const char *hidden(struct redact *r, const char *text, struct str *out)
{
	str_reset(out);
	redact_text(r, text, strlen(text), out);
	return str_text(out);
}

static void identifiers_keep_their_relations(void **state)
{
	static const char *const kept[] = {
		"127.0.0.1 0.0.0.0 255.255.252.0 224.0.0.1 ::1 :: ff02::1",
		"96.00.74.00.1C 28.39.1002 2.27.7 libx.so.1.2.3.4 0000:3b:00.0",
		"12:30:45 2026-01-31T09:15:02Z 0x7ffff7a12340 1706692502123456",
		"0x0000000000000004 0xffffffff81000000 std::vector 15b3:1017",
	};
	static const char *const same[] = {
		"b8:ce:f6:03:00:12:34:56", "b8cef60300123456",
		"0xb8cef60300123456", "B8CEF60300123456",
	};
	struct str a = STR_INIT, b = STR_INIT;
	struct redact r = { 0 };
	unsigned char x[4], y[4];

	(void)state;
	check(&r, "10.1.2.3 b8:ce:f6:12:34:56", "10.1.2.3 b8:ce:f6:12:34:56");
	assert_int_equal(redact_names(&r), 0);
	memset(r.key, 7, sizeof(r.key));
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		check(&r, kept[i], kept[i]);
	}
	assert_int_equal(r.replaced, 0);
	/* a subnet remains one, another one is another one */
	hidden(&r, "10.1.2.3:80", &a);
	assert_int_equal(sscanf(a.data, "10.%hhu.%hhu.3:80", x, x + 1), 2);
	hidden(&r, "10.1.3.0/24,", &b);
	assert_int_equal(sscanf(b.data, "10.%hhu.%hhu.0/24,", y, y + 1), 2);
	assert_true(x[0] == y[0] && x[0] != 1 && (x[1] ^ y[1]) == 1);
	hidden(&r, "at 172.16.9.9. 192.168.1.1 141.30.2.1", &a);
	assert_int_equal(sscanf(a.data, "at 172.%hhu.%hhu.9. 192.168.%hhu.1 "
				"%hhu.", x, x + 1, x + 2, x + 3), 4);
	assert_true(x[0] != 16 && x[0] >> 4 == 1 && x[2] != 1 && x[3] >= 240);
	/* a GID has its GUID, or its address */
	hidden(&r, "b8ce:f603:0012:3456", &a);
	hidden(&r, "fe80:0000:0000:0000:b8ce:f603:0012:3456", &b);
	assert_true(str_starts(b.data, "fe80:0000:0000:0000:02"));
	assert_string_equal(b.data + 20, a.data);
	hidden(&r, "10.1.2.3", &a);
	hidden(&r, "::ffff:10.1.2.3", &b);
	assert_string_equal(b.data + 7, a.data);
	/* the same in each form */
	hidden(&r, "b8ce:f603:0012:3456", &a);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		size_t k = 0;

		hidden(&r, same[i], &b);
		assert_int_equal(b.len, strlen(same[i]));
		for (size_t j = i == 2 ? 2 : 0; j < b.len; j++) {
			k += b.data[j] == ':' ? 0 : 1 + (a.data[k] == ':');
			assert_true(b.data[j] == ':' ||
				    tolower(b.data[j]) == a.data[k - 1]);
		}
	}
	assert_string_equal(hidden(&r, "fec0::b8ce:f603:12:3456%ib0", &a) +
				    a.len - 4, "%ib0");
	assert_true(str_starts(a.data, "fd"));
	hidden(&r, "GPU-c882b768-98d6-6761-a79f-efc2b50db9b6 enxb8cef6123456 "
	       "B8-CE-F6-12-34-56", &a);
	assert_int_equal(a.len, 40 + 1 + 15 + 1 + 17);
	assert_null(strstr(a.data, "c882"));
	assert_null(strstr(a.data, "123456"));
	redact_release(&r);
	str_release(&a);
	str_release(&b);
}

static void values_name_things(void **state)
{
	struct redact r = { 0 };

	(void)state;
	assert_int_equal(redact_names(&r), 0);
	redact_learn(&r, "node", "gpu1.hpc.example");
	redact_learn(&r, "user", "alice");
	redact_learn(&r, "leaf_switch", "leaf-a");
	redact_learn(&r, "switch", "MF0;sw-b:MQM9700/U1");
	redact_learn(&r, "board_serial", "MT2245X01234");
	redact_learn(&r, "serial", "N/A");
	redact_learn(&r, "name", "gpu7");
	check(&r, "alice@login1.hpc.example leaf-a MF0;sw-b:MQM9700/U1 gpu7",
	      "user1@node2 switch1 MF0;switch2:MQM9700/U1 gpu7");
	check(&r, "login1, x.hpc.example, hpc.example N/A",
	      "node2, node3, site1 N/A");
	check(&r, "MT2245X01234; Serial Number : 1654321098765; serial: all 9",
	      "serial1; Serial Number : serial2; serial: all 9");
	check(&r, "1654321098765", "serial2");
	/* the end of a sentence is none of a name */
	check(&r, "see gpu9.hpc.example. log.alice", "see node4. "
	      "log.user1");
	check(&r, "log", "log");
	/* a version is no address */
	redact_learn(&r, "libibverbs", "1.14.44.0");
	check(&r, "1.14.44.0 MLNX_OFED_LINUX-23.10-1.1.9.0",
	      "1.14.44.0 MLNX_OFED_LINUX-23.10-1.1.9.0");
	redact_release(&r);
}

static void json_stays_json(void **state)
{
	const char *text =
		"{\"gpu1\":{\"node\":\"gpu1\",\"n\":1},\"a_key\":\"x\","
		"\"argv\":[\"--token\",\"t\",\"-n\",\"--env=K_TOKEN=\",\"2\"],"
		"\"keys\":[\"a\"],\"text\":\"A_TOKEN=\\\"q\\\" b\"}";
	const char *want =
		"{\"node1\":{\"node\":\"node1\",\"n\":1},"
		"\"a_key\":\"[removed]\",\"argv\":[\"--token\",\"[removed]\","
		"\"-n\",\"--env=K_TOKEN=\",\"2\"],\"keys\":[\"[removed]\"],"
		"\"text\":\"A_TOKEN=\\\"[removed]\\\" b\"}";
	struct redact r = { 0 };
	struct str out = STR_INIT;
	struct err e;
	json_t *json = json_parse(text, strlen(text), &e), *made;

	(void)state;
	assert_non_null(json);
	assert_int_equal(redact_names(&r), 0);
	redact_add(&r, REDACT_HOST, "gpu1");
	made = redact_json(&r, "", json);
	json_add(made, JSON_COMPACT, &out);
	assert_string_equal(str_text(&out), want);
	assert_int_equal(r.removed, 4);
	json_decref(json);
	json_decref(made);
	redact_release(&r);
	str_release(&out);
}

/** No text takes more than a moment. */
static void long_words_are_read_once(void **state)
{
	struct str text = STR_INIT, out = STR_INIT;
	struct redact r = { 0 };

	(void)state;
	for (int i = 0; i < (SANITIZED ? 500 : 5000); i++) {
		str_add(&text, "a-b.");
	}
	for (int i = 0; i < (SANITIZED ? 2000 : 20000); i++) {
		str_add(&text, "-----BEGIN ");
	}
	assert_int_equal(redact_names(&r), 0);
	redact_add(&r, REDACT_HOST, "n0");
	redact_text(&r, str_text(&text), text.len, &out);
	assert_string_equal(str_text(&out), str_text(&text));
	redact_release(&r);
	str_release(&text);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_go),
		cmocka_unit_test(what_is_none_stays),
		cmocka_unit_test(names_become_others),
		cmocka_unit_test(identifiers_keep_their_relations),
		cmocka_unit_test(values_name_things),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(long_words_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

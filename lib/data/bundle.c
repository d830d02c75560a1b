/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts without secrets, in an archive. */
#include "lib/data/bundle.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "lib/base/hash.h"
#include "lib/base/net.h"
#include "lib/data/json.h"

#define ALPHA	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"
#define HEX	DIGITS "abcdefABCDEF"
#define WORD	ALPHA DIGITS "_-"
#define NAME_MOST 100	/* bytes of one */

/** In names of secrets, whatever else they have. */
static const char *const secret_names[] = {
	"token", "secret", "passw", "passphrase", "passcode", "credential",
	"cookie", "signature", "authorization", "jwt", "bearer", "storepass",
	"key", NULL
};

/** Options of programs that take a password: directly after the option or, with
 *  @apart, as the next word too. */
static const struct login {
	const char *program;	/* how its name begins */
	const char *option;
	bool apart;
} logins[] = {
	{ "mysql", "-p", false },     { "mariadb", "-p", false },
	{ "sshpass", "-p", true },    { "login", "-p", true },
	{ "ipmitool", "-P", true },   { "ipmipower", "-p", true },
	{ "curl", "-u", true },	      { "ldap", "-w", true },
	{ "redis-cli", "-a", true },  { "snmp", "-A", true },
	{ "smbclient", "-U", true },
};
#define LINE_MOST 512	/* bytes between a program and its option */

/** Values that say what they are: how they begin, and how many letters follow
 *  at least. */
static const struct {
	const char *begin;
	size_t least;
} shapes[] = {
	{ "hf_", 16 }, { "sk-", 16 }, { "ghp_", 16 }, { "gho_", 16 },
	{ "github_pat_", 16 }, { "glpat-", 16 }, { "xoxb-", 10 },
	{ "xoxp-", 10 }, { "AKIA", 16 }, { "ASIA", 16 }, { "AIza", 30 },
	{ "eyJ", 30 }, { "nvapi-", 16 },
};

/** A text and the current offset in it. */
struct at {
	const char *text;
	size_t len, i;
};

static bool is_one(const struct at *t, size_t i, const char *set)
{
	return i < t->len && t->text[i] && strchr(set, t->text[i]);
}

/** How many characters of @set stand at @i. */
static size_t span(const struct at *t, size_t i, const char *set)
{
	size_t n = 0;

	while (is_one(t, i + n, set)) {
		n++;
	}
	return n;
}

static bool begins(const struct at *t, size_t i, const char *word)
{
	const size_t n = strlen(word);

	return i <= t->len && t->len - i >= n &&
	       memcmp(t->text + i, word, n) == 0;
}

/** Offset of @word at or after @i; the end if there is none. */
static size_t find(const struct at *t, size_t i, const char *word)
{
	const char *p = memmem(t->text + i, t->len - i, word, strlen(word));

	return p ? (size_t)(p - t->text) : t->len;
}

/* ---- secrets ------------------------------------------------------------- */

/** Return true if a value called @name looks like a secret. InfiniBand keys
 *  (pkey, qkey, lkey, rkey, mkey) do not. */
static bool is_secret(const char *name, size_t len)
{
	char buf[128];
	const char *hit;

	if (len >= sizeof(buf)) {	/* the end says what it is */
		name += len - sizeof(buf) + 1;
		len = sizeof(buf) - 1;
	}
	memcpy(buf, name, len);
	buf[len] = '\0';
	for (size_t i = 0; secret_names[i]; i++) {
		bool port_key;

		hit = strcasestr(buf, secret_names[i]);
		/* "pkey" and the like, a part of a name of its own */
		port_key = hit && strcmp(secret_names[i], "key") == 0 &&
			   hit > buf && strchr("pqlrmPQLRM", hit[-1]) &&
			   (hit - 1 == buf || !strchr(ALPHA, hit[-2]));
		if (hit && !port_key) {
			return true;
		}
	}
	/* PWD and OLDPWD are directories */
	hit = strcasestr(buf, "_pwd");
	return hit && !hit[4];
}

/** Return true if the word at @i is the value of the name of @n letters at
 *  t->i, separated by blanks only. A sentence has such pairs too ("token
 *  expired"), so the name must be one of the environment or the word must have
 *  letters and digits. */
static bool is_pair(const struct at *t, size_t n, size_t i)
{
	const size_t len = span(t, i, WORD "./+=");

	return len > 0 &&
	       (span(t, t->i, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS) == n ||
		(len >= 6 && span(t, i, ALPHA "-_./+=") < len &&
		 span(t, i, DIGITS "-_./+=") < len));
}

/**
 * The value that belongs to the name of @n letters at t->i: NAME=VALUE,
 * "NAME": "VALUE", NAME: all of the line, --NAME VALUE, NAME VALUE.  Its
 * length; 0: there is none.
 */
static size_t find_value(const struct at *t, size_t n, size_t *from)
{
	const bool flag = begins(t, t->i, "-");
	size_t i = t->i + n, quotes, end;
	char sep, quote;
	bool escaped;

	i += span(t, i, "\\\"'");
	end = i + span(t, i, " \t");
	sep = end < t->len ? t->text[end] : '\0';
	if (sep != '=' && sep != ':') {
		if (end == i || (!flag && !is_pair(t, n, end))) {
			return 0;
		}
	} else {
		end++;
	}
	i = end + span(t, end, " \t");
	quotes = span(t, i, "\\\"'");
	*from = i + quotes;
	quote = quotes ? t->text[*from - 1] : '\\';
	if (quote != '\\') {
		/* to the closing quote, or to the end of the line */
		escaped = quotes > 1 && t->text[*from - 2] == '\\';
		for (end = *from; end < t->len && t->text[end] != '\n' &&
				  t->text[end] != quote; end++) {
			/* what is escaped in there does not end it */
			end += !escaped && t->text[end] == '\\' &&
			       end + 1 < t->len && t->text[end + 1] != '\n';
		}
		end -= end < t->len && t->text[end] == quote && escaped &&
		       t->text[end - 1] == '\\';
	} else {
		*from = i;
		/* a word; behind a colon it may be several */
		for (end = i; end < t->len && t->text[end] != '\n' &&
			      (sep == ':' || !is_one(t, end, " \t\r"));) {
			end++;
		}
	}
	/* of a block the other lines, too */
	return begins(t, *from, "-----BEGIN") ? 0 : end - *from;
}

/** Return true if the line before t->i has a program whose name begins with
 *  @name. */
static bool is_called(const struct at *t, const char *name)
{
	for (size_t i = t->i; i > 0 && t->text[i - 1] != '\n' &&
			      t->i - i < LINE_MOST; i--) {
		if (begins(t, i - 1, name) &&
		    (i == 1 || !is_one(t, i - 2, WORD))) {
			return true;
		}
	}
	return false;
}

/** The password that a program's option at t->i has; its length, or 0. */
static size_t find_option(const struct at *t, size_t *from)
{
	if (!is_one(t, t->i, "-") ||
	    (t->i > 0 && !is_one(t, t->i - 1, " \t\"'"))) {
		return 0;
	}
	for (size_t k = 0; k < sizeof(logins) / sizeof(*logins); k++) {
		const struct login *l = &logins[k];
		const size_t i = t->i + strlen(l->option);

		*from = l->apart ? i + span(t, i, " \t") : i;
		if (*from < t->len && !is_one(t, *from, " \t\r\n\"'") &&
		    begins(t, t->i, l->option) && is_called(t, l->program)) {
			size_t end = *from;

			while (end < t->len &&
			       !is_one(t, end, " \t\r\n\"'")) {
				end++;
			}
			return end - *from;
		}
	}
	return 0;
}

/** A value that has one of the shapes at t->i; its length, or 0. */
static size_t find_shape(const struct at *t)
{
	for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++) {
		const size_t n = strlen(shapes[k].begin);
		const size_t more = begins(t, t->i, shapes[k].begin) ?
					    span(t, t->i + n, WORD ".") : 0;

		if (more >= shapes[k].least) {
			return n + more;
		}
	}
	return 0;
}

#define PEM_END "PRIVATE KEY-----"

/** Returns the end of the line of a private key, "-----@what ... PRIVATE
 *  KEY-----", that begins at t->i; 0 if none does. */
static size_t pem_line(const struct at *t, const char *what)
{
	const struct at line = { t->text, begins(t, t->i, what) ?
						  find(t, t->i, "\n") : 0, 0 };
	const size_t end = line.len ? find(&line, t->i, PEM_END) : line.len;

	return end < line.len ? end + strlen(PEM_END) : 0;
}

/** "user:password@" behind "://" at t->i; its length, or 0. */
static size_t find_login(const struct at *t)
{
	const size_t from = t->i + 3;
	size_t i = from;

	if (!begins(t, t->i, "://")) {
		return 0;
	}
	while (i < t->len && !is_one(t, i, "/@ \t\r\n\"'<>")) {
		i++;
	}
	return is_one(t, i, "@") && i > from ? i - from : 0;
}

static void copy(struct at *t, size_t n, struct str *out)
{
	str_addmem(out, t->text + t->i, n);
	t->i += n;
}

static void drop(struct redact *r, struct at *t, size_t n, struct str *out)
{
	str_add(out, REDACT_GONE);
	t->i += n;
	r->removed++;
}

static json_t *alias_of(const struct redact *r, const char *name)
{
	return json_object_get(r->names, name);
}

/* ---- identifiers --------------------------------------------------------- */

/** Replace the @n bytes (at most 16) of an identifier by a keyed hash; the
 *  first byte becomes 02, "locally administered". */
static void stand_in(const struct redact *r, unsigned char *bytes, size_t n)
{
	unsigned char got[crypto_shorthash_BYTES], from[17];

	memcpy(from + 1, bytes, n);
	for (size_t i = 0; i < n; i += sizeof(got)) {
		from[0] = (unsigned char)(n + i);
		crypto_shorthash(got, from, n + 1, r->key);
		memcpy(bytes + i, got, n - i < sizeof(got) ? n - i :
							     sizeof(got));
	}
	bytes[0] = 2;
}

/** Replace an IPv4 address; addresses with equal first bits still have equal
 *  first bits.  A private one stays in its range, a public one gets into
 *  240.0.0.0/4, which is reserved. */
static void stand_in_v4(const struct redact *r, unsigned char *ip)
{
	static const struct {
		unsigned char bits, range[2];
	} kept[] = {
		{ 8, { 10 } },	      { 12, { 172, 16 } }, { 16, { 192, 168 } },
		{ 16, { 169, 254 } }, { 10, { 100, 64 } }, { 4, { 240 } },
	};
	const unsigned first = (unsigned)ip[0] << 8 | ip[1];
	uint32_t all = first << 16 | (uint32_t)ip[2] << 8 | ip[3], made = all;
	size_t k = 0;

	if (ip[0] == 0 || ip[0] == 127 || ip[0] >= 224) {
		return;
	}
	while (kept[k].bits > 4 &&
	       (first ^ ((unsigned)kept[k].range[0] << 8 | kept[k].range[1])) >>
		       (16 - kept[k].bits)) {
		k++;
	}
	for (unsigned bit = kept[k].bits; bit < 24; bit++) {
		const uint32_t prefix[2] = { bit, all >> (32 - bit) };
		unsigned char got[crypto_shorthash_BYTES];

		crypto_shorthash(got, (const unsigned char *)prefix,
				 sizeof(prefix), r->key);
		/* never the address itself */
		made ^= (uint32_t)(bit == kept[k].bits || got[0] & 1)
			<< (31 - bit);
	}
	made |= kept[k].bits == 4 ? UINT32_C(0xf0000000) : 0;
	for (int i = 0; i < 4; i++) {
		ip[i] = (unsigned char)(made >> (24 - 8 * i));
	}
}

/** Replace an IPv6 address or a GID: a prefix that is not link-local by one of
 *  fd00::/8, and the GUID or IPv4 address in it. */
static void stand_in_v6(const struct redact *r, unsigned char *ip)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const unsigned char none[16];

	if (memcmp(ip, mapped, sizeof(mapped)) == 0) {
		stand_in_v4(r, ip + 12);
	} else if (ip[0] != 0xff && memcmp(ip, none, 15) != 0) {
		if (memcmp(ip, none, 8) != 0 &&
		    !(ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80)) {
			stand_in(r, ip, 8);
			ip[0] = 0xfd;
		}
		if (memcmp(ip + 8, none, 8) != 0) {
			stand_in(r, ip + 8, 8);
		}
	}
}

/** An IP address at t->i as @ip; its length, or 0.  A version is none. */
static size_t find_ip(const struct redact *r, const struct at *t,
		      struct ip_addr *ip)
{
	const bool v4 = is_one(t, t->i + span(t, t->i, DIGITS), ".");
	size_t n = span(t, t->i, v4 ? DIGITS "." : HEX ":.");
	char text[IP_TEXT];

	/* the end of a sentence, the port of an address */
	while (n > 1 && (is_one(t, t->i + n - 1, ".") ||
			 (is_one(t, t->i + n - 1, ":") &&
			  !is_one(t, t->i + n - 2, ":")))) {
		n--;
	}
	/* part of a longer version number ("23.10-1.1.9.0"), or of a word */
	if (n < 3 || n >= sizeof(text) || is_one(t, t->i + n, ALPHA DIGITS) ||
	    (t->i > 0 && is_one(t, t->i - 1, ".:")) ||
	    (v4 && t->i > 1 && is_one(t, t->i - 1, "-") &&
	     is_one(t, t->i - 2, DIGITS))) {
		return 0;
	}
	memcpy(text, t->text + t->i, n);
	text[n] = '\0';
	return !alias_of(r, text) && ip_parse(text, ip, NULL) == 0 ? n : 0;
}

/** Forms of identifiers; # is a hexadecimal digit. */
static const char *const forms[] = {
	"########-####-####-####-############",	/* UUID */
	"##:##:##:##:##:##:##:##:##:##:##:##:##:##:##:##:##:##:##:##",
	"##:##:##:##:##:##:##:##", "####:####:####:####",	/* GUID */
	"0x################", "##:##:##:##:##:##", "##-##-##-##-##-##",
	"enx############", "################################",
	"################",
};
#define FORMS (sizeof(forms) / sizeof(*forms))

/** The digits of a @form at t->i as @hex; the length of all, or 0. */
static size_t find_form(const struct at *t, const char *form, char hex[41])
{
	const size_t n = strlen(form);
	size_t digits = 0;

	if (t->len - t->i < n || is_one(t, t->i + n, ALPHA DIGITS ":")) {
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const char c = t->text[t->i + i];

		if (form[i] == '#' && isxdigit((unsigned char)c)) {
			hex[digits++] = c;
		} else if (form[i] != c) {
			return 0;
		}
	}
	hex[digits] = '\0';
	/* a mask or a number; without a letter, a decimal number as well */
	return digits == 16 && !strpbrk(form, ":-") &&
			       (str_starts(hex, "0000") ||
				strncasecmp(hex, "ffff", 4) == 0 ||
				(form[0] == '#' &&
				 strspn(hex, DIGITS) == digits)) ? 0 : n;
}

/** Append the substitute of the identifier at t->i; the identifier's length, or
 *  0 if there is none. */
static size_t replace_id(struct redact *r, const struct at *t, struct str *out)
{
	const size_t from = out->len;
	unsigned char bytes[20];
	struct ip_addr ip;
	char text[IP_TEXT];
	size_t n = 0, k = 0;

	while (k < FORMS && (n = find_form(t, forms[k], text)) == 0) {
		k++;
	}
	if (n > 0) {
		const size_t n_bytes = strlen(text) / 2;

		hash_unhex(text, bytes, n_bytes);
		if (n_bytes == 20) {	/* of IPoIB: a queue pair, and a GID */
			stand_in_v6(r, bytes + 4);
		} else {
			stand_in(r, bytes, n_bytes);
		}
		hash_hex(bytes, n_bytes, text);
		for (size_t i = 0, digit = 0; i < n; i++) {
			const int c = forms[k][i] == '#' ? text[digit++] :
							  forms[k][i];

			str_addch(out, (char)(isupper((unsigned char)
						      t->text[t->i + i]) ?
						      toupper(c) : c));
		}
	} else if ((n = find_ip(r, t, &ip)) > 0) {
		if (ip.family == AF_INET) {
			stand_in_v4(r, ip.bytes);
		} else {
			stand_in_v6(r, ip.bytes);
		}
		for (size_t i = 0; n == 39 && i < 16; i += 2) {
			/* 0000:...: a GID as sysfs has it */
			str_addf(out, "%s%02x%02x", i ? ":" : "", ip.bytes[i],
				 ip.bytes[i + 1]);
		}
		str_add(out, n == 39 ? "" : ip_text(&ip, text, sizeof(text)));
	}
	/* netmasks and the like are kept */
	r->replaced += out->len - from != n ||
		       memcmp(str_text(out) + from, t->text + t->i, n) != 0;
	return n;
}

/* ---- names --------------------------------------------------------------- */

static const char *const kind_words[REDACT_KINDS] = {
	[REDACT_HOST] = "node", [REDACT_USER] = "user",
	[REDACT_SWITCH] = "switch", [REDACT_SERIAL] = "serial",
	[REDACT_SITE] = "site",
};

int redact_names(struct redact *r)
{
	r->names = json_object();
	return r->names ? hash_random(r->key, sizeof(r->key)) : -1;
}

void redact_release(struct redact *r)
{
	json_decref(r->names);
	*r = (struct redact){ 0 };
}

void redact_add(struct redact *r, enum redact_kind kind, const char *name)
{
	const char *dot = strchr(name, '.');
	char word[NAME_MOST + 1];

	if (!r->names || !name[0] || strlen(name) > NAME_MOST ||
	    alias_of(r, name)) {
		return;
	}
	STR_COPY(word, name);
	if (kind == REDACT_HOST) {
		if (dot) {
			word[dot - name] = '\0';
		}
		/* an address does not name a host */
		if (strspn(word, DIGITS) == strlen(word) ||
		    str_starts(word, "localhost")) {
			return;
		}
		if (dot && strchr(dot + 1, '.')) {
			redact_add(r, REDACT_SITE, dot + 1);
		}
	} else if (kind == REDACT_USER && strcmp(name, "root") == 0) {
		return;
	}
	if (!alias_of(r, word)) {
		char alias[32];

		snprintf(alias, sizeof(alias), "%s%zu", kind_words[kind],
			 ++r->n[kind]);
		json_object_set_new(r->names, word, json_string(alias));
	}
	if (strcmp(word, name) != 0) {
		json_object_set(r->names, name,
				alias_of(r, word));
	}
}

void redact_learn(struct redact *r, const char *name, const char *value)
{
	static const struct {
		const char *name;
		enum redact_kind kind;
	} named[] = {
		{ "node", REDACT_HOST },     { "host", REDACT_HOST },
		{ "user", REDACT_USER },     { "switch", REDACT_SWITCH },
		{ "leaf_switch", REDACT_SWITCH },
	};
	char word[NAME_MOST + 1];
	size_t n = strspn(value, WORD ".");

	if (r->names && (strcasestr(name, "version") ||
			 strcmp(name, "libibverbs") == 0)) {
		/* "1.14.44.0" is its own substitute */
		json_object_set_new(r->names, value, json_string(value));
		return;
	}
	if (strcasestr(name, "serial")) {
		/* not "N/A", and not a word of a sentence */
		if (n >= 6 && n == strlen(value) && strpbrk(value, DIGITS)) {
			redact_add(r, REDACT_SERIAL, value);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		if (strcmp(name, named[i].name) == 0) {
			/* "MF0;NAME:MQM9700/U1" of a managed switch */
			const char *from = strchr(value, ';');

			from = from ? from + 1 : value;
			n = strspn(from, WORD ".");
			snprintf(word, sizeof(word), "%.*s", (int)n, from);
			redact_add(r, named[i].kind, word);
			return;
		}
	}
}

/** "gpu[01-04]" at t->i, where a known host begins with "gpu": the length up to
 *  and with the bracket, or 0. */
static size_t find_list(const struct redact *r, const struct at *t)
{
	const size_t n = span(t, t->i, WORD ".");
	const char *name;
	json_t *alias;
	size_t close;

	if (n == 0 || n > NAME_MOST || !begins(t, t->i + n, "[")) {
		return 0;
	}
	close = span(t, t->i + n + 1, DIGITS ",-");
	if (!begins(t, t->i + n + 1 + close, "]")) {
		return 0;
	}
	json_object_foreach(r->names, name, alias) {
		if (strncmp(name, t->text + t->i, n) == 0) {
			return n + close + 2;
		}
	}
	return 0;
}

/** A known name at t->i, or a new host of a known domain: its length with the
 *  domain behind it, or 0. */
static size_t find_name(struct redact *r, const struct at *t,
			const char **alias)
{
	size_t n = span(t, t->i, WORD "."), more;
	char name[NAME_MOST + 1];
	const char *dot, *domain;

	if (n > NAME_MOST) {
		n = NAME_MOST;
	}
	/* the end of a sentence */
	while (n > 0 && t->text[t->i + n - 1] == '.') {
		n--;
	}
	memcpy(name, t->text + t->i, n);
	name[n] = '\0';
	dot = strchr(name, '.');
	domain = dot && dot > name ?
			 json_string_value(alias_of(r, dot + 1)) : NULL;
	if (domain && str_starts(domain, kind_words[REDACT_SITE])) {
		redact_add(r, REDACT_HOST, name);
	}
	for (; n > 0; n--) {	/* the longest one */
		name[n] = '\0';
		*alias = is_one(t, t->i + n, ALPHA DIGITS) ? NULL :
			 json_string_value(alias_of(r, name));
		if (*alias) {
			break;
		}
	}
	if (n == 0) {
		return 0;
	}
	/* .hpc.example, but not the .log of a file */
	for (size_t i = t->i + n, dots = 0; begins(t, i, ".") &&
	     is_one(t, i + 1, ALPHA); i += more) {
		more = 1 + span(t, i + 1, WORD);
		if (++dots >= 2) {
			n = i + more - t->i;
		}
	}
	return n;
}

static bool replace_name(struct redact *r, struct at *t, struct str *out)
{
	/* no name is longer: a word of a million letters is read once */
	const struct at near = {
		t->text, t->len - t->i > 2 * NAME_MOST ? t->i + 2 * NAME_MOST :
							 t->len, t->i
	};
	const char *alias = "hosts";
	char owner[NAME_MOST + 1];
	size_t n, from;

	if (!r->names) {
		return false;
	}
	/* the owner of a home directory is a user */
	from = begins(&near, t->i, "/home/")  ? t->i + 6 :
	       begins(&near, t->i, "/users/") ? t->i + 7 : 0;
	n = from ? span(&near, from, WORD ".") : 0;
	if (n > 0 && n < sizeof(owner)) {
		memcpy(owner, t->text + from, n);
		owner[n] = '\0';
		redact_add(r, REDACT_USER, owner);
	}
	if (t->i > 0 && is_one(t, t->i - 1, ALPHA DIGITS)) {
		return false;
	}
	n = replace_id(r, &near, out);
	if (n == 0) {
		n = find_list(r, &near);
		n = n ? n : find_name(r, &near, &alias);
		str_add(out, n ? alias : "");
	}
	t->i += n;
	return n > 0;
}

/* ---- texts --------------------------------------------------------------- */

/** One that stands at t->i is taken out; false: there is none. */
static bool drop_secret(struct redact *r, struct at *t, struct str *out)
{
	const bool first = t->i == 0 || !is_one(t, t->i - 1, WORD);
	/* a private key, whose end may have been cut off */
	const size_t pem = pem_line(t, "-----BEGIN ");
	const size_t end = pem ? find(t, pem, PEM_END) : 0;
	size_t n, from, word;

	if (pem > 0) {
		n = end < t->len ? end + strlen(PEM_END) - t->i :
				   t->len - t->i;
	} else {
		n = first ? find_shape(t) : 0;
	}
	if (n > 0) {
		drop(r, t, n, out);
		return true;
	}
	n = find_login(t);
	if (n > 0) {
		copy(t, 3, out);
		drop(r, t, n, out);
		return true;
	}
	n = first ? find_option(t, &from) : 0;
	word = first && n == 0 ? span(t, t->i, WORD) : 0;
	if (word > 0 && is_secret(t->text + t->i, word)) {
		n = find_value(t, word, &from);
	} else if (word > 0 && r->names && word <= NAME_MOST) {
		const size_t more = begins(t, t->i + word, " Number") ? 7 : 0;
		char text[2][NAME_MOST + 1];

		snprintf(text[0], sizeof(text[0]), "%.*s", (int)word,
			 t->text + t->i);
		if (strcasestr(text[0], "serial") &&
		    find_value(t, word + more, &from) > 0) {
			snprintf(text[1], sizeof(text[1]), "%.*s",
				 (int)span(t, from, WORD), t->text + from);
			redact_learn(r, "serial", text[1]);
		}
	}
	if (n == 0) {
		return false;
	}
	copy(t, from - t->i, out);
	drop(r, t, n, out);
	return true;
}

void redact_text(struct redact *r, const char *text, size_t len,
		 struct str *out)
{
	const size_t from = out->len;
	struct at t = { text, len, 0 };

	while (t.i < t.len) {
		const size_t end = pem_line(&t, "-----END ");

		if (end > 0) {	/* of a key whose begin was cut off */
			str_cut(out, from);
			drop(r, &t, end - t.i, out);
			continue;
		}
		if (!drop_secret(r, &t, out) && !replace_name(r, &t, out)) {
			copy(&t, 1, out);
		}
	}
}

void redact_value(struct redact *r, const char *name, const char *text,
		  struct str *out)
{
	if (text[0] && is_secret(name, strlen(name))) {
		str_add(out, REDACT_GONE);
		r->removed++;
		return;
	}
	redact_text(r, text, strlen(text), out);
}

json_t *redact_json(struct redact *r, const char *name, const json_t *json)
{
	const char *text = json_string_value(json), *before = "", *key;
	const bool secret = is_secret(name, strlen(name));
	struct str out = STR_INIT;
	json_t *made, *value;
	size_t i;

	switch (json ? json_typeof(json) : JSON_NULL) {
	case JSON_STRING:
		redact_value(r, name, text, &out);
		made = out.failed ? NULL : json_text(str_text(&out));
		break;
	case JSON_OBJECT:
		made = json_object();
		json_object_foreach((json_t *)json, key, value) {
			str_reset(&out);
			redact_text(r, key, strlen(key), &out);
			json_object_set_new(made, str_text(&out),
					    redact_json(r, key, value));
		}
		break;
	case JSON_ARRAY:
		made = json_array();
		json_array_foreach(json, i, value) {
			/* "--token", "..." of a command line */
			json_array_append_new(made, redact_json(
				r, secret ? name : before, value));
			before = json_string_value(value);
			before = before && !before[strspn(before, WORD)] ?
					 before : "";
		}
		break;
	default:
		made = json_deep_copy(json);
	}
	str_release(&out);
	return made;
}

/* ---- archive ------------------------------------------------------------ */

#define BLOCK 512

/** POSIX.1-2001, pax(1), "ustar Interchange Format": octal digits, ended by a
 *  NUL; names may fill their field. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type, link[100], magic[6], version[2], user[32], group[32];
	char major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static const char zeros[2 * BLOCK];
const size_t tar_end_size = sizeof(zeros);

/** To the end of the last block. */
static size_t padding(size_t len)
{
	return (BLOCK - len % BLOCK) % BLOCK;
}

size_t tar_size(size_t len)
{
	return BLOCK + len + padding(len);
}

#define OCTAL(field, value) \
	snprintf((field), sizeof(field), "%0*llo", (int)sizeof(field) - 1, \
		 (unsigned long long)(value))

bool tar_add(struct str *out, const char *name, const void *data, size_t len,
	     int64_t mtime_s)
{
	const uint64_t most = UINT64_C(077777777777);	/* 11 digits */
	struct tar_header h = { .type = '0', .magic = "ustar",
			    .version = { '0', '0' } };
	const unsigned char *byte = (const unsigned char *)&h;
	const size_t n = strlen(name);
	const char *rest = name;	/* fits the field of the name */
	unsigned sum = 0;

	if (len > most || n == 0) {
		return false;
	}
	if (n > sizeof(h.name)) {
		/* from the first slash that leaves a rest which fits */
		rest = strchr(name + n - sizeof(h.name) - 1, '/');
		if (!rest || !rest[1] || rest == name ||
		    (size_t)(rest - name) > sizeof(h.prefix)) {
			return false;
		}
		memcpy(h.prefix, name, (size_t)(rest - name));
		rest++;
	}
	memcpy(h.name, rest, strlen(rest));
	OCTAL(h.mode, 0644);
	OCTAL(h.uid, 0);
	OCTAL(h.gid, 0);
	OCTAL(h.size, len);
	OCTAL(h.mtime, mtime_s < 0 ? 0 : (uint64_t)mtime_s & most);
	memset(h.sum, ' ', sizeof(h.sum));	/* as it is summed up */
	for (size_t i = 0; i < BLOCK; i++) {
		sum += byte[i];
	}
	snprintf(h.sum, sizeof(h.sum) - 1, "%06o", sum);
	str_addmem(out, &h, sizeof(h));
	str_addmem(out, data, len);
	str_addmem(out, zeros, padding(len));
	return true;
}

void tar_end(struct str *out)
{
	str_addmem(out, zeros, sizeof(zeros));
}

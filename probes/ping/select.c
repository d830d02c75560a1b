/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/select.h"

#include <string.h>

#include "lib/base/net.h"
#include "lib/data/port_filter.h"

#define WORD_SIZE 128

/** The next word of the comma list at *@at into @word; false at its end. */
static bool next_word(const char **at, char word[WORD_SIZE])
{
	size_t len;

	while (**at == ',') {
		(*at)++;
	}
	len = strcspn(*at, ",");
	if (len == 0 || len >= WORD_SIZE) {
		return false;
	}
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return true;
}

static int check_words(const char *option, const char *list, bool nets,
		       struct err *e)
{
	const char *at = list;
	char word[WORD_SIZE];
	struct ip_net net;

	while (next_word(&at, word)) {
		if (nets && ip_net_parse(word, &net, e) < 0) {
			return -1;
		}
	}
	return *at == '\0' ? 0 :
			     err_set(e, 0, "--%s: a word is too long", option);
}

int ping_select_check(const struct spec *s, struct err *e)
{
	const char *names = s->ifname;

	names += *names == '^';
	names += *names == '=';
	if (s->ifname[0] && !names[strspn(names, ",")]) {
		err_set(e, 0, "--ifname: '%s' names no interface", s->ifname);
		return err_hint(e, "eth,ib: names that begin so; =eth0: only "
				   "this one; ^docker: all but these");
	}
	if (check_words("ifname", names, false, e) < 0 ||
	    check_words("subnet", s->subnet, true, e) < 0) {
		return -1;
	}
	return check_words("skip", s->skip, false, e);
}

/* Has the list @name, or a subnet of @ip? */
static bool has(const char *list, const char *name, const struct ip_addr *ip)
{
	char word[WORD_SIZE];
	struct ip_net net;

	while (next_word(&list, word)) {
		if (strcmp(word, name) == 0 ||
		    (ip_net_parse(word, &net, NULL) == 0 && ip_in(ip, &net))) {
			return true;
		}
	}
	return false;
}

bool ping_select(const struct spec *s, const char *ifname,
		 const struct ip_addr *ip)
{
	return (s->ifname[0] ? port_matches(s->ifname, ifname) :
			       !net_is_inner(ifname)) &&
	       (s->subnet[0] == '\0' || has(s->subnet, "", ip)) &&
	       !has(s->skip, ifname, ip);
}

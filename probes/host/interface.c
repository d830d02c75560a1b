/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/interface.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <math.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/host/sysfile.h"

/* ---- route --------------------------------------------------------------- */

/* Defined by kernel headers from 2017 on. */
#ifndef RTM_F_FIB_MATCH
#define RTM_F_FIB_MATCH 0x2000
#endif

struct question {
	struct nlmsghdr head;
	struct rtmsg body;
	char attributes[2 * RTA_SPACE(16) + RTA_SPACE(4)];
};

int routes_open(void)
{
	const struct timeval patience = { .tv_sec = 1 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	}
	return fd;
}

static void add_attribute(struct question *q, unsigned short type,
			  const void *bytes, size_t n)
{
	struct rtattr *a = (void *)((char *)q + q->head.nlmsg_len);

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), bytes, n);
	q->head.nlmsg_len += (unsigned)RTA_SPACE(n);
}

bool routes_lead(int fd, const struct ip_addr *from, unsigned ifindex,
		 const struct ip_addr *to)
{
	size_t bytes = to->family == AF_INET6 ? 16 : 4;
	struct question q = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(q.body)),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST,
			  /* no earlier question has it */
			  .nlmsg_seq = (uint32_t)clock_raw_ns() },
		.body = { .rtm_family = (unsigned char)to->family,
			  .rtm_dst_len = (unsigned char)(8 * bytes),
			  .rtm_src_len = (unsigned char)(8 * bytes),
			  .rtm_flags = RTM_F_FIB_MATCH },
	};
	_Alignas(struct nlmsghdr) char answer[4096];
	const struct nlmsghdr *h = (const void *)answer;
	struct nlmsgerr why;
	ssize_t n;

	add_attribute(&q, RTA_DST, to->bytes, bytes);
	add_attribute(&q, RTA_SRC, from->bytes, bytes);
	add_attribute(&q, RTA_OIF, &ifindex, sizeof(ifindex));
	if (fd < 0 || send(fd, &q, q.head.nlmsg_len, 0) < 0) {
		return true;
	}
	do {
		n = recv(fd, answer, sizeof(answer), 0);
		if (n < (ssize_t)sizeof(*h)) {
			return true;
		}
	} while (h->nlmsg_seq != q.head.nlmsg_seq);
	if (h->nlmsg_type != NLMSG_ERROR ||
	    n < (ssize_t)NLMSG_LENGTH(sizeof(why))) {
		return true;
	}
	memcpy(&why, NLMSG_DATA(h), sizeof(why));
	return why.error != -ENETUNREACH && why.error != -EHOSTUNREACH;
}

/* ---- peer way ------------------------------------------------------------ */

#define PCI_HEADER_B	64 /* the part that any user may read */
#define NAMES_MAX    1024
#define CONFIG_BASE	0x100	/* extended capabilities begin here */
#define CAPABILITY_ACS	0x000d
#define CLASS_OFFSET	0x0a	/* sub-class, then class */
#define CLASS_BRIDGE	0x0604
/* Request and completion redirect, upstream forwarding. */
#define ACS_REDIRECTS	(0x04 | 0x08 | 0x10)

static unsigned word(const unsigned char *config, size_t at)
{
	return config[at] | (unsigned)config[at + 1] << 8;
}

enum acs_state acs_of_config(const void *bytes, size_t len)
{
	const unsigned char *config = bytes;
	size_t at = CONFIG_BASE;

	if (len < CLASS_OFFSET + 2) {
		return ACS_UNKNOWN;
	}
	if (word(config, CLASS_OFFSET) != CLASS_BRIDGE) {
		return ACS_NONE;
	}
	if (len < CONFIG_BASE + 4) {
		return ACS_UNKNOWN;	/* what all may read ends before it */
	}
	/* a capability is 4 bytes at least: a chain has no more than these */
	for (size_t i = 0; i < len / 4 && at >= CONFIG_BASE && at + 8 <= len;
	     i++) {
		if (word(config, at) == CAPABILITY_ACS) {
			return word(config, at + 6) & ACS_REDIRECTS ?
				       ACS_REDIRECTS_ON :
				       ACS_OFF;
		}
		at = word(config, at + 2) >> 4;
	}
	return ACS_NONE;
}

size_t acs_count(const char *root, int count[ACS_STATES])
{
	static char names[NAMES_MAX][64];
	size_t n = sysfile_list(names, NAMES_MAX, "%s" ACS_SOURCE, root);
	char path[PATH_MAX], config[4096];

	memset(count, 0, ACS_STATES * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		enum acs_state state = ACS_UNKNOWN;
		ssize_t len;
		int fd;

		snprintf(path, sizeof(path),
			 "%.2000s" ACS_SOURCE "/%.64s/config", root, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			len = pread(fd, config, PCI_HEADER_B, 0);
			/* all of it is slow to read: of bridges only */
			if (len == PCI_HEADER_B &&
			    acs_of_config(config, (size_t)len) == ACS_UNKNOWN) {
				len = pread(fd, config, sizeof(config), 0);
			}
			state = len < 0 ? ACS_UNKNOWN :
					  acs_of_config(config, (size_t)len);
			close(fd);
		}
		count[state]++;
	}
	return n;
}

const char *iommu_does(const char *root)
{
	static char groups[NAMES_MAX][64];
	size_t n = sysfile_list(groups, NAMES_MAX, "%s" IOMMU_SOURCE, root);
	char type[32];

	for (size_t i = 0; i < n; i++) {
		sysfile_read(type, sizeof(type), "%s" IOMMU_SOURCE "/%s/type",
			     root, groups[i]);
		if (str_starts(type, "DMA")) {
			return IOMMU_TRANSLATES;
		}
	}
	return n == 0 ? "off" : "passes DMA through";
}

/* ---- interface ----------------------------------------------------------- */

#define PACKET_MAX 65535	/* bytes that IP can count */

/* Set the hardware address of @i, which has an entry of its own in @all. */
static void read_mac(const struct ifaddrs *all, struct interface *i)
{
	struct sockaddr_ll ll;

	for (; all != NULL; all = all->ifa_next) {
		if (all->ifa_addr == NULL ||
		    all->ifa_addr->sa_family != AF_PACKET ||
		    strcmp(all->ifa_name, i->name) != 0) {
			continue;
		}
		/* glibc makes room for the longer address of IPoIB */
		memcpy(&ll, all->ifa_addr, sizeof(ll));
		if (ll.sll_halen <= sizeof(i->mac)) {
			memcpy(i->mac,
			       (const char *)all->ifa_addr +
				       offsetof(struct sockaddr_ll, sll_addr),
			       ll.sll_halen);
			i->mac_len = ll.sll_halen;
		}
	}
}

size_t interface_list(struct interface *list, size_t max)
{
	struct ifaddrs *all;
	struct ip_addr ip, mask;
	size_t n = 0;

	if (getifaddrs(&all) < 0) {
		return 0;
	}
	for (const struct ifaddrs *a = all; a != NULL && n < max;
	     a = a->ifa_next) {
		struct interface *i = &list[n];
		struct ifreq ask = { 0 };
		int fd;

		if (a->ifa_addr == NULL || (a->ifa_flags & IFF_LOOPBACK)) {
			continue;
		}
		ip = ip_of_sockaddr(a->ifa_addr);
		if (ip.family == 0 || ip_is_link_local(&ip)) {
			continue;
		}
		*i = (struct interface){ .net = { .ip = ip } };
		mask = a->ifa_netmask ? ip_of_sockaddr(a->ifa_netmask) :
					(struct ip_addr){ 0 };
		for (size_t k = 0; k < sizeof(mask.bytes); k++) {
			i->net.prefix += __builtin_popcount(mask.bytes[k]);
		}
		STR_COPY(i->name, a->ifa_name);
		STR_COPY(i->state,
			 !(a->ifa_flags & IFF_UP) ? "down" :
			 !(a->ifa_flags & IFF_RUNNING) ? "no_carrier" :
							 "up");
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		str_copy(ask.ifr_name, sizeof(ask.ifr_name), i->name);
		if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &ask) == 0) {
			i->mtu_B = ask.ifr_mtu;
		}
		if (fd >= 0) {
			close(fd);
		}
		read_mac(all, i);
		n++;
	}
	freeifaddrs(all);
	return n;
}

double interface_line_GB_s(const char *root, const char *name)
{
	char text[32];
	double Mb_s;

	sysfile_read(text, sizeof(text), "%s/sys/class/net/%s/speed", root,
		     name);
	Mb_s = strtod(text, NULL);
	/* -1, also without its sign, where the driver does not know */
	return Mb_s > 0 && Mb_s < UINT32_MAX ? Mb_s / 8000 : NAN;
}

bool interface_is_ipoib(const char *root, const char *name)
{
	char text[32];

	sysfile_read(text, sizeof(text), "%s/sys/class/net/%s/type", root,
		     name);
	return strtol(text, NULL, 10) == ARPHRD_INFINIBAND;
}

bool interface_of(const struct sockaddr *sa, struct interface *found)
{
	const struct ip_addr ip = ip_of_sockaddr(sa);
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n = list != NULL ? interface_list(list, INTERFACE_MAX) : 0;
	size_t i = 0;

	while (i < n && !ip_equal(&list[i].net.ip, &ip)) {
		i++;
	}
	*found = i < n ? list[i] : (struct interface){ 0 };
	free(list);
	return i < n;
}

enum interface_way interface_says(const struct sockaddr *sa, char *buf,
				  size_t size)
{
	struct interface i;

	buf[0] = '\0';
	if (!interface_of(sa, &i)) {
		return INTERFACE_UNKNOWN;
	}
	snprintf(buf, size, "%s %s", i.name, i.state);
	return strcmp(i.state, "up") == 0 ? INTERFACE_UP : INTERFACE_DOWN;
}

json_t *interface_json(const struct interface *i)
{
	char ip[IP_TEXT], addr[IP_TEXT + 8], mac[2 * INTERFACE_MAC + 1];

	snprintf(addr, sizeof(addr), "%s/%d",
		 ip_text(&i->net.ip, ip, sizeof(ip)), i->net.prefix);
	hash_hex(i->mac, i->mac_len, mac);
	return json_pack("{s:s,s:s,s:I,s:s,s:s}", "name", i->name, "addr",
			 addr, "mtu_B", (json_int_t)i->mtu_B, "mac", mac,
			 "state", i->state);
}

int interface_parse(const json_t *json, struct interface *i, struct err *e)
{
	char addr[IP_TEXT + 8], mac[2 * INTERFACE_MAC + 1] = "";

	*i = (struct interface){ .state = "up" };
	if (json_get_text(json, "name", i->name, sizeof(i->name), e) < 0 ||
	    json_get_text(json, "addr", addr, sizeof(addr), e) < 0 ||
	    ip_net_parse(addr, &i->net, e) < 0 ||
	    json_opt_int(json, "mtu_B", 0, 1 << 20, &i->mtu_B, e) < 0 ||
	    json_opt_text(json, "mac", mac, sizeof(mac), e) < 0 ||
	    json_opt_text(json, "state", i->state, sizeof(i->state), e) < 0) {
		return -1;
	}
	if (i->mtu_B > PACKET_MAX) {
		i->mtu_B = PACKET_MAX;	/* lo says one byte more */
	}
	i->mac_len = strlen(mac) / 2;
	return hash_unhex(mac, i->mac, i->mac_len) == 0 ?
		       0 :
		       err_set(e, 0, "'%s' is not a hardware address", mac);
}

/* ---- bonds --------------------------------------------------------------- */

/** The text after "@key: " if the line at @line begins with that; NULL. */
static const char *bond_value(const char *line, const char *key)
{
	size_t n = strlen(key);

	line += strspn(line, " \t");
	return strncmp(line, key, n) == 0 && line[n] == ':' ?
		       line + n + 1 + strspn(line + n + 1, " \t") : NULL;
}

/** Take the line at @line, which is about leg @l; @end is whose LACP details
 *  the lines before were, BOND_ENDS before these. */
static void take_leg_line(struct bond_leg *l, const char *line,
			  enum bond_end *end)
{
	const char *value;

	if ((value = bond_value(line, "MII Status")) != NULL) {
		l->up = str_starts(value, "up");
	} else if ((value = bond_value(line, "Aggregator ID")) != NULL) {
		l->aggregator = (int)strtol(value, NULL, 10);
	} else if (bond_value(line, "details actor lacp pdu") != NULL) {
		*end = BOND_ACTOR;
	} else if (bond_value(line, "details partner lacp pdu") != NULL) {
		*end = BOND_PARTNER;
	} else if (*end < BOND_ENDS &&
		   (value = bond_value(line, "port state")) != NULL) {
		l->state[*end] = (int)strtol(value, NULL, 10);
	} else if (*end == BOND_PARTNER &&
		   (value = bond_value(line, "system mac address")) != NULL) {
		snprintf(l->partner, sizeof(l->partner), "%.*s",
			 (int)strspn(value, "0123456789abcdef:"), value);
	}
}

bool bond_parse(const char *text, struct bond *b)
{
	enum bond_end end = BOND_ENDS;
	const char *value;

	*b = (struct bond){ .n_legs = 0 };
	for (; *text != '\0'; text += strcspn(text, "\n"),
			      text += *text == '\n') {
		struct bond_leg *leg;

		if ((value = bond_value(text, "Bonding Mode")) != NULL) {
			b->lacp = str_starts(value, "IEEE 802.3ad");
			continue;
		}
		value = bond_value(text, "Slave Interface");
		if (value == NULL && b->n_legs > 0) {
			take_leg_line(&b->legs[b->n_legs - 1], text, &end);
		}
		if (value == NULL) {
			continue;
		}
		if (b->n_legs == BOND_LEGS) {
			break;
		}
		end = BOND_ENDS;
		leg = &b->legs[b->n_legs++];
		leg->aggregator = -1;
		leg->state[BOND_ACTOR] = leg->state[BOND_PARTNER] = -1;
		snprintf(leg->name, sizeof(leg->name), "%.*s",
			 (int)strcspn(value, " \t\r\n"), value);
	}
	return b->n_legs > 0;
}

/* Bits of a port's state, IEEE 802.1AX. */
#define LACP_IN_USE	0x38	/* in sync, collecting, distributing */
#define LACP_DEFAULTED	0x40	/* no LACP packet came from the other end */
#define LACP_EXPIRED	0x80	/* none has come for long */

const char *bond_leg_fault(const struct bond *b, int leg, char buf[BOND_FAULT])
{
	const struct bond_leg *l = &b->legs[leg], *first = NULL;
	const int own = l->state[BOND_ACTOR], other = l->state[BOND_PARTNER];
	int mine = 0, most = 0;

	buf[0] = '\0';
	if (!l->up) {
		snprintf(buf, BOND_FAULT, "%s is down", l->name);
		return buf;
	}
	if (!b->lacp || b->n_legs < 2) {
		return buf;
	}
	for (int i = 0; i < b->n_legs; i++) {
		int alike = 0;

		for (int k = 0; k < b->n_legs; k++) {
			alike += b->legs[k].up && b->legs[k].aggregator ==
							 b->legs[i].aggregator;
		}
		if (b->legs[i].up && alike > most) {
			most = alike;
			first = &b->legs[i];
		}
		mine = i == leg ? alike : mine;
	}
	if (own >= 0 && (own & (LACP_DEFAULTED | LACP_EXPIRED))) {
		snprintf(buf, BOND_FAULT, "%s is up, but its switch port does "
			 "not send LACP packets", l->name);
	} else if (own >= 0 && other >= 0 &&
		   (own & other & LACP_IN_USE) != LACP_IN_USE) {
		snprintf(buf, BOND_FAULT, "%s is up, but LACP does not use it "
			 "(port state %d, of the switch %d)", l->name, own,
			 other);
	} else if (l->aggregator >= 0 &&
		   (mine < most || l->aggregator != first->aggregator)) {
		snprintf(buf, BOND_FAULT, "%s is up, but not in the LACP "
			 "aggregate%s", l->name,
			 l->partner[0] && first->partner[0] &&
					 strcmp(l->partner, first->partner) ?
				 ": it leads to another switch" : "");
	}
	return buf;
}

/* ---- statistics of the driver -------------------------------------------- */

#define STATS_MAX  8192		/* counters; mlx5 has about 1500 */
#define STATS_TEXT (1024 * 1024)

static int ask_driver(int fd, const char *name, void *data)
{
	struct ifreq r = { .ifr_data = data };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &r);
}

static void add_stats(int fd, const char *name, struct str *out)
{
	/* the number of strings follows the head */
	struct ethtool_sset_info *ask =
		calloc(1, sizeof(*ask) + sizeof(uint32_t));
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	uint32_t n = 0;

	if (ask != NULL) {
		ask->cmd = ETHTOOL_GSSET_INFO;
		ask->sset_mask = 1ULL << ETH_SS_STATS;
		n = ask_driver(fd, name, ask) == 0 && ask->sset_mask != 0 ?
			    ask->data[0] : 0;
	}
	free(ask);
	if (n == 0 || n > STATS_MAX) {
		return;
	}
	names = calloc(1, sizeof(*names) + n * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + n * sizeof(uint64_t));
	if (names != NULL && values != NULL) {
		names->cmd = ETHTOOL_GSTRINGS;
		names->string_set = ETH_SS_STATS;
		names->len = values->n_stats = n;
		values->cmd = ETHTOOL_GSTATS;
	}
	/* a driver may change how many there are: both must say the same */
	if (names != NULL && values != NULL &&
	    ask_driver(fd, name, names) == 0 &&
	    ask_driver(fd, name, values) == 0 && names->len == n &&
	    values->n_stats == n) {
		for (uint32_t i = 0; i < n; i++) {
			str_addf(out, "%.*s: %llu\n", ETH_GSTRING_LEN,
				 (const char *)names->data +
					 i * ETH_GSTRING_LEN,
				 (unsigned long long)values->data[i]);
		}
	}
	free(names);
	free(values);
}

/** The payload of the attribute at *@at, its type and size, and *@at behind it;
 *  NULL at @end, or if it is cut. */
static const unsigned char *next_attribute(const unsigned char **at,
					   const unsigned char *end,
					   unsigned *type, size_t *size)
{
	const unsigned char *head = *at;
	struct nlattr a;

	if (end - head < (ptrdiff_t)sizeof(a)) {
		return NULL;
	}
	memcpy(&a, head, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > end - head) {
		return NULL;
	}
	*type = a.nla_type & NLA_TYPE_MASK;
	*size = a.nla_len - sizeof(a);
	*at = end - head > NLA_ALIGN(a.nla_len) ? head + NLA_ALIGN(a.nla_len) :
						  end;
	return head + sizeof(a);
}

void interface_dcb_parse(const void *answer, size_t len, struct str *out)
{
	const unsigned char *at = answer, *end = at + len, *in, *sub, *app;
	unsigned type, kind;
	size_t size, n, apps = 0;

	while ((in = next_attribute(&at, end, &type, &size))) {
		const unsigned char *last = in + size;

		while (type == DCB_ATTR_IEEE &&
		       (sub = next_attribute(&in, last, &kind, &n))) {
			const unsigned char *stop = sub + n;

			/* struct ieee_pfc: capacity, then a bit a priority */
			if (kind == DCB_ATTR_IEEE_PFC && n >= 2) {
				str_add(out, INTERFACE_PFC);
				for (int k = 0; k < 8; k++) {
					if (sub[1] >> k & 1) {
						str_addf(out, "%d ", k);
					}
				}
				str_add(out, sub[1] ? "\n" : "none\n");
			}
			/* struct dcb_app: selector, priority, DSCP */
			while (kind == DCB_ATTR_IEEE_APP_TABLE &&
			       (app = next_attribute(&sub, stop, &kind, &n))) {
				uint16_t dscp;

				kind = DCB_ATTR_IEEE_APP_TABLE;
				if (n < 4 ||
				    app[0] != IEEE_8021QAZ_APP_SEL_DSCP) {
					continue;
				}
				memcpy(&dscp, app + 2, sizeof(dscp));
				str_addf(out, "%s%u=%u ", apps++ ? "" :
					 INTERFACE_DSCP, dscp, app[1]);
			}
		}
	}
	str_add(out, apps ? "\n" : "");
}

/** Add what the driver of interface @name says of priorities. */
static void add_dcb(const char *name, struct str *out)
{
	struct {
		struct nlmsghdr head;
		struct dcbmsg body;
		struct nlattr attribute;
		char name[IF_NAMESIZE];
	} q = {
		.head = { .nlmsg_len = sizeof(q), .nlmsg_type = RTM_GETDCB,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .cmd = DCB_CMD_IEEE_GET },
		.attribute = { .nla_len = sizeof(q.attribute) + sizeof(q.name),
			       .nla_type = DCB_ATTR_IFNAME },
	};
	_Alignas(struct nlmsghdr) char answer[16384];
	const struct nlmsghdr *h = (const void *)answer;
	const size_t head = NLMSG_SPACE(sizeof(struct dcbmsg));
	int fd = routes_open();
	ssize_t n = -1;

	snprintf(q.name, sizeof(q.name), "%s", name);
	if (fd >= 0) {
		n = send(fd, &q, sizeof(q), 0) < 0 ?
			    -1 : recv(fd, answer, sizeof(answer), 0);
		close(fd);
	}
	if (n > (ssize_t)head && h->nlmsg_type != NLMSG_ERROR) {
		interface_dcb_parse(answer + head, (size_t)n - head, out);
	}
}

char *interface_stats(const char *root, const char *name, bool settings)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} fecs[] = {
		{ ETHTOOL_FEC_RS, "RS" }, { ETHTOOL_FEC_BASER, "BaseR" },
		{ ETHTOOL_FEC_LLRS, "LLRS" }, { ETHTOOL_FEC_OFF, "Off" },
	};
	struct ethtool_fecparam fec = { .cmd = ETHTOOL_GFECPARAM };
	struct str out = STR_INIT;
	char *text;
	int fd;

	if (root[0] != '\0') {
		return sysfile_whole(STATS_TEXT, "%s/ethtool/%s", root, name);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return NULL;
	}
	add_stats(fd, name, &out);
	for (size_t i = 0; settings && ask_driver(fd, name, &fec) == 0 &&
			   i < sizeof(fecs) / sizeof(fecs[0]); i++) {
		if (fec.active_fec & fecs[i].bit) {
			str_addf(&out, INTERFACE_FEC "%s\n", fecs[i].word);
		}
	}
	close(fd);
	if (settings) {
		add_dcb(name, &out);
	}
	text = out.len > 0 ? strdup(str_text(&out)) : NULL;
	str_release(&out);
	return text;
}

bool interface_stat(const char *text, const char *name, uint64_t *value)
{
	const size_t len = strlen(name);
	const char *at = text;
	char *end;

	while (text != NULL && (at = strstr(at, name)) != NULL) {
		if ((at == text || strchr(" \t\n", at[-1]) != NULL) &&
		    strncmp(at + len, ": ", 2) == 0 &&
		    isdigit((unsigned char)at[len + 2])) {
			errno = 0;
			*value = strtoull(at + len + 2, &end, 10);
			return errno == 0 && (*end == '\n' || *end == '\0');
		}
		at += len;
	}
	return false;
}

bool interface_said(const char *text, const char *mark, char *buf, size_t size)
{
	const char *at = text != NULL ? strstr(text, mark) : NULL;
	size_t n = at != NULL ? strcspn(at += strlen(mark), "\n") : 0;

	n -= n > 0 && at[n - 1] == ' ';
	snprintf(buf, size, "%.*s", (int)n, at != NULL ? at : "");
	return n > 0;
}

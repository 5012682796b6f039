#include "sip/transport/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sip/message/error.h"
#include "sip/transport/resolve_internal.h"
#include "sip/ua/ua_internal.h"

#define HOSTS_PATH  "/etc/hosts"
#define QUERIES_MAX 64 /* a search */

static void resolve_next(struct resolve *r);

void destinations_release(struct destinations *d)
{
	for (size_t i = 0; i < d->count; i++)
		mem_deref(d->list[i].name);
	d->count = 0;
}

enum sip_transp resolve_transport(const struct pl *name)
{
	if (!pl_strcasecmp(name, "udp"))
		return SIP_TRANSP_UDP;
	if (!pl_strcasecmp(name, "tcp"))
		return SIP_TRANSP_TCP;
	return pl_strcasecmp(name, "tls") ? SIP_TRANSP_NONE : SIP_TRANSP_TLS;
}

int resolve_plain(char *dst, size_t size, const char *host)
{
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[' && host[len - 1] == ']')
		return str_print(dst, size, "%.*s", (int)len - 2, host + 1) < 0
			       ? -EINVAL
			       : 0;
	return str_copy(dst, size, host) < 0 ? -EINVAL : 0;
}

bool resolve_is_ipv6(const char *host)
{
	struct sa sa;

	return !sa_set_str(&sa, host, 0) && sa_af(&sa) == AF_INET6;
}

static void step_destructor(void *arg)
{
	struct step *step = arg;

	list_unlink(&step->le);
}

static void resolve_destructor(void *arg)
{
	struct resolve *r = arg;

	mem_deref(r->query);
	mem_deref(r->step);
	list_flush(&r->steps);
}

void resolve_destination_add(struct resolve *r, enum sip_transp tp,
			     const struct sa *addr, const char *name)
{
	struct destinations *d = r->out;
	char *copy;

	if (sa_af(addr) != sa_af(&r->ua->laddr))
		return;
	for (size_t i = 0; i < d->count; i++) {
		if (d->list[i].tp == tp &&
		    sa_cmp(&d->list[i].addr, addr, SA_ALL))
			return;
	}
	if (d->count == DESTINATIONS_MAX || str_dup(&copy, name)) {
		d->truncated = true;
		return;
	}
	d->list[d->count++] = (struct destination){tp, *addr, copy};
}

/* libre asks name servers only, and a look-up through the C library would
 * block the loop. */
static bool hosts_lookup(struct sa *ret, const char *name, int af)
{
	FILE *file = fopen(HOSTS_PATH, "re");
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *rest = NULL;
		char *addr, *word;

		line[strcspn(line, "#\n")] = '\0';
		addr = strtok_r(line, " \t", &rest);
		if (!addr || sa_set_str(ret, addr, 0) || sa_af(ret) != af)
			continue;
		while (!found && (word = strtok_r(NULL, " \t", &rest)))
			found = strcasecmp(word, name) == 0;
	}
	if (file)
		fclose(file);
	return found;
}

struct step *resolve_step_add(struct resolve *r, struct le **after,
			      const struct step *from)
{
	struct step *step = mem_zalloc(sizeof(*step), step_destructor);

	if (!step)
		return NULL;
	*step = *from;
	memset(&step->le, 0, sizeof(step->le));
	if (*after)
		list_insert_after(&r->steps, *after, &step->le, step);
	else
		list_prepend(&r->steps, &step->le, step);
	*after = &step->le;
	return step;
}

const char *resolve_srv_prefix(enum sip_transp tp)
{
	return tp == SIP_TRANSP_UDP   ? "_sip._udp"
	       : tp == SIP_TRANSP_TCP ? "_sip._tcp"
				      : "_sips._tcp";
}

static void query_handler(int err, const struct dnshdr *hdr,
			  struct list *answers, struct list *authorities,
			  struct list *additional, void *arg)
{
	struct resolve *r = arg;
	struct list none = LIST_INIT;
	struct list *list = err || !answers ? &none : answers;
	(void)hdr;
	(void)authorities;
	(void)additional;

	r->query = NULL;
	switch (r->step->kind) {
	case STEP_NAPTR:
		resolve_naptr_take(r, list);
		break;
	case STEP_SRV:
		resolve_srv_take(r, list);
		break;
	case STEP_ADDR:
	case STEP_HOST:
		resolve_addr_take(r, list);
		break;
	}
	r->step = mem_deref(r->step);
	resolve_next(r);
}

static int query_send(struct resolve *r)
{
	uint16_t type =
		sa_af(&r->ua->laddr) == AF_INET6 ? DNS_TYPE_AAAA : DNS_TYPE_A;

	if (r->step->kind == STEP_NAPTR)
		type = DNS_TYPE_NAPTR;
	else if (r->step->kind == STEP_SRV)
		type = DNS_TYPE_SRV;
	if (r->queries++ >= QUERIES_MAX)
		return -ENODATA;
	return r->ua->dnsc ? neg(dnsc_query(&r->query, r->ua->dnsc,
					    r->step->host, type, DNS_CLASS_IN,
					    true, query_handler, r))
			   : -ENODATA;
}

/* @return true: known without a name server */
static bool step_local(struct resolve *r)
{
	struct step *step = r->step;
	struct sa sa;

	if (step->kind != STEP_HOST && step->kind != STEP_ADDR)
		return false;
	if (step->kind == STEP_ADDR && step->fallback &&
	    r->out->count > step->base)
		return true;
	if (sa_set_str(&sa, step->host, 0) &&
	    !hosts_lookup(&sa, step->host, sa_af(&r->ua->laddr)))
		return false;
	if (step->tp == SIP_TRANSP_NONE)
		step->tp = step->secure ? SIP_TRANSP_TLS : SIP_TRANSP_UDP;
	sa_set_port(&sa, sip_transp_port(step->tp, step->port));
	resolve_destination_add(r, step->tp, &sa, step->name);
	return true;
}

/* RFC 3263 4.1 and 4.2: a port, or a transport, leaves less to ask. */
static void host_refine(struct resolve *r)
{
	struct step *step = r->step;

	if (step->kind != STEP_HOST)
		return;
	step->base = r->out->count;
	if (step->secure && step->tp == SIP_TRANSP_TCP)
		step->tp = SIP_TRANSP_TLS;
	if (step->port) {
		step->kind = STEP_ADDR;
		step->fallback = false;
		if (step->tp == SIP_TRANSP_NONE)
			step->tp =
				step->secure ? SIP_TRANSP_TLS : SIP_TRANSP_UDP;
	} else if (step->tp == SIP_TRANSP_NONE) {
		step->kind = STEP_NAPTR;
	} else {
		step->kind = STEP_SRV;
		step->fallback = true;
		if (str_print(step->host, sizeof(step->host), "%s.%s",
			      resolve_srv_prefix(step->tp), step->name) < 0)
			step->kind = STEP_ADDR;
	}
}

static void resolve_next(struct resolve *r)
{
	while (!r->query) {
		r->step = list_ledata(list_head(&r->steps));
		if (!r->step)
			break;
		list_unlink(&r->step->le);
		if (!step_local(r)) {
			host_refine(r);
			if (query_send(r) == 0)
				return;
			/* Nobody to ask is an empty answer. */
			query_handler(ENODATA, NULL, NULL, NULL, NULL, r);
			return;
		}
		r->step = mem_deref(r->step);
	}
	if (!r->query && !r->step && !r->sync)
		r->handler(r->out->count ? 0 : ENODATA, r->arg);
}

static int hosts_add(struct resolve *r, const struct resolve_host *hosts,
		     size_t host_count)
{
	struct le *after = NULL;

	for (size_t i = 0; i < host_count && i < HOSTS_MAX; i++) {
		struct step step = {
			.kind = STEP_HOST,
			.port = hosts[i].port,
			.tp = hosts[i].tp,
			.secure = hosts[i].secure,
		};

		if (resolve_plain(step.host, sizeof(step.host), hosts[i].host))
			return -EINVAL;
		(void)str_copy(step.name, sizeof(step.name), step.host);
		if (!resolve_step_add(r, &after, &step))
			return -ENOMEM;
	}
	return 0;
}

int resolve_start(struct resolve **ret, struct sip_ua *ua,
		  const struct resolve_host *hosts, size_t host_count,
		  uint32_t key, struct destinations *out, resolve_h *handler,
		  void *arg)
{
	struct resolve *r = mem_zalloc(sizeof(*r), resolve_destructor);
	int err;

	if (!r)
		return -ENOMEM;
	r->ua = ua;
	r->out = out;
	r->random = key ? key : 1;
	r->handler = handler;
	r->arg = arg;
	memset(out, 0, sizeof(*out));
	err = hosts_add(r, hosts, host_count);
	if (!err) {
		r->sync = true;
		resolve_next(r);
		r->sync = false;
		if (!r->query && out->count == 0)
			err = -ENODATA;
	}
	if (err || !r->query) {
		mem_deref(r);
		*ret = NULL;
		if (err)
			destinations_release(out);
		return err;
	}
	*ret = r;
	return 0;
}

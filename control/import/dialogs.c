#include "control/import/dialogs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"

#define PORTS_MAX 8192
#define DIGITS    "0123456789*#ABCD" /* RFC 4733 section 3.2 */

struct account {
	char user[SIP_TEXT_BYTES];
	bool challenged;
};

struct dialogs {
	struct dialogs_call *call[DIALOGS_CALLS_MAX];
	size_t calls;
	uint64_t left_out;
	size_t text_bytes;
	struct account account[DIALOGS_ACCOUNTS_MAX];
	size_t accounts;
	struct flow_table ports; /* dst and dport: a caller's media */
	size_t owner[PORTS_MAX]; /* call that used it last */
};

int dialogs_new(struct dialogs **ret)
{
	struct dialogs *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	flow_table_init(&d->ports, PORTS_MAX);
	*ret = d;
	return 0;
}

struct dialogs *dialogs_free(struct dialogs *d)
{
	if (!d)
		return NULL;
	for (size_t i = 0; i < d->calls; i++) {
		for (size_t k = 0; k < d->call[i]->messages; k++)
			free(d->call[i]->message[k].text);
		free(d->call[i]);
	}
	flow_table_release(&d->ports);
	free(d);
	return NULL;
}

/* FNV-1a, to compare few Call-IDs as texts */
static uint64_t text_hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* Copy a message as a text. @return NULL: no memory */
static char *copy_text(const char *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		text[i] = data[i] ? data[i] : '?';
	text[bytes] = '\0';
	str_utf8_repair(text);
	return text;
}

static struct dialogs_call *find(struct dialogs *d, const char *call_id,
				 size_t *ret_index)
{
	uint64_t hash = text_hash(call_id);

	for (size_t i = d->calls; i-- > 0;) {
		if (d->call[i]->hash == hash &&
		    strcmp(d->call[i]->call_id, call_id) == 0) {
			*ret_index = i;
			return d->call[i];
		}
	}
	return NULL;
}

static struct dialogs_call *begin(struct dialogs *d, const char *call_id,
				  const char *tag,
				  const struct dialogs_input *in)
{
	struct dialogs_call *c;

	if (d->calls == DIALOGS_CALLS_MAX) {
		d->left_out++;
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	str_copy(c->call_id, sizeof(c->call_id), call_id);
	str_copy(c->caller_tag, sizeof(c->caller_tag), tag);
	c->hash = text_hash(call_id);
	c->has_address = in->has_address;
	c->tcp = in->tcp;
	c->dst = in->dst;
	c->dport = in->dport;
	d->call[d->calls++] = c;
	return c;
}

/* The SDP of the caller names the ports at which it receives. */
static void learn_port(struct dialogs *d, size_t index,
		       const struct address *address, uint16_t port)
{
	struct dialogs_call *c = d->call[index];
	struct flow_key key = {.dst = *address, .dport = port};
	struct dialogs_port *p = c->port;
	uint32_t at;

	if (port == 0)
		return;
	at = flow_table_find(&d->ports, &key);
	if (at == FLOW_NONE)
		at = flow_table_add(&d->ports, &key);
	if (at == FLOW_NONE || at >= PORTS_MAX)
		return;
	d->owner[at] = index;
	for (size_t i = 0; i < c->ports; i++)
		if (p[i].port == port &&
		    memcmp(&p[i].address, address, sizeof(*address)) == 0)
			return;
	if (c->ports < DIALOGS_PORTS_MAX)
		p[c->ports++] = (struct dialogs_port){*address, port};
}

static void learn_sdp(struct dialogs *d, size_t index,
		      const struct dialogs_message *m)
{
	struct dialogs_call *c = d->call[index];
	bool by_caller = m->of_caller == (m->status == 0);
	struct sip_audio a;

	if (!sip_text_audio(m->text, &a))
		return;
	/* an offer of keys alone encrypts nothing */
	c->encrypted = c->has_offer && a.keys != SIP_TEXT_PLAIN;
	c->has_offer = true;
	if (a.has_event) {
		c->has_event[!by_caller] = true;
		c->event_pt[!by_caller] = a.event_pt;
		c->event_hz = a.event_hz;
	}
	if (!by_caller)
		return;
	if (a.has_address)
		learn_port(d, index, &a.address, a.port);
	for (size_t i = 0; i < a.candidates; i++)
		learn_port(d, index, &a.candidate[i].address,
			   a.candidate[i].port);
}

static bool is_known(const struct dialogs_call *c,
		     const struct dialogs_message *m)
{
	for (size_t i = c->messages; i-- > 0;) {
		const struct dialogs_message *o = &c->message[i];

		if (o->status == m->status && o->cseq == m->cseq &&
		    o->of_caller == m->of_caller &&
		    strcmp(o->method, m->method) == 0)
			return true;
	}
	return false;
}

/* Whether a message is between two proxies, or of another branch of a fork: a
 * response that the caller did not receive, or a CANCEL that it did not send.
 * Source: RFC 3261 sections 16.7, 16.10 and 18.1.2 */
static bool is_of_proxy(const struct dialogs_call *c,
			const struct dialogs_message *m)
{
	bool cancel = strcmp(m->method, "CANCEL") == 0;

	if (!m->of_caller || (!m->status && !cancel))
		return false;
	for (size_t i = c->messages; i-- > 0;) {
		const struct dialogs_message *o = &c->message[i];

		if (o->status || !o->of_caller || o->cseq != m->cseq ||
		    (strcmp(o->method, m->method) != 0 &&
		     !(cancel && strcmp(o->method, "INVITE") == 0)))
			continue;
		return o->sender && m->sender && o->sender != m->sender;
	}
	return false;
}

static void note_account(struct dialogs *d, const char *text,
			 const struct sip_name *user)
{
	char credentials[SIP_TEXT_BYTES];
	bool challenged =
		strstr(text, "\nAuthorization:") ||
		sip_text_header(text, "Authorization", 0, credentials);

	for (size_t i = 0; i < d->accounts; i++) {
		if (strcmp(d->account[i].user, user->user) == 0) {
			d->account[i].challenged |= challenged;
			return;
		}
	}
	if (d->accounts == DIALOGS_ACCOUNTS_MAX)
		return;
	str_copy(d->account[d->accounts].user, SIP_TEXT_BYTES, user->user);
	d->account[d->accounts++].challenged = challenged;
}

/* SIP/2.0/UDP 192.0.2.7:5060;branch=... */
static uint64_t read_sender(const char *text)
{
	char via[SIP_TEXT_BYTES];
	char *p, *end;

	if (!sip_text_header(text, "Via", 0, via))
		return 0;
	p = via + strcspn(via, " \t");
	p += strspn(p, " \t");
	end = p + strcspn(p, ";, \t");
	*end = '\0';
	for (char *c = p; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return *p ? text_hash(p) : 0;
}

/* Read start line and CSeq. @return false: no SIP message */
static bool read_start(struct dialogs_message *m)
{
	char cseq[SIP_TEXT_BYTES];
	char *method;

	if (strncmp(m->text, "SIP/2.0 ", 8) == 0) {
		m->status = (unsigned)strtoul(m->text + 8, NULL, 10);
		if (m->status < 100 || m->status > 699)
			return false;
	}
	if (!sip_text_header(m->text, "CSeq", 0, cseq))
		return false;
	m->cseq = (uint32_t)strtoul(cseq, &method, 10);
	method += strspn(method, " \t");
	for (const char *p = method; *p; p++)
		if (*p < 'A' || *p > 'Z')
			return false;
	return *method && str_copy(m->method, sizeof(m->method), method) == 0;
}

/* @return true: the call has taken the text */
static bool take_message(struct dialogs *d, struct dialogs_message *m,
			 const struct dialogs_input *in)
{
	char call_id[SIP_TEXT_BYTES], value[SIP_TEXT_BYTES];
	struct sip_name from, to;
	struct dialogs_call *c;
	size_t index = d->calls;

	if (!read_start(m) ||
	    !sip_text_header(m->text, "Call-ID", 0, call_id) ||
	    !sip_text_header(m->text, "From", 0, value) ||
	    !sip_text_name(value, &from) ||
	    !sip_text_header(m->text, "To", 0, value) ||
	    !sip_text_name(value, &to))
		return false;
	if (strcmp(m->method, "REGISTER") == 0 && m->status == 0) {
		note_account(d, m->text, &to);
		return false;
	}
	m->within = to.tag[0] != '\0';
	m->sender = read_sender(m->text);
	c = find(d, call_id, &index);
	if (!c && strcmp(m->method, "INVITE") == 0 && m->status == 0 &&
	    !m->within)
		c = begin(d, call_id, from.tag, in);
	if (!c)
		return false;
	m->of_caller = strcmp(from.tag, c->caller_tag) == 0;
	c->last_ns = m->ns;
	if (is_known(c, m) || is_of_proxy(c, m))
		return false;
	if (c->messages == DIALOGS_MESSAGES_MAX ||
	    d->text_bytes + in->bytes > DIALOGS_TEXT_MAX) {
		c->left_out++;
		d->left_out++;
		return false;
	}
	d->text_bytes += in->bytes;
	c->message[c->messages++] = *m;
	learn_sdp(d, index, m);
	return true;
}

void dialogs_take(struct dialogs *d, const struct dialogs_input *in)
{
	struct dialogs_message m = {.ns = in->ns};

	m.text = copy_text(in->data, in->bytes);
	if (m.text && !take_message(d, &m, in))
		free(m.text);
}

static void take_event(struct dialogs_call *c, const struct dialogs_rtp *rtp,
		       bool of_caller)
{
	uint32_t ticks =
		c->encrypted ? 0 : (uint32_t)rtp->data[2] << 8 | rtp->data[3];
	int64_t end_ns;
	struct dialogs_digit *g;

	for (size_t i = c->digits; i-- > 0;) {
		g = &c->digit[i];
		if (g->of_caller != of_caller)
			continue;
		if (g->rtp_ticks != rtp->rtp_ticks)
			break;
		end_ns = g->ns + (int64_t)ticks * NS_PER_S / c->event_hz;
		g->end_ns = end_ns > g->end_ns ? end_ns : g->end_ns;
		return;
	}
	if (c->digits == DIALOGS_DIGITS_MAX) {
		c->left_out++;
		return;
	}
	c->digit[c->digits++] = (struct dialogs_digit){
		.ns = rtp->ns,
		.end_ns = rtp->ns + (int64_t)ticks * NS_PER_S / c->event_hz,
		.rtp_ticks = rtp->rtp_ticks,
		.digit = c->encrypted ? '\0' : DIGITS[rtp->data[0]],
		.of_caller = of_caller,
	};
}

void dialogs_take_rtp(struct dialogs *d, const struct dialogs_rtp *rtp)
{
	struct flow_key key = {.dport = rtp->sport};
	struct dialogs_call *c;
	bool of_caller = true;
	uint32_t at;

	key.dst = rtp->src;
	at = flow_table_find(&d->ports, &key);
	if (at == FLOW_NONE) {
		key.dst = rtp->dst;
		key.dport = rtp->dport;
		at = flow_table_find(&d->ports, &key);
		of_caller = false;
	}
	if (at == FLOW_NONE)
		return;
	c = d->call[d->owner[at]];
	c->last_ns = rtp->ns;
	for (size_t i = 0; i < 2; i++) {
		if (c->has_event[i] && c->event_pt[i] == rtp->pt &&
		    rtp->bytes >= 4 &&
		    (c->encrypted || rtp->data[0] < sizeof(DIGITS) - 1)) {
			take_event(c, rtp, of_caller);
			return;
		}
	}
}

size_t dialogs_call_count(const struct dialogs *d)
{
	return d->calls;
}

struct dialogs_call *dialogs_call(struct dialogs *d, size_t i)
{
	return d->call[i];
}

uint64_t dialogs_left_out(const struct dialogs *d)
{
	return d->left_out;
}

bool dialogs_registered(const struct dialogs *d, const char *user,
			bool *ret_challenged)
{
	for (size_t i = 0; i < d->accounts; i++) {
		if (strcmp(d->account[i].user, user) == 0) {
			*ret_challenged = d->account[i].challenged;
			return true;
		}
	}
	return false;
}

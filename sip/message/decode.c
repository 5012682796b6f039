#include "sip/message/decode.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "sip/error.h"
#include "sip/message/parse.h"

/* Header fields and list elements of a message that is read here; libre reads
 * messages with more. */
#define FIELDS_MAX 64

/* Buckets of sip_msg.hdrht, as in libre. */
#define HASH_SIZE 32

/* Which of the two tables of sip_msg has it. */
enum table {
	TABLE_LINES = 1, /* hdrl: a header line */
	TABLE_HASH = 2,  /* hdrht: an element */
	TABLE_BOTH = 3,
};

struct field {
	struct pl name;
	struct pl val;
	enum sip_hdrid id;
	enum table table;
};

/* The lines of a message, as found. */
struct reading {
	const char *p;
	const char *end;
	struct pl start[3]; /* the words of the start line */
	struct field fields[FIELDS_MAX];
	size_t count;
};

/* The message and its header fields in one allocation. */
struct decoded {
	struct sip_msg msg;
	struct sip_hdr hdrs[];
};

static void decoded_destructor(void *arg)
{
	struct decoded *d = arg;

	mem_deref(d->msg.hdrht);
	mem_deref(d->msg.sock);
	mem_deref(d->msg.mb);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static enum sip_hdrid compact_id(char c)
{
	switch (c | 0x20) {
	case 'a':
		return SIP_HDR_ACCEPT_CONTACT;
	case 'b':
		return SIP_HDR_REFERRED_BY;
	case 'c':
		return SIP_HDR_CONTENT_TYPE;
	case 'd':
		return SIP_HDR_REQUEST_DISPOSITION;
	case 'e':
		return SIP_HDR_CONTENT_ENCODING;
	case 'f':
		return SIP_HDR_FROM;
	case 'i':
		return SIP_HDR_CALL_ID;
	case 'j':
		return SIP_HDR_REJECT_CONTACT;
	case 'k':
		return SIP_HDR_SUPPORTED;
	case 'l':
		return SIP_HDR_CONTENT_LENGTH;
	case 'm':
		return SIP_HDR_CONTACT;
	case 'n':
		return SIP_HDR_IDENTITY_INFO;
	case 'o':
		return SIP_HDR_EVENT;
	case 'r':
		return SIP_HDR_REFER_TO;
	case 's':
		return SIP_HDR_SUBJECT;
	case 't':
		return SIP_HDR_TO;
	case 'u':
		return SIP_HDR_ALLOW_EVENTS;
	case 'v':
		return SIP_HDR_VIA;
	case 'x':
		return SIP_HDR_SESSION_EXPIRES;
	case 'y':
		return SIP_HDR_IDENTITY;
	default:
		return SIP_HDR_NONE;
	}
}

/* libre's perfect hash of the name, which sip_msg_hdr() uses. */
static enum sip_hdrid field_id(const struct pl *name)
{
	if (name->l == 1)
		return compact_id(*name->p);
	if ((*name->p | 0x20) == 'x' && name->p[1] == '-')
		return SIP_HDR_NONE;
	return (enum sip_hdrid)(hash_joaat_ci(name->p, name->l) & 0xfff);
}

/* Whether the value is a list, which libre splits at the commas. */
static bool is_list(enum sip_hdrid id)
{
	static const enum sip_hdrid lists[] = {
		SIP_HDR_ACCEPT,
		SIP_HDR_ACCEPT_CONTACT,
		SIP_HDR_ACCEPT_ENCODING,
		SIP_HDR_ACCEPT_LANGUAGE,
		SIP_HDR_ACCEPT_RESOURCE_PRIORITY,
		SIP_HDR_ALERT_INFO,
		SIP_HDR_ALLOW,
		SIP_HDR_ALLOW_EVENTS,
		SIP_HDR_AUTHENTICATION_INFO,
		SIP_HDR_CALL_INFO,
		SIP_HDR_CONTACT,
		SIP_HDR_CONTENT_ENCODING,
		SIP_HDR_CONTENT_LANGUAGE,
		SIP_HDR_ERROR_INFO,
		SIP_HDR_HISTORY_INFO,
		SIP_HDR_IN_REPLY_TO,
		SIP_HDR_P_ASSERTED_IDENTITY,
		SIP_HDR_P_ASSOCIATED_URI,
		SIP_HDR_P_EARLY_MEDIA,
		SIP_HDR_P_MEDIA_AUTHORIZATION,
		SIP_HDR_P_PREFERRED_IDENTITY,
		SIP_HDR_P_REFUSED_URI_LIST,
		SIP_HDR_P_VISITED_NETWORK_ID,
		SIP_HDR_PATH,
		SIP_HDR_PERMISSION_MISSING,
		SIP_HDR_PROXY_REQUIRE,
		SIP_HDR_REASON,
		SIP_HDR_RECORD_ROUTE,
		SIP_HDR_REJECT_CONTACT,
		SIP_HDR_REQUEST_DISPOSITION,
		SIP_HDR_REQUIRE,
		SIP_HDR_RESOURCE_PRIORITY,
		SIP_HDR_ROUTE,
		SIP_HDR_SECURITY_CLIENT,
		SIP_HDR_SECURITY_SERVER,
		SIP_HDR_SECURITY_VERIFY,
		SIP_HDR_SERVICE_ROUTE,
		SIP_HDR_SUPPORTED,
		SIP_HDR_TRIGGER_CONSENT,
		SIP_HDR_UNSUPPORTED,
		SIP_HDR_VIA,
		SIP_HDR_WARNING,
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (id == lists[i])
			return true;
	}
	return false;
}

/* ---- lines ---- */

static struct pl trimmed(const char *begin, const char *end)
{
	while (begin < end && is_blank(*begin))
		begin++;
	while (end > begin && is_blank(end[-1]))
		end--;
	return (struct pl){begin, (size_t)(end - begin)};
}

/* Take a line without its CRLF. @return false: it has none */
static bool line_take(struct reading *r, struct pl *ret)
{
	const char *cr = memchr(r->p, '\r', (size_t)(r->end - r->p));

	if (!cr || r->end - cr < 2 || cr[1] != '\n' ||
	    memchr(r->p, '\n', (size_t)(cr - r->p)))
		return false;
	*ret = (struct pl){r->p, (size_t)(cr - r->p)};
	r->p = cr + 2;
	return true;
}

static bool field_add(struct reading *r, const struct field *like,
		      struct pl val, enum table table)
{
	struct field *field = &r->fields[r->count];

	if (r->count == FIELDS_MAX || val.l == 0)
		return false;
	*field = *like;
	field->val = val;
	field->table = table;
	r->count++;
	return true;
}

/* Add the elements of a list, then the line; of Via and Route only the elements, as
 * libre does. */
static bool list_add(struct reading *r, const struct field *like,
		     const struct pl *val)
{
	const char *end = val->p + val->l;
	const char *p = val->p;
	bool apart = like->id == SIP_HDR_VIA || like->id == SIP_HDR_ROUTE;
	enum table table = apart ? TABLE_BOTH : TABLE_HASH;
	const char *comma;

	if (memchr(p, '"', val->l))
		return false;
	while ((comma = memchr(p, ',', (size_t)(end - p)))) {
		if (!field_add(r, like, trimmed(p, comma), table))
			return false;
		p = comma + 1;
	}
	return field_add(r, like, trimmed(p, end), table) &&
	       (apart || field_add(r, like, *val, TABLE_LINES));
}

/* @return false: not in the usual form */
static bool field_read(struct reading *r, const struct pl *line)
{
	const char *colon = memchr(line->p, ':', line->l);
	const char *end = line->p + line->l;
	struct field field;
	struct pl val;

	if (!colon || colon == line->p)
		return false;
	for (const char *p = line->p; p < colon; p++) {
		if (is_blank(*p))
			return false;
	}
	field.name = (struct pl){line->p, (size_t)(colon - line->p)};
	field.id = field_id(&field.name);
	val = trimmed(colon + 1, end);
	if (val.l > 0 && is_list(field.id) && memchr(val.p, ',', val.l))
		return list_add(r, &field, &val);
	return field_add(r, &field, val, TABLE_BOTH);
}

/* "INVITE sip:1001@192.0.2.1 SIP/2.0", "SIP/2.0 180 Ringing" */
static bool start_read(struct reading *r)
{
	struct pl line;
	const char *p;

	if (!line_take(r, &line))
		return false;
	p = line.p;
	for (int i = 0; i < 2; i++) {
		size_t left = line.l - (size_t)(p - line.p);
		const char *space = memchr(p, ' ', left);

		if (!space || space == p ||
		    memchr(p, '\t', (size_t)(space - p)))
			return false;
		r->start[i] = (struct pl){p, (size_t)(space - p)};
		p = space + 1;
	}
	r->start[2] = (struct pl){p, line.l - (size_t)(p - line.p)};
	return true;
}

/* @return false: not in the usual form */
static bool lines_read(struct reading *r)
{
	struct pl line;

	if (!start_read(r))
		return false;
	for (;;) {
		if (!line_take(r, &line))
			return false;
		if (line.l == 0)
			return r->count > 0;
		if (!field_read(r, &line))
			return false;
	}
}

/* ---- what the lines say ---- */

static int start_decode(struct sip_msg *msg, const struct pl start[3])
{
	msg->req = !pl_strcmp(&start[2], "SIP/2.0");
	if (msg->req) {
		msg->met = start[0];
		msg->ruri = start[1];
		msg->ver = start[2];
		return parse_uri(&msg->uri, &msg->ruri);
	}
	msg->ver = start[0];
	msg->scode = (uint16_t)pl_u32(&start[1]);
	msg->reason = start[2];
	return msg->scode ? 0 : -EBADMSG;
}

static int taddr_decode(struct sip_taddr *taddr, const struct pl *val)
{
	struct sip_addr addr;
	int err = parse_addr(&addr, val);

	if (err)
		return err;
	taddr->dname = addr.dname;
	taddr->auri = addr.auri;
	taddr->uri = addr.uri;
	taddr->params = addr.params;
	(void)parse_param(&taddr->params, "tag", &taddr->tag);
	taddr->val = *val;
	return 0;
}

static int field_decode(struct sip_msg *msg, const struct field *field)
{
	const struct pl *val = &field->val;

	if (field->id == SIP_HDR_VIA)
		return pl_isset(&msg->via.sentby) ? 0
						  : parse_via(&msg->via, val);
	if (field->id == SIP_HDR_TO)
		return taddr_decode(&msg->to, val);
	if (field->id == SIP_HDR_FROM)
		return taddr_decode(&msg->from, val);
	if (field->id == SIP_HDR_CSEQ)
		return parse_cseq(&msg->cseq, val);
	if (field->id == SIP_HDR_CONTENT_TYPE)
		return parse_ctype(&msg->ctyp, val);
	if (field->id == SIP_HDR_CALL_ID)
		msg->callid = *val;
	else if (field->id == SIP_HDR_MAX_FORWARDS)
		msg->maxfwd = *val;
	else if (field->id == SIP_HDR_CONTENT_LENGTH)
		msg->clen = *val;
	else if (field->id == SIP_HDR_EXPIRES)
		msg->expires = *val;
	return 0;
}

static int fields_decode(struct decoded *d, const struct reading *r)
{
	int err = 0;

	for (size_t i = 0; i < r->count && !err; i++) {
		const struct field *field = &r->fields[i];
		struct sip_hdr *hdr = &d->hdrs[i];

		hdr->name = field->name;
		hdr->val = field->val;
		hdr->id = field->id;
		if (field->table & TABLE_HASH)
			hash_append(d->msg.hdrht, (uint32_t)hdr->id, &hdr->he,
				    hdr);
		if (field->table & TABLE_LINES)
			list_append(&d->msg.hdrl, &hdr->le, hdr);
		err = field_decode(&d->msg, field);
	}
	return err;
}

static int message_new(struct sip_msg **ret, const struct reading *r,
		       struct mbuf *mb)
{
	size_t size =
		sizeof(struct decoded) + r->count * sizeof(struct sip_hdr);
	struct decoded *d = mem_zalloc(size, decoded_destructor);
	int err;

	if (!d)
		return -ENOMEM;
	d->msg.mb = mem_ref(mb);
	d->msg.tag = random_u64();
	err = neg(hash_alloc(&d->msg.hdrht, HASH_SIZE));
	if (!err)
		err = start_decode(&d->msg, r->start);
	if (!err)
		err = fields_decode(d, r);
	if (err) {
		mem_deref(d);
		return err;
	}
	*ret = &d->msg;
	return 0;
}

int decode_message(struct sip_msg **ret, struct mbuf *mb)
{
	struct reading r;
	int err = -EBADMSG;

	r.p = (const char *)mbuf_buf(mb);
	r.end = r.p + mbuf_get_left(mb);
	r.count = 0;
	if (lines_read(&r))
		err = message_new(ret, &r, mb);
	if (err)
		return neg(sip_msg_decode(ret, mb));
	mb->pos = (size_t)(r.p - (const char *)mb->buf);
	return 0;
}

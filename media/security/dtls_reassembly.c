#include "media/security/dtls_reassembly.h"

#include "base/big_endian.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* RFC 6347 sections 4.1 and 4.2.2 */
#define RECORD_BYTES  13
#define HEADER_BYTES  12
#define HEADERS_BYTES (RECORD_BYTES + HEADER_BYTES)
#define VERSION_MAJOR 0xfe
#define ALERT_BYTES   2 /* RFC 5246 section 7.2 */

enum content {
	CONTENT_CHANGE_CIPHER_SPEC = 20,
	CONTENT_ALERT = 21,
	CONTENT_HANDSHAKE = 22,
};

/* RFC 5246 section 7.4, RFC 6347 section 4.3.2, RFC 6066 section 8 */
enum message {
	CLIENT_HELLO = 1,
	SERVER_HELLO = 2,
	HELLO_VERIFY_REQUEST = 3,
	CERTIFICATE = 11,
	SERVER_KEY_EXCHANGE = 12,
	CERTIFICATE_REQUEST = 13,
	SERVER_HELLO_DONE = 14,
	CERTIFICATE_VERIFY = 15,
	CLIENT_KEY_EXCHANGE = 16,
	CERTIFICATE_STATUS = 22,
	MESSAGE_TYPES = 32
};

#define BIT(type) (1u << (type))

/* Messages allowed after a message of epoch 0, [0] at the start: RFC 5246 section
 * 7.3. A client must send a certificate, as its fingerprint is checked. */
static const uint32_t of_client[MESSAGE_TYPES] = {
	[0] = BIT(CLIENT_HELLO),
	[CLIENT_HELLO] = BIT(CERTIFICATE),
	[CERTIFICATE] = BIT(CLIENT_KEY_EXCHANGE),
	[CLIENT_KEY_EXCHANGE] = BIT(CERTIFICATE_VERIFY),
};
static const uint32_t of_server[MESSAGE_TYPES] = {
	[0] = BIT(HELLO_VERIFY_REQUEST) | BIT(SERVER_HELLO),
	[HELLO_VERIFY_REQUEST] = BIT(HELLO_VERIFY_REQUEST) | BIT(SERVER_HELLO),
	[SERVER_HELLO] = BIT(CERTIFICATE),
	[CERTIFICATE] = BIT(CERTIFICATE_STATUS) | BIT(SERVER_KEY_EXCHANGE) |
			BIT(CERTIFICATE_REQUEST) | BIT(SERVER_HELLO_DONE),
	[CERTIFICATE_STATUS] = BIT(SERVER_KEY_EXCHANGE) |
			       BIT(CERTIFICATE_REQUEST) |
			       BIT(SERVER_HELLO_DONE),
	[SERVER_KEY_EXCHANGE] =
		BIT(CERTIFICATE_REQUEST) | BIT(SERVER_HELLO_DONE),
	[CERTIFICATE_REQUEST] = BIT(SERVER_HELLO_DONE),
};

struct fragment {
	uint8_t version[2]; /* of its record */
	uint8_t type;
	uint16_t seq;
	size_t length; /* of the message */
	size_t offset;
	const uint8_t *data;
	size_t bytes;
};

/** A message under reassembly. */
struct partial {
	uint8_t *record; /* NULL: the place is free */
	uint8_t *body;   /* in it, behind both headers; length bytes */
	uint8_t *came;   /* a bit for each byte of the body: received */
	uint8_t version[2];
	uint8_t type;
	uint16_t seq;
	size_t length;
	size_t missing;
	uint64_t touched; /* counts fragments */
};

struct dtls_reassembly {
	dtls_record_h *handler;
	void *arg;
	const uint32_t *order;
	uint32_t types;   /* of all messages */
	uint16_t next;    /* number of the next message */
	uint8_t last;     /* type of the one before; 0: none */
	uint64_t records; /* passed to the handler, epoch 0 */
	uint64_t fragments;
	uint64_t refused;
	const char *reason;
	struct partial partials[DTLS_PARTIAL_MAX];
};

int dtls_reassembly_new(struct dtls_reassembly **ret, bool client,
			dtls_record_h *handler, void *arg)
{
	struct dtls_reassembly *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->handler = handler;
	r->arg = arg;
	r->order = client ? of_server : of_client;
	for (int i = 0; i < MESSAGE_TYPES; i++)
		r->types |= r->order[i];
	*ret = r;
	return 0;
}

static void partial_free(struct partial *p)
{
	free(p->record);
	p->record = NULL;
}

struct dtls_reassembly *dtls_reassembly_free(struct dtls_reassembly *r)
{
	if (!r)
		return NULL;
	for (int i = 0; i < DTLS_PARTIAL_MAX; i++)
		partial_free(&r->partials[i]);
	free(r);
	return NULL;
}

static void refuse(struct dtls_reassembly *r, const char *what)
{
	r->refused++;
	r->reason = what;
}

static size_t be24(const uint8_t *p)
{
	return (size_t)p[0] << 16 | be16(p + 1);
}

static void be24_put(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value >> 16);
	be16_put(p + 1, value);
}

/* ---- records for the handler ---- */

/* Write the header before a payload that is in place. Records get numbers of
 * ours: with its own number a forged record could move the library's replay
 * window past the genuine ones (RFC 6347 section 4.1.2.6). */
static void record_give(struct dtls_reassembly *r, uint8_t *record,
			enum content type, const uint8_t version[2],
			size_t bytes)
{
	record[0] = (uint8_t)type;
	record[1] = version[0];
	record[2] = version[1];
	record[3] = 0;
	record[4] = 0;
	be24_put(record + 5, (size_t)(r->records >> 24));
	be24_put(record + 8, (size_t)r->records);
	be16_put(record + 11, bytes);
	r->records++;
	r->handler(record, RECORD_BYTES + bytes, r->arg);
}

static void message_give(struct dtls_reassembly *r, struct partial *p)
{
	uint8_t *header = p->record + RECORD_BYTES;

	header[0] = p->type;
	be24_put(header + 1, p->length);
	be16_put(header + 4, p->seq);
	be24_put(header + 6, 0);
	be24_put(header + 9, p->length);
	record_give(r, p->record, CONTENT_HANDSHAKE, p->version,
		    HEADER_BYTES + p->length);
}

static bool may_come(const struct dtls_reassembly *r, uint8_t type)
{
	return type < MESSAGE_TYPES && r->order[r->last] & BIT(type);
}

/* The next message in order, if it is complete. @return NULL: it is not */
static struct partial *whole_find(struct dtls_reassembly *r)
{
	for (int i = 0; i < DTLS_PARTIAL_MAX; i++) {
		struct partial *p = &r->partials[i];

		if (p->record && p->seq == r->next && p->missing == 0 &&
		    may_come(r, p->type))
			return p;
	}
	return NULL;
}

static void messages_give(struct dtls_reassembly *r)
{
	struct partial *whole;

	while ((whole = whole_find(r))) {
		r->last = whole->type;
		message_give(r, whole);
		for (int i = 0; i < DTLS_PARTIAL_MAX; i++) {
			if (r->partials[i].record &&
			    r->partials[i].seq == r->next)
				partial_free(&r->partials[i]);
		}
		r->next++;
	}
}

/* ---- fragments ---- */

static bool has(const struct partial *p, size_t at)
{
	return p->came[at / 8] >> at % 8 & 1;
}

/* Does the fragment agree with what was received of this message? */
static bool fits(const struct partial *p, const struct fragment *f)
{
	if (p->type != f->type || p->length != f->length ||
	    memcmp(p->version, f->version, sizeof(p->version)) != 0)
		return false;
	for (size_t i = 0; i < f->bytes; i++) {
		if (has(p, f->offset + i) &&
		    p->body[f->offset + i] != f->data[i])
			return false;
	}
	return true;
}

static void fill(struct dtls_reassembly *r, struct partial *p,
		 const struct fragment *f)
{
	p->touched = r->fragments;
	for (size_t i = 0; i < f->bytes; i++) {
		size_t at = f->offset + i;

		if (has(p, at))
			continue;
		p->body[at] = f->data[i];
		p->came[at / 8] |= (uint8_t)(1u << at % 8);
		p->missing--;
	}
}

static void begin(struct dtls_reassembly *r, const struct fragment *f)
{
	struct partial *place = &r->partials[0];

	for (int i = 0; i < DTLS_PARTIAL_MAX && place->record; i++) {
		struct partial *p = &r->partials[i];

		if (!p->record || p->touched < place->touched)
			place = p;
	}
	partial_free(place);
	place->record =
		calloc(1, HEADERS_BYTES + f->length + f->length / 8 + 1);
	if (!place->record)
		return;
	place->body = place->record + HEADERS_BYTES;
	place->came = place->body + f->length;
	memcpy(place->version, f->version, sizeof(place->version));
	place->type = f->type;
	place->seq = f->seq;
	place->length = f->length;
	place->missing = f->length;
	fill(r, place, f);
}

static void fragment_add(struct dtls_reassembly *r, const struct fragment *f)
{
	bool added = false, contradicts = false;

	r->fragments++;
	for (int i = 0; i < DTLS_PARTIAL_MAX; i++) {
		struct partial *p = &r->partials[i];

		if (!p->record || p->seq != f->seq)
			continue;
		if (!fits(p, f)) {
			contradicts = true;
			continue;
		}
		/* genuine and forged messages may share a fragment */
		fill(r, p, f);
		added = true;
	}
	if (contradicts)
		refuse(r, "a fragment that contradicts another one");
	if (!added)
		begin(r, f);
}

/* @return what is wrong with the fragment; NULL: nothing */
static const char *fragment_check(const struct dtls_reassembly *r,
				  const struct fragment *f)
{
	if (f->length > DTLS_MESSAGE_MAX)
		return "a fragment of a message that is too long";
	if (f->offset + f->bytes > f->length ||
	    (f->bytes == 0 && f->length > 0))
		return "a fragment that is no part of its message";
	if (f->type >= MESSAGE_TYPES || !(r->types & BIT(f->type)) ||
	    (f->seq == r->next && !may_come(r, f->type)))
		return "a message that cannot come here";
	if (f->seq - r->next > DTLS_AHEAD_MAX)
		return "a message that is far ahead";
	return NULL;
}

/* @return bytes of the fragment; 0: it exceeds the record */
static size_t fragment_parse(struct fragment *f, const uint8_t *data,
			     size_t bytes)
{
	if (bytes < HEADER_BYTES)
		return 0;
	f->type = data[0];
	f->length = be24(data + 1);
	f->seq = be16(data + 4);
	f->offset = be24(data + 6);
	f->bytes = be24(data + 9);
	f->data = data + HEADER_BYTES;
	return f->bytes <= bytes - HEADER_BYTES ? HEADER_BYTES + f->bytes : 0;
}

static void handshake_take(struct dtls_reassembly *r, const uint8_t version[2],
			   const uint8_t *data, size_t bytes)
{
	while (bytes > 0) {
		struct fragment f = {.version = {version[0], version[1]}};
		size_t taken = fragment_parse(&f, data, bytes);
		const char *wrong;

		if (taken == 0) {
			refuse(r, "a fragment beyond its record");
			return;
		}
		data += taken;
		bytes -= taken;
		if (f.seq < r->next)
			continue; /* a repeated flight */
		wrong = fragment_check(r, &f);
		if (wrong)
			refuse(r, wrong);
		else
			fragment_add(r, &f);
	}
}

/* ---- records ---- */

/* RFC 5246 section 7.1: one byte, 1; section 7.2: a level, a description */
static bool is_sane(enum content type, const uint8_t *payload, size_t bytes)
{
	return type == CONTENT_CHANGE_CIPHER_SPEC
		       ? bytes == 1 && payload[0] == 1
		       : type == CONTENT_ALERT && bytes == ALERT_BYTES &&
				 (payload[0] == 1 || payload[0] == 2);
}

static void record_take(struct dtls_reassembly *r, const uint8_t *record,
			size_t bytes)
{
	const uint8_t *payload = record + RECORD_BYTES;
	size_t length = bytes - RECORD_BYTES;
	enum content type = record[0];
	uint8_t copy[RECORD_BYTES + ALERT_BYTES];

	if (record[1] != VERSION_MAJOR) {
		refuse(r, "a record of no version of DTLS");
	} else if (be16(record + 3) > 0) {
		r->handler(record, bytes, r->arg); /* authenticated there */
	} else if (type == CONTENT_HANDSHAKE) {
		handshake_take(r, record + 1, payload, length);
		messages_give(r);
	} else if (is_sane(type, payload, length)) {
		memcpy(copy + RECORD_BYTES, payload, length);
		record_give(r, copy, type, record + 1, length);
	} else {
		refuse(r, "a record that cannot be in plain");
	}
}

void dtls_reassembly_input(struct dtls_reassembly *r, const uint8_t *data,
			   size_t bytes)
{
	while (bytes > 0) {
		size_t whole = bytes < RECORD_BYTES
				       ? 0
				       : RECORD_BYTES + be16(data + 11);

		if (whole == 0 || whole > bytes) {
			refuse(r, "a record that is cut off");
			return;
		}
		record_take(r, data, whole);
		data += whole;
		bytes -= whole;
	}
}

uint64_t dtls_reassembly_refused(const struct dtls_reassembly *r)
{
	return r->refused;
}

const char *dtls_reassembly_reason(const struct dtls_reassembly *r)
{
	return r->reason;
}

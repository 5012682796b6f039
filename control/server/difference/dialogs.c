#include "control/server/difference/dialogs.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/mask.h"
#include "control/server/difference/session.h"
#include "control/server/difference/tally.h"
#include "control/server/judge/sip_text.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LABEL_BYTES 64
#define TEXT_BYTES  65536u /* of a shape, and of a masked value */
#define REPEATS_NAMED \
	4 /* of a label in a dialog; later ones are not compared */
#define DIALOG_MESSAGES_MAX 400 /* as above */

/* One message of a dialog; repeated ones are folded into the first. */
struct entry {
	const char *data;
	bool sent;
	char label[LABEL_BYTES]; /* "INVITE", "180 INVITE" */
	unsigned nth;            /* of this label and direction, from 1 */
	struct sip_part cseq;
	double ms;
	bool repeated;
};

struct dialog {
	struct difference_run *run;
	const char *role;
	struct entry *entries;
	size_t count;
};

static const char *dir_of(const struct entry *e)
{
	return e->sent ? "sent" : "received";
}

/* ---- messages ---- */

static bool is_response(const char *data)
{
	return strncmp(data, "SIP/2.0 ", 8) == 0;
}

static void label_of(struct entry *e)
{
	struct sip_part method = sip_method(e->data);
	struct sip_part cseq = sip_cseq_method(e->data);

	if (is_response(e->data))
		str_print(e->label, sizeof(e->label), "%.*s %.*s",
			  (int)(method.len < 8 ? method.len : 8), method.p,
			  (int)(cseq.len < 40 ? cseq.len : 40), cseq.p);
	else
		str_print(e->label, sizeof(e->label), "%.*s",
			  (int)(method.len < 40 ? method.len : 40), method.p);
	for (char *p = e->label; *p; p++)
		if (*p == '|')
			*p = '?';
}

/* Both messages have the field with the same value, or neither has it. */
static bool same_field(const char *a, const char *b, const char *name)
{
	struct sip_part x = {a, 0}, y = {b, 0};

	if (sip_header(a, name, 0, &x) != sip_header(b, name, 0, &y))
		return false;
	return x.len == y.len && memcmp(x.p, y.p, x.len) == 0;
}

/* Whether b repeats a. A request, and a final response, is repeated by its
 * transaction: the first line, branch, CSeq and tags are the same (RFC 3261
 * 17.1.3, 17.2.3, 13.3.1.4). Its bytes may differ, as some user agents make a
 * new session description for each. A provisional response of the same
 * transaction may be another one. */
static bool repeats(const char *a, const char *b)
{
	static const char *const fields[] = {"CSeq", "From", "To"};
	size_t first = strcspn(a, "\r\n");
	struct sip_part via;

	if (strcmp(a, b) == 0)
		return true;
	if (strcspn(b, "\r\n") != first || strncmp(a, b, first) != 0 ||
	    strncmp(a, "SIP/2.0 1", 9) == 0 || !sip_header(a, "Via", 0, &via))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!same_field(a, b, fields[i]))
			return false;
	return same_field(a, b, "Via");
}

/* Mark a message that was there before. @return it was */
static bool fold(struct dialog *d, const char *data, bool sent)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->entries[i].sent == sent &&
		    repeats(d->entries[i].data, data)) {
			d->entries[i].repeated = true;
			return true;
		}
	return false;
}

static void add_entry(struct dialog *d, const json_t *m)
{
	const json_t *mono = json_object_get(m, "mono");
	struct entry e = {.data = text_of(m, "data"),
			  .sent = strcmp(text_of(m, "dir"), "sent") == 0,
			  .nth = 1,
			  .ms = json_number_value(mono) / 1e6};

	if (d->count >= DIALOG_MESSAGES_MAX || fold(d, e.data, e.sent))
		return;
	label_of(&e);
	/* 100 depends on how fast the next hop answers (RFC 3261 8.2.6.1) */
	if (strncmp(e.label, "100 ", 4) == 0)
		return;
	if (!sip_header(e.data, "CSeq", 0, &e.cseq))
		e.cseq = (struct sip_part){e.data, 0};
	for (size_t i = 0; i < d->count; i++)
		e.nth += d->entries[i].sent == e.sent &&
			 strcmp(d->entries[i].label, e.label) == 0;
	d->entries[d->count++] = e;
}

/* ---- the shape ---- */

/* The order of messages of calls is compared. Of other dialogs (registrations,
 * subscriptions) only which there are: how often they are refreshed depends on
 * how long the run lasted. */
static bool in_shape(const struct dialog *d, const struct entry *e)
{
	if (strstr(d->entries[0].label, "INVITE"))
		return true;
	return e->nth == 1;
}

static int count_shape(struct dialog *d, bool sent)
{
	char key[KEY_BYTES];
	struct buf shape;
	int err = 0;

	buf_init(&shape, TEXT_BYTES);
	for (size_t i = 0; !err && i < d->count; i++) {
		const struct entry *e = &d->entries[i];

		if (e->sent == sent && in_shape(d, e))
			err = buf_texts(&shape, e->label, "\n", NULL);
	}
	str_print(key, sizeof(key), "%s|shape|%s|%s|%s", d->role,
		  sent ? "sent" : "received", d->entries[0].label,
		  dir_of(&d->entries[0]));
	if (!err)
		err = tally_add(d->run->tallies, key,
				shape.used ? shape.data : "");
	buf_release(&shape);
	return err;
}

/* ---- header fields ---- */

static int count_value(struct dialog *d, const struct entry *e,
		       const char *part, const char *name, const char *value)
{
	char key[KEY_BYTES];

	if (str_print(key, sizeof(key), "%s|%s|%s|%s|%u|%s", d->role, part,
		      dir_of(e), e->label, e->nth, name) < 0)
		return 0;
	return tally_add(d->run->tallies, key, value);
}

/* Append "name: value" lines to one field of the same name. */
static int add_field(json_t *fields, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : 0;
	const char *name, *old;
	char own[100], *value;
	json_t *text;
	int failed;

	while (name_len && strchr(" \t", line[name_len - 1]))
		name_len--;
	if (!name_len || name_len >= sizeof(own))
		return 0;
	str_print(own, sizeof(own), "%.*s", (int)name_len, line);
	name = mask_header_name(own);
	colon++;
	while (colon < line + len && strchr(" \t", *colon))
		colon++;
	value = sip_unfolded(
		(struct sip_part){colon, len - (size_t)(colon - line)});
	if (!value)
		return -ENOMEM;
	old = json_string_value(json_object_get(fields, name));
	text = old ? json_sprintf("%s, %s", old, value) : json_string(value);
	free(value);
	failed = text ? json_object_set_new(fields, name, text) : 0;
	(void)failed; /* not UTF-8: the field is not compared */
	return 0;
}

static size_t line_end(const char *p)
{
	size_t len = strcspn(p, "\n");

	/* folded lines belong to the field (RFC 3261 7.3.1) */
	while (p[len] && (p[len + 1] == ' ' || p[len + 1] == '\t'))
		len += 1 + strcspn(p + len + 1, "\n");
	return len;
}

static int read_fields(const char *data, json_t *fields)
{
	const char *p = data + strcspn(data, "\n");
	int err = 0;

	while (!err && *p == '\n') {
		size_t len;

		p++;
		if (*p == '\r' || *p == '\n' || !*p)
			break;
		len = line_end(p);
		err = add_field(fields, p,
				len && p[len - 1] == '\r' ? len - 1 : len);
		p += len;
	}
	return err;
}

/* A registrar lists bindings of earlier runs, too. */
static bool left_out(const struct entry *e, const char *name, const char *value)
{
	return strcmp(name, "Contact") == 0 && strchr(value, ',') &&
	       strstr(e->label, " REGISTER");
}

static int count_fields(struct dialog *d, const struct entry *e)
{
	json_t *fields = json_object(), *value;
	const char *name;
	struct buf masked;
	int err = fields ? read_fields(e->data, fields) : -ENOMEM;

	buf_init(&masked, TEXT_BYTES);
	json_object_foreach(fields, name, value)
	{
		masked.used = 0;
		if (err < 0 || left_out(e, name, json_string_value(value)))
			continue;
		err = mask_header(&masked, name, json_string_value(value));
		if (err == 1)
			err = count_value(d, e, "header", name,
					  masked.used ? masked.data
						      : "(empty)");
	}
	buf_release(&masked);
	json_decref(fields);
	return err < 0 && err != -EMSGSIZE ? err : 0;
}

/* The reason phrase of a response, and whom an INVITE is for. */
static int count_start_line(struct dialog *d, const struct entry *e)
{
	size_t len = strcspn(e->data, "\r\n");
	char line[512], *at, *end;
	struct buf masked;
	int err;

	if (str_print(line, sizeof(line), "%.*s", (int)len, e->data) < 0)
		return 0;
	if (is_response(line))
		return count_value(d, e, "header", "reason phrase",
				   strlen(line) > 12 ? line + 12 : "(empty)");
	at = strchr(line, ' ');
	end = at ? strchr(at + 1, ' ') : NULL;
	/* what we receive is addressed to a contact, which is made up */
	if (!end || !e->sent || e->nth > 1 || strcmp(e->label, "INVITE") != 0)
		return 0;
	*end = '\0';
	buf_init(&masked, sizeof(line));
	err = mask_header(&masked, "To", at + 1);
	if (err == 1)
		err = count_value(d, e, "header", "Request-URI", masked.data);
	buf_release(&masked);
	return err < 0 ? err : 0;
}

/* ---- times ---- */

static int count_times(struct dialog *d, const struct entry *e)
{
	const struct entry *from = NULL;
	char key[KEY_BYTES];

	for (const struct entry *p = d->entries; p < e; p++) {
		bool response = is_response(e->data);

		/* of the request that we sent, or an earlier answer to it */
		if (response && !e->sent && p->sent != is_response(p->data) &&
		    p->cseq.len == e->cseq.len &&
		    memcmp(p->cseq.p, e->cseq.p, e->cseq.len) == 0)
			from = p;
		/* refreshes of the session, and other requests in a call */
		if (!response && !strstr("ACK BYE CANCEL PRACK", e->label) &&
		    strcmp(p->label, "200 INVITE") == 0 && !from)
			from = p;
	}
	if (!from)
		return 0;
	str_print(key, sizeof(key), "%s|time|%s|%s|%u|%s", d->role, from->label,
		  e->label, e->nth,
		  is_response(e->data) ? "answer" : "request");
	return sample_add(d->run->samples, key, e->ms - from->ms);
}

/* ---- the whole ---- */

static int count_entry(struct dialog *d, const struct entry *e)
{
	struct sip_part sdp = sip_sdp(e->data);
	int err;

	if (e->nth > REPEATS_NAMED)
		return 0;
	err = count_value(d, e, "message", "", "");
	if (!err)
		err = count_value(d, e, "repeated", "",
				  e->repeated ? "yes" : "no");
	if (!err)
		err = count_start_line(d, e);
	if (!err)
		err = count_fields(d, e);
	if (!err && sdp.len)
		err = session_count(d->run->tallies, d->role, dir_of(e),
				    e->label, e->nth, sdp.p, sdp.len);
	return err ? err : count_times(d, e);
}

static int count_dialog(struct difference_run *run, const json_t *dialog)
{
	const json_t *messages = json_object_get(dialog, "messages"), *m;
	struct dialog d = {.run = run, .role = text_of(dialog, "role")};
	int err = 0;
	size_t i;

	d.entries = calloc(json_array_size(messages) + 1, sizeof(*d.entries));
	if (!d.entries)
		return -ENOMEM;
	json_array_foreach(messages, i, m)
	{
		add_entry(&d, m);
	}
	if (d.count) {
		err = count_shape(&d, true);
		if (!err)
			err = count_shape(&d, false);
	}
	for (i = 0; !err && i < d.count; i++)
		err = count_entry(&d, &d.entries[i]);
	free(d.entries);
	return err == -EMSGSIZE ? 0 : err;
}

int dialogs_count(struct difference_run *run)
{
	json_t *dialog;
	const char *key;
	int err = 0;

	if (run->counted)
		return 0;
	run->counted = true;
	json_object_foreach(run->dialogs, key, dialog)
	{
		if (!err)
			err = count_dialog(run, dialog);
	}
	return err;
}

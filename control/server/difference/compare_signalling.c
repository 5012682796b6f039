#include "control/server/difference/compare_signalling.h"

#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/findings.h"
#include "control/server/difference/tally.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_MAX   400 /* messages of a dialog in one direction */
#define LABEL_BYTES 64

/* ---- alignment ---- */

/* The messages of one direction, by label. */
struct shape {
	const char *labels[SHAPE_MAX];
	bool kept[SHAPE_MAX]; /* the other run has it, at its place */
	size_t count;
	char *text; /* owned */
};

static int shape_of(struct shape *s, const char *text)
{
	s->count = 0;
	s->text = strdup(text ? text : "");
	if (!s->text)
		return -ENOMEM;
	for (char *p = s->text; *p && s->count < SHAPE_MAX;) {
		s->labels[s->count] = p;
		s->kept[s->count++] = false;
		p += strcspn(p, "\n");
		if (*p)
			*p++ = '\0';
	}
	return 0;
}

/* Mark what is in both: the longest common subsequence. */
static int align(struct shape *a, struct shape *b)
{
	size_t row = b->count + 1;
	unsigned short *longest =
		calloc((a->count + 1) * row, sizeof(*longest));

	if (!longest)
		return -ENOMEM;
	for (size_t i = a->count; i-- > 0;)
		for (size_t k = b->count; k-- > 0;) {
			unsigned short down = longest[(i + 1) * row + k];
			unsigned short right = longest[i * row + k + 1];

			if (strcmp(a->labels[i], b->labels[k]) == 0)
				longest[i * row + k] =
					(unsigned short)(longest[(i + 1) * row +
								 k + 1] +
							 1);
			else
				longest[i * row + k] =
					down > right ? down : right;
		}
	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		if (strcmp(a->labels[i], b->labels[k]) == 0)
			a->kept[i++] = b->kept[k++] = true;
		else if (longest[(i + 1) * row + k] >= longest[i * row + k + 1])
			i++;
		else
			k++;
	}
	free(longest);
	return 0;
}

/* ---- one kind of dialog of a role ---- */

struct side {
	bool sent;
	bool differs;
	struct shape before, after;
	struct share share; /* of the later run */
	bool single;        /* of tally_differs() */
};

struct dialogs {
	json_t *findings;
	const char *role;
	char first[LABEL_BYTES]; /* the label of their first message */
	struct side sides[2];    /* sent, received */
};

static bool is_response(const char *label)
{
	return label[0] >= '1' && label[0] <= '9';
}

static const char *method_of(const char *label)
{
	return is_response(label) && strchr(label, ' ') ? strchr(label, ' ') + 1
							: label;
}

static bool is_final(const char *label)
{
	return label[0] >= '2' && label[0] <= '9';
}

/* A request that is challenged is sent again with credentials (RFC 3261 22). */
static bool is_challenge(const char *label)
{
	return strncmp(label, "401 ", 4) == 0 || strncmp(label, "407 ", 4) == 0;
}

static bool has(const struct shape *s, const char *label)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->labels[i], label) == 0)
			return true;
	return false;
}

/* What was agreed on is no more: all that follows is a consequence. */
static bool outcome_changed(const struct side *s, const char *first)
{
	char ok[LABEL_BYTES + 8];

	str_print(ok, sizeof(ok), "200 %s", method_of(first));
	return s->differs && has(&s->before, ok) != has(&s->after, ok);
}

static unsigned scope_of(const struct dialogs *d)
{
	if (strstr(d->first, "INVITE"))
		return EXPLAINS_CALLS | EXPLAINS_DELAY | EXPLAINS_MEDIA |
		       EXPLAINS_SIP;
	if (strstr(d->first, "REGISTER"))
		return EXPLAINS_ALL | EXPLAINS_SIP;
	return EXPLAINS_SIP;
}

/* What changes within calls that are established, or in other dialogs. */
static unsigned inner_scope(const struct dialogs *d)
{
	if (strstr(d->first, "INVITE"))
		return EXPLAINS_CALLS | EXPLAINS_SIP;
	if (strstr(d->first, "REGISTER"))
		return EXPLAINS_REGISTER | EXPLAINS_SIP;
	return EXPLAINS_SIP;
}

static const char *dialogs_word(const struct dialogs *d)
{
	if (strstr(d->first, "INVITE"))
		return "calls";
	return strstr(d->first, "REGISTER") ? "registrations" : "dialogs";
}

/* " in 3 of 10 calls of caller" */
static const char *where(const struct dialogs *d, const struct side *s,
			 char dst[static 160])
{
	str_print(dst, 160, " in %zu of %zu %s of %.40s", s->share.hits,
		  s->share.count, dialogs_word(d), d->role);
	return dst;
}

/* Find a response of the earlier run that one of the later run stands for. */
static const char *replaced(const struct side *s, size_t at)
{
	const char *label = s->after.labels[at], *found = NULL;

	for (size_t i = 0; i < s->before.count; i++) {
		const char *old = s->before.labels[i];

		if (s->before.kept[i] || !is_response(old) ||
		    strcmp(method_of(old), method_of(label)) != 0)
			continue;
		/* the outcome, rather than a challenge on the way to it */
		if (is_final(old) == is_final(label) &&
		    (!is_challenge(old) || is_challenge(label)))
			return old;
		found = found ? found : old;
	}
	/* a provisional answer is no substitute of a final one, but a refusal
	 * may come in place of ringing */
	return is_final(label) ? found : NULL;
}

static int add_response(struct dialogs *d, const struct side *s,
			const char *before, const char *after)
{
	bool outcome = outcome_changed(s, d->first);
	char same[2 * LABEL_BYTES + 4], in[160], was[16], is[16];
	const struct finding f = {
		.kind = DIFFERENCE_RESPONSE,
		.explains = outcome ? scope_of(d) : inner_scope(d),
		.same_as = same,
		.role = d->role,
		.before = was,
		.after = is,
		.weight = outcome ? 2 : is_final(after),
		.single = s->single,
	};

	str_print(same, sizeof(same), "%s|%s", before, after);
	str_print(was, sizeof(was), "%.3s", before);
	str_print(is, sizeof(is), "%.3s", after);
	if (s->sent)
		return finding_add(d->findings, &f,
				   "%.40s answered %s with %s%s; before with "
				   "%s.",
				   d->role, method_of(after), is,
				   where(d, s, in), was);
	return finding_add(d->findings, &f,
			   "%s was answered with %s%s; before with %s.",
			   method_of(after), is, where(d, s, in), was);
}

static int add_message(struct dialogs *d, const struct side *s,
		       const char *label, bool is_new)
{
	char same[LABEL_BYTES + 8], in[160];
	bool outcome = outcome_changed(s, d->first);
	const struct finding f = {
		.kind = DIFFERENCE_MESSAGE,
		.explains = outcome ? scope_of(d) : inner_scope(d),
		.same_as = same,
		.role = d->role,
		.before = is_new ? NULL : label,
		.after = is_new ? label : NULL,
		/* a request is the cause of its answers */
		.weight = (outcome ? 2 : 0) + !is_response(label),
		.single = s->single,
	};

	str_print(same, sizeof(same), "%s|%d", label, is_new);
	return finding_add(d->findings, &f, "%s%s%s: %s %s it%s.",
			   is_new ? "New message " : "Missing message ", label,
			   where(d, s, in), d->role,
			   s->sent  ? is_new ? "sent" : "did not send"
			   : is_new ? "received"
				    : "did not receive",
			   is_new ? "" : " any more");
}

/* @param label  comes before `other` now, and came after it */
static int add_order(struct dialogs *d, const struct side *s, const char *label,
		     const char *other)
{
	char same[2 * LABEL_BYTES + 4], in[160], was[2 * LABEL_BYTES + 16],
		is[2 * LABEL_BYTES + 16];
	const struct finding f = {
		.kind = DIFFERENCE_ORDER,
		.explains = inner_scope(d),
		.same_as = same,
		.role = d->role,
		.before = was,
		.after = is,
		.single = s->single,
	};

	str_print(was, sizeof(was), "%s, %s", other, label);
	str_print(is, sizeof(is), "%s, %s", label, other);
	str_print(same, sizeof(same), "%s|%s",
		  strcmp(label, other) < 0 ? label : other,
		  strcmp(label, other) < 0 ? other : label);
	return finding_add(d->findings, &f,
			   "The order of messages changed%s: %s is %s before "
			   "%s, and was after it.",
			   where(d, s, in), label,
			   s->sent ? "sent" : "received", other);
}

/* ---- which of the differences are causes ---- */

/* A message that is missing at one place and new at another. */
static bool moved(const struct shape *from, const struct shape *to, size_t at)
{
	for (size_t i = 0; i < to->count; i++)
		if (!to->kept[i] &&
		    strcmp(to->labels[i], from->labels[at]) == 0)
			return true;
	return false;
}

/* Only the challenge of a method differs, not the outcome. */
static bool only_challenge(const struct shape *responses, const char *method)
{
	bool found = false;

	for (size_t i = 0; i < responses->count; i++) {
		const char *label = responses->labels[i];

		if (responses->kept[i] || !is_final(label) ||
		    strcmp(method_of(label), method) != 0)
			continue;
		if (!is_challenge(label))
			return false;
		found = true;
	}
	return found;
}

/* The answers to a request that is missing or new, and the ACK of an INVITE,
 * follow from it; the request with credentials follows from a challenge.
 * @param own, other  the side of the message, and the other one */
static bool follows(const struct side *own, const struct side *other,
		    const char *label, bool is_new)
{
	const struct shape *mine = is_new ? &own->after : &own->before;
	const struct shape *s = is_new ? &other->after : &other->before;
	bool ack = strcmp(label, "ACK") == 0;
	const char *cause = ack ? "INVITE" : method_of(label);

	if (ack && only_challenge(s, "INVITE"))
		return true;
	if (!is_response(label) && !ack)
		return only_challenge(s, label);
	if (is_challenge(label) && only_challenge(mine, cause))
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (!s->kept[i] && strcmp(s->labels[i], cause) == 0)
			return true;
	return false;
}

static size_t place_in(const struct shape *s, const char *label)
{
	size_t i = 0;

	while (i < s->count && (s->kept[i] || strcmp(s->labels[i], label) != 0))
		i++;
	return i;
}

/* The message of both runs that a moved one went past: it stands on the other
 * side of it now.
 * @param ret_first  the moved one comes first now
 * @return NULL: there is none */
static const char *passed(const struct side *s, size_t at, bool *ret_first)
{
	size_t was = place_in(&s->before, s->after.labels[at]);

	for (size_t i = 0, k = 0; i < s->after.count; i++) {
		if (!s->after.kept[i])
			continue;
		/* what both have stands in the same order in both */
		while (k < s->before.count && !s->before.kept[k])
			k++;
		if ((i < at) != (k < was)) {
			*ret_first = at < i;
			return s->after.labels[i];
		}
		k++;
	}
	return NULL;
}

static int add_new(struct dialogs *d, const struct side *s,
		   const struct side *other, size_t at)
{
	const char *label = s->after.labels[at], *old;
	bool first = false;

	if (moved(&s->after, &s->before, at)) {
		old = passed(s, at, &first);
		if (!old || strcmp(old, label) == 0)
			return 0;
		return first ? add_order(d, s, label, old)
			     : add_order(d, s, old, label);
	}
	if (follows(s, other, label, true) ||
	    (strcmp(label, "ACK") == 0 && follows(other, s, label, true)))
		return 0;
	old = is_response(label) ? replaced(s, at) : NULL;
	return old ? add_response(d, s, old, label)
		   : add_message(d, s, label, true);
}

static bool was_replaced(const struct side *s, size_t at)
{
	const char *label = s->before.labels[at];

	for (size_t i = 0; is_response(label) && i < s->after.count; i++)
		if (!s->after.kept[i] && is_response(s->after.labels[i]) &&
		    strcmp(method_of(s->after.labels[i]), method_of(label)) ==
			    0)
			return true;
	return false;
}

/* @param only_cause  the outcome changed: the first difference is the cause */
static int add_side(struct dialogs *d, const struct side *s,
		    const struct side *other, bool only_cause)
{
	size_t found = json_array_size(d->findings);
	int err = 0;

	for (size_t i = 0; !err && i < s->after.count; i++)
		if (!s->after.kept[i])
			err = add_new(d, s, other, i);
	for (size_t i = 0; !err && i < s->before.count; i++) {
		if (only_cause && json_array_size(d->findings) > found)
			break;
		if (s->before.kept[i] || was_replaced(s, i) ||
		    moved(&s->before, &s->after, i) ||
		    follows(s, other, s->before.labels[i], false) ||
		    (strcmp(s->before.labels[i], "ACK") == 0 &&
		     follows(other, s, "ACK", false)))
			continue;
		err = add_message(d, s, s->before.labels[i], false);
	}
	return err;
}

static int compare_sides(struct dialogs *d)
{
	int err = 0;

	for (size_t i = 0; i < 2; i++)
		if (outcome_changed(&d->sides[i], d->first))
			return add_side(d, &d->sides[i], &d->sides[!i], true);
	for (size_t i = 0; !err && i < 2; i++)
		if (d->sides[i].differs)
			err = add_side(d, &d->sides[i], &d->sides[!i], false);
	return err;
}

/* ---- all ---- */

static int read_side(struct side *s, const char *key,
		     const struct difference_run *before,
		     const struct difference_run *after)
{
	struct tally_change change;
	int err;

	s->differs =
		tally_differs(before->tallies, after->tallies, key, &change);
	if (!s->differs)
		return 0;
	s->share = change.after_of;
	s->single = change.single;
	err = shape_of(&s->before, change.before);
	if (!err)
		err = shape_of(&s->after, change.after);
	return err ? err : align(&s->before, &s->after);
}

/* @param key  of the tally of what was sent */
static int compare_dialogs(json_t *findings, const char *key,
			   const struct difference_run *before,
			   const struct difference_run *after)
{
	struct dialogs *d = calloc(1, sizeof(*d));
	char role[KEY_BYTES], part[KEY_BYTES], other[KEY_BYTES];
	int err;

	if (!d)
		return -ENOMEM;
	d->findings = findings;
	d->role = key_part(key, 0, role);
	str_print(d->first, sizeof(d->first), "%.60s", key_part(key, 3, part));
	d->sides[0].sent = true;
	str_print(other, sizeof(other), "%s|shape|received|%s|%s", role,
		  d->first, key_part(key, 4, part));
	err = read_side(&d->sides[0], key, before, after);
	if (!err)
		err = read_side(&d->sides[1], other, before, after);
	if (!err)
		err = compare_sides(d);
	for (size_t i = 0; i < 2; i++) {
		free(d->sides[i].before.text);
		free(d->sides[i].after.text);
	}
	free(d);
	return err;
}

/* A role that had such dialogs, and has none now. */
static int add_absent(json_t *findings, const char *key, bool is_new)
{
	char role[KEY_BYTES], label[KEY_BYTES], dir[KEY_BYTES];
	struct dialogs d = {.findings = findings, .role = role};
	struct finding f = {.kind = DIFFERENCE_MESSAGE, .role = role};

	key_part(key, 0, role);
	key_part(key, 3, label);
	key_part(key, 4, dir);
	str_print(d.first, sizeof(d.first), "%.60s", label);
	f.explains = scope_of(&d);
	f.before = is_new ? NULL : label;
	f.after = is_new ? label : NULL;
	f.same_as = label;
	return finding_add(findings, &f, "%.40s %s %s%.40s%s.", role, dir,
			   is_new ? "" : "no ", label,
			   is_new ? ", and did not before" : " at all");
}

static int compare_repeated(json_t *findings, const char *key,
			    const struct difference_run *before,
			    const struct difference_run *after)
{
	char role[KEY_BYTES], dir[KEY_BYTES], label[KEY_BYTES], was[40], is[40];
	struct tally_change c;
	struct finding f = {.kind = DIFFERENCE_RETRANSMISSION,
			    .explains = EXPLAINS_DELAY | EXPLAINS_REGISTER_TIME,
			    .role = role,
			    .before = was,
			    .after = is};
	size_t a, b;

	if (!tally_differs(before->tallies, after->tallies, key, &c))
		return 0;
	f.single = c.single;
	key_part(key, 0, role);
	key_part(key, 2, dir);
	key_part(key, 3, label);
	/* a request, its responses and the ACK repeat each other: the first of
	 * them is named */
	f.same_as = strcmp(label, "ACK") == 0 ? "INVITE" : method_of(label);
	a = c.before_of.hits;
	b = c.after_of.hits;
	if (!c.after || strcmp(c.after, "yes") != 0) {
		a = c.before_of.count - a;
		b = c.after_of.count - b;
	}
	str_print(was, sizeof(was), "%zu of %zu", a, c.before_of.count);
	str_print(is, sizeof(is), "%zu of %zu", b, c.after_of.count);
	return finding_add(findings, &f,
			   "%.60s was %s by %.40s more than once (a "
			   "retransmission) in %s dialogs; before in %s.",
			   label, dir, role, is, was);
}

int compare_signalling(json_t *findings, const struct difference_run *before,
		       const struct difference_run *after)
{
	char part[KEY_BYTES], dir[KEY_BYTES];
	const char *key;
	json_t *tally;
	int err = 0;

	json_object_foreach(before->tallies, key, tally)
	{
		bool both = json_object_get(after->tallies, key) != NULL;

		key_part(key, 1, part);
		key_part(key, 2, dir);
		if (err)
			break;
		if (strcmp(part, "shape") == 0 && strcmp(dir, "sent") == 0)
			err = both ? compare_dialogs(findings, key, before,
						     after)
				   : add_absent(findings, key, false);
		else if (strcmp(part, "repeated") == 0 && both)
			err = compare_repeated(findings, key, before, after);
	}
	json_object_foreach(after->tallies, key, tally)
	{
		key_part(key, 1, part);
		key_part(key, 2, dir);
		if (!err && strcmp(part, "shape") == 0 &&
		    strcmp(dir, "sent") == 0 &&
		    !json_object_get(before->tallies, key))
			err = add_absent(findings, key, true);
	}
	return err;
}

/* The messages of a role and of a dialog, found by their order. */
#include "control/server/judge/input.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(struct sip_part a, struct sip_part b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.p, b.p, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare(const void *a, const void *b)
{
	const struct message_record *x = a, *y = b;
	int order = strcmp(x->role, y->role);

	if (!order)
		order = compare_ids(x->call_id, y->call_id);
	if (!order)
		order = (x->mono_ns > y->mono_ns) - (x->mono_ns < y->mono_ns);
	if (!order)
		order = (x->order > y->order) - (x->order < y->order);
	return order;
}

void judge_messages_link(struct judge_input *in)
{
	if (in->messages.count > 1)
		qsort(in->messages.items, in->messages.count,
		      sizeof(struct message_record), compare);
}

/* The first one that is not before the key. */
static size_t lower_bound(const struct judge_input *in,
			  const struct message_record *key)
{
	const struct message_record *messages =
		RECORDS(in, messages, message_record);
	size_t low = 0, high = in->messages.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&messages[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct message_span judge_dialog_at(const struct judge_input *in,
				    const char *role, size_t at)
{
	const struct message_record *first =
		RECORDS(in, messages, message_record) + at;
	size_t n = 0;

	while (at + n < in->messages.count &&
	       strcmp(first[n].role, role) == 0 &&
	       compare_ids(first[n].call_id, first->call_id) == 0)
		n++;
	return (struct message_span){n ? first : NULL, n};
}

size_t judge_role_messages(const struct judge_input *in, const char *role)
{
	const struct message_record key = {.role = role, .mono_ns = INT64_MIN};

	return lower_bound(in, &key);
}

struct message_span judge_dialog(const struct judge_input *in, const char *role,
				 const char *call_id)
{
	const struct message_record key = {
		.role = role,
		.call_id = {call_id, strlen(call_id)},
		.mono_ns = INT64_MIN,
	};
	size_t at = lower_bound(in, &key);
	struct message_span span = {NULL, 0};

	if (at < in->messages.count)
		span = judge_dialog_at(in, role, at);
	if (span.count && compare_ids(span.first->call_id, key.call_id) != 0)
		span = (struct message_span){NULL, 0};
	return span;
}

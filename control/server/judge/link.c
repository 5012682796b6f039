/* Sorts the input and links states to calls and accounts. */
#include "control/server/judge/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages of a role and of a dialog, found by binary search ---- */

static int compare_ids(struct sip_part a, struct sip_part b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.p, b.p, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_messages(const void *a, const void *b)
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

static void link_messages(struct judge_input *in)
{
	if (in->messages.count > 1)
		qsort(in->messages.items, in->messages.count,
		      sizeof(struct message_record), compare_messages);
}

/* Find the first message that is not before the key. */
static size_t lower_bound(const struct judge_input *in,
			  const struct message_record *key)
{
	const struct message_record *messages =
		RECORDS(in, messages, message_record);
	size_t low = 0, high = in->messages.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_messages(&messages[middle], key) < 0)
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

/* ---- states of calls and accounts ---- */

static int compare_states(const void *a, const void *b)
{
	const struct state_record *x = a, *y = b;
	int order = strcmp(x->role, y->role);

	if (!order)
		order = (x->call ? 1 : 0) - (y->call ? 1 : 0);
	if (!order)
		order = strcmp(x->call ? x->call : x->account,
			       y->call ? y->call : y->account);
	if (!order)
		order = (x->mono_ns > y->mono_ns) - (x->mono_ns < y->mono_ns);
	if (!order)
		order = (x->order > y->order) - (x->order < y->order);
	return order;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call_record *x = a, *y = b;
	int order = strcmp(x->role, y->role);

	if (!order) /* caller-9 before caller-10 */
		order = strverscmp(x->name, y->name);
	if (!order) /* the call with a `call` event first */
		order = (y->finished ? 1 : 0) - (x->finished ? 1 : 0);
	return order;
}

static int compare_accounts(const void *a, const void *b)
{
	const struct account_record *x = a, *y = b;
	int order = strcmp(x->role, y->role);

	return order ? order : strcmp(x->name, y->name);
}

static int compare_digits(const void *a, const void *b)
{
	const struct dtmf_record *x = a, *y = b;
	int order = strcmp(x->role, y->role);

	if (!order)
		order = strverscmp(x->call, y->call);
	if (!order)
		order = (x->mono_ns > y->mono_ns) - (x->mono_ns < y->mono_ns);
	if (!order)
		order = (x->order > y->order) - (x->order < y->order);
	return order;
}

static void sort(struct records *r, size_t item_bytes,
		 int (*compare)(const void *, const void *))
{
	if (r->count > 1)
		qsort(r->items, r->count, item_bytes, compare);
}

static bool same_subject(const struct state_record *a,
			 const struct state_record *b)
{
	if (strcmp(a->role, b->role) != 0 || !a->call != !b->call)
		return false;
	return strcmp(a->call ? a->call : a->account,
		      b->call ? b->call : b->account) == 0;
}

/* Make a record for a call or account that is known by its states only: the
 * agent died before the `call` event, or no spec names the account. */
static int add_subject(struct judge_input *in, const struct state_record *first,
		       size_t count, uint64_t reached)
{
	int err = 0;

	if (first->call) {
		struct call_record *call;

		call = records_add(&in->calls, sizeof(*call), &err);
		if (!call)
			return err;
		call->role = first->role;
		call->name = first->call;
		call->account = first->account;
		call->peer = call->reason = call->end = "";
		call->outgoing = reached & (UINT64_C(1) << UA_CALL_OUTGOING);
		call->established =
			reached & (UINT64_C(1) << UA_CALL_ESTABLISHED);
		call->states = first;
		call->state_count = count;
		call->reached = reached;
	} else {
		struct account_record *account;

		account = records_add(&in->accounts, sizeof(*account), &err);
		if (!account)
			return err;
		account->role = first->role;
		account->name = first->account;
		account->reason = "";
		account->states = first;
		account->state_count = count;
		account->reached = reached;
	}
	return 0;
}

static int add_subjects(struct judge_input *in)
{
	const struct state_record *states = in->states.items;
	size_t i = 0;

	_Static_assert(UA_STATE_COUNT <= 64, "a bit per state");
	while (i < in->states.count) {
		uint64_t reached = 0;
		size_t n = 0;
		int err;

		while (i + n < in->states.count &&
		       same_subject(&states[i], &states[i + n]))
			reached |= UINT64_C(1) << states[i + n++].state;
		err = add_subject(in, &states[i], n, reached);
		if (err)
			return err;
		i += n;
	}
	return 0;
}

static void merge_calls(struct judge_input *in)
{
	struct call_record *calls = in->calls.items;
	size_t kept = 0;

	for (size_t i = 0; i < in->calls.count; i++) {
		struct call_record *last = kept ? &calls[kept - 1] : NULL;

		if (!last || strcmp(last->role, calls[i].role) != 0 ||
		    strcmp(last->name, calls[i].name) != 0) {
			calls[kept++] = calls[i];
			continue;
		}
		if (calls[i].states) {
			last->states = calls[i].states;
			last->state_count = calls[i].state_count;
			last->reached = calls[i].reached;
		}
		free(calls[i].streams);
	}
	in->calls.count = kept;
}

/* Both are sorted by role and call. */
static void link_digits(struct judge_input *in)
{
	const struct dtmf_record *digits = in->digits.items;
	struct call_record *calls = in->calls.items;
	size_t d = 0;

	for (size_t i = 0; i < in->calls.count; i++) {
		int order = -1;

		while (d < in->digits.count) {
			order = strcmp(digits[d].role, calls[i].role);
			if (!order)
				order = strverscmp(digits[d].call,
						   calls[i].name);
			if (order >= 0)
				break;
			d++; /* the call has no `call` event */
		}
		if (d == in->digits.count || order > 0)
			continue;
		calls[i].digits = &digits[d];
		while (d < in->digits.count &&
		       strcmp(digits[d].role, calls[i].role) == 0 &&
		       strcmp(digits[d].call, calls[i].name) == 0) {
			calls[i].digit_count++;
			d++;
		}
	}
}

static void merge_accounts(struct judge_input *in)
{
	struct account_record *accounts = in->accounts.items;
	size_t kept = 0;

	for (size_t i = 0; i < in->accounts.count; i++) {
		const struct account_record *next = &accounts[i];
		struct account_record *last = kept ? &accounts[kept - 1] : NULL;

		if (!last || compare_accounts(last, next) != 0) {
			accounts[kept++] = *next;
			continue;
		}
		last->attempts += next->attempts;
		last->failures += next->failures;
		if (next->failures) {
			last->code = next->code;
			last->reason = next->reason;
		}
		if (next->has_ms &&
		    (!last->has_ms || next->worst_ms > last->worst_ms)) {
			last->has_ms = true;
			last->worst_ms = next->worst_ms;
		}
		if (next->states) {
			last->states = next->states;
			last->state_count = next->state_count;
			last->reached = next->reached;
		}
	}
	in->accounts.count = kept;
}

int judge_input_link(struct judge_input *in)
{
	int err;

	sort(&in->states, sizeof(struct state_record), compare_states);
	link_messages(in);
	err = add_subjects(in);
	if (err)
		return err;
	sort(&in->calls, sizeof(struct call_record), compare_calls);
	sort(&in->accounts, sizeof(struct account_record), compare_accounts);
	merge_calls(in);
	sort(&in->digits, sizeof(struct dtmf_record), compare_digits);
	link_digits(in);
	merge_accounts(in);
	return 0;
}

#include "control/server/judge/input.h"

#include "control/server/judge/input_internal.h"
#include "control/wire/text.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int judge_input_new(struct judge_input **ret)
{
	struct judge_input *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->kept = json_array();
	if (!in->kept) {
		free(in);
		return -ENOMEM;
	}
	*ret = in;
	return 0;
}

struct judge_input *judge_input_free(struct judge_input *in)
{
	struct call_record *calls;
	struct message_record *messages;
	struct judge_point *points;

	if (!in)
		return NULL;
	calls = in->calls.items;
	for (size_t i = 0; i < in->calls.count; i++)
		free(calls[i].streams);
	messages = in->messages.items;
	for (size_t i = 0; i < in->messages.count; i++)
		free(messages[i].decoded);
	points = in->points.items;
	for (size_t i = 0; i < in->points.count; i++)
		json_decref(points[i].sketch);
	free(in->states.items);
	free(in->calls.items);
	free(in->accounts.items);
	free(in->asserts.items);
	free(in->digits.items);
	free(in->flaws.items);
	free(in->roles.items);
	free(in->messages.items);
	free(in->points.items);
	json_decref(in->kept);
	free(in);
	return NULL;
}

const char *judge_input_keep(struct judge_input *in, const char *role,
			     json_t *object)
{
	json_t *name = json_string(role);

	/* One reference more: the caller's stays the caller's. */
	if (!name || json_array_append_new(in->kept, name) ||
	    json_array_append(in->kept, object))
		return NULL;
	return json_string_value(name);
}

struct role_record *judge_input_role(struct judge_input *in, const char *role)
{
	struct role_record *roles = in->roles.items;

	for (size_t i = 0; i < in->roles.count; i++)
		if (strcmp(roles[i].role, role) == 0)
			return &roles[i];
	return NULL;
}

/* Bytes that are no UTF-8 came as base64; a 0 among them would end the text. */
static int decode(struct message_record *record)
{
	size_t len = strlen(record->data), used;

	record->decoded = malloc(len + 1);
	if (!record->decoded)
		return -ENOMEM;
	if (sodium_base642bin((unsigned char *)record->decoded, len,
			      record->data, len, "\r\n", &used, NULL,
			      sodium_base64_VARIANT_ORIGINAL))
		used = 0;
	for (size_t i = 0; i < used; i++)
		if (!record->decoded[i])
			record->decoded[i] = '?';
	record->decoded[used] = '\0';
	record->data = record->decoded;
	return 0;
}

int judge_input_add_message(struct judge_input *in, const char *role,
			    json_t *message)
{
	struct message_record *record;
	int err = 0;

	if (!json_is_object(message))
		return -EINVAL;
	role = judge_input_keep(in, role, message);
	if (!role)
		return -ENOMEM;
	record = records_add(&in->messages, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->sent = strcmp(text_of(message, "dir"), "sent") == 0;
	record->mono_ns = json_integer_value(json_object_get(message, "mono"));
	record->order = in->messages.count;
	record->peer = text_of(message, "peer");
	record->data = text_of(message, "data");
	if (text_of(message, "encoding")[0])
		err = decode(record);
	if (err || !sip_header(record->data, "Call-ID", 0, &record->call_id))
		record->call_id = (struct sip_part){"", 0};
	return err;
}

int judge_input_add_point(struct judge_input *in,
			  const struct judge_point *point)
{
	struct judge_point *record;
	json_t *name;
	int err = 0;

	name = json_string(point->role);
	if (!name || json_array_append_new(in->kept, name))
		return -ENOMEM;
	record = records_add(&in->points, sizeof(*record), &err);
	if (!record)
		return err;
	*record = *point;
	record->role = json_string_value(name);
	record->sketch = json_incref(point->sketch);
	return 0;
}

static int add_accounts(struct judge_input *in, const char *role,
			const json_t *action)
{
	const json_t *credentials = json_object_get(action, "credentials");
	const json_t *credential;
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		struct account_record *account;
		int err = 0;

		account = records_add(&in->accounts, sizeof(*account), &err);
		if (!account)
			return err;
		account->role = role;
		account->name = text_of(credential, "username");
		account->reason = "";
	}
	return 0;
}

static int add_action(struct judge_input *in, struct role_record *record,
		      const json_t *action)
{
	const char *type = text_of(action, "type");
	const json_t *calls = json_object_get(action, "max_total_calls");

	if (strcmp(type, "call") == 0 || strcmp(type, "stream") == 0) {
		int64_t count = json_integer_value(calls);

		record->places_calls = true;
		/* docs/internals/wire.md: one call where nothing is said. */
		record->expected_calls += count > 0 ? (uint64_t)count : 1;
	} else if (strcmp(type, "answer") == 0) {
		record->answers = true;
	} else if (strcmp(type, "register") == 0) {
		record->registers = true;
		return add_accounts(in, record->role, action);
	}
	return 0;
}

int judge_input_add_spec(struct judge_input *in, json_t *spec)
{
	const json_t *steps = json_object_get(spec, "steps");
	struct role_record *record;
	const json_t *step, *action;
	const char *role = text_of(spec, "role");
	size_t s, a;
	int err = 0;

	if (!role[0] || !json_is_array(steps))
		return -EINVAL;
	role = judge_input_keep(in, role, spec);
	if (!role)
		return -ENOMEM;
	record = judge_input_role(in, role);
	if (!record) {
		record = records_add(&in->roles, sizeof(*record), &err);
		if (!record)
			return err;
		record->role = role;
	}
	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			err = add_action(in, record, action);
			if (err)
				return err;
		}
	}
	return 0;
}

const struct role_record *judge_role(const struct judge_input *in,
				     const char *role)
{
	const struct role_record *roles = RECORDS(in, roles, role_record);

	for (size_t i = 0; i < in->roles.count; i++)
		if (strcmp(roles[i].role, role) == 0)
			return &roles[i];
	return NULL;
}

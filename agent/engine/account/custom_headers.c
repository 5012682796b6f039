/* Custom headers of an account and of a call, with placeholders replaced. */
#include "agent/engine/account/accounts_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 2048

static enum sip_header_scope scope_of(const char *message_type)
{
	static const struct {
		const char *name;
		enum sip_header_scope scope;
	} scopes[] = {
		{"registers", SIP_SCOPE_REGISTERS},
		{"calls", SIP_SCOPE_CALLS},
		{"presence", SIP_SCOPE_PRESENCE},
		{"invites", SIP_SCOPE_INVITES},
		{"updates", SIP_SCOPE_UPDATES},
		{"refers", SIP_SCOPE_REFERS},
	};

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		if (strcmp(scopes[i].name, message_type) == 0)
			return scopes[i].scope;
	}
	return SIP_SCOPE_ANY;
}

static int value_make(const char **ret, const struct account *a,
		      const char *template, unsigned n)
{
	char value[VALUE_BYTES];
	int len = wire_expand_dial(value, sizeof(value), template,
				   a->accounts->job, n, account_name(a));
	char *copy;

	if (len < 0)
		return len;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

static int room_make(struct custom_headers *h)
{
	size_t size = h->size + WIRE_HEADERS_MAX;
	void *list;

	if (h->count < h->size)
		return 0;
	list = realloc(h->list, size * sizeof(*h->list));
	if (!list)
		return -ENOMEM;
	h->list = list;
	h->size = size;
	return 0;
}

/* Headers of an answer or call action are not added to REGISTER, which belongs
 * to another action. */
int custom_headers_append(struct custom_headers *h, const struct account *a,
			  const struct wire_action *action, unsigned n)
{
	bool registers = action->type == WIRE_ACTION_REGISTER ||
			 action->type == WIRE_ACTION_UNREGISTER;

	for (size_t i = 0; i < action->header_count; i++) {
		const struct wire_header *from = &action->headers[i];
		enum sip_header_scope scope = scope_of(from->message_type);
		const char *value = NULL;
		int err = room_make(h);

		if (!registers && scope == SIP_SCOPE_REGISTERS)
			continue;
		if (!registers && scope == SIP_SCOPE_ANY)
			scope = SIP_SCOPE_NOT_REGISTERS;
		if (!err)
			err = value_make(&value, a, from->value, n);
		if (err)
			return err;
		h->list[h->count++] = (struct sip_custom_header){
			.name = from->name,
			.value = value,
			.scope = scope,
		};
	}
	return 0;
}

/* An account has the headers of its action; a registered one also those of the
 * job's answer actions, as it takes the calls. */
static int append_all(struct custom_headers *h, const struct account *a,
		      unsigned n)
{
	const struct wire_job *job = a->accounts->job;
	int err = custom_headers_append(h, a, a->origin, n);

	if (a->origin->type != WIRE_ACTION_REGISTER)
		return err;
	for (size_t s = 0; !err && s < job->step_count; s++) {
		const struct wire_step *step = &job->steps[s];

		for (size_t i = 0; !err && i < step->action_count; i++) {
			if (step->actions[i].type == WIRE_ACTION_ANSWER)
				err = custom_headers_append(
					h, a, &step->actions[i], n);
		}
	}
	return err;
}

int custom_headers_make(struct custom_headers *ret, const struct account *a,
			unsigned n)
{
	struct custom_headers h = {.list = NULL};
	int err = append_all(&h, a, n);

	if (err)
		custom_headers_free(&h);
	else
		*ret = h;
	return err;
}

void custom_headers_free(struct custom_headers *h)
{
	for (size_t i = 0; i < h->count; i++)
		free((void *)(uintptr_t)h->list[i].value);
	free(h->list);
	*h = (struct custom_headers){.list = NULL};
}

bool custom_headers_vary(const struct account *a)
{
	for (size_t i = 0; i < a->origin->header_count; i++) {
		if (strstr(a->origin->headers[i].value, "{{"))
			return true;
	}
	return false;
}

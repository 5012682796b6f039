#include "control/wire/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int append(char *dst, size_t size, size_t *used, const char *text,
		  size_t len)
{
	if (len >= size - *used)
		return -ENAMETOOLONG;
	memcpy(dst + *used, text, len);
	*used += len;
	dst[*used] = '\0';
	return 0;
}

static const char *peer_username(const struct wire_job *job, const char *role,
				 size_t role_len, unsigned n)
{
	for (size_t i = 0; i < job->peer_count; i++) {
		const struct wire_peer_role *peer = &job->peers[i];

		if (strlen(peer->role) != role_len ||
		    memcmp(peer->role, role, role_len) != 0)
			continue;
		return peer->username_count
			       ? peer->usernames[n % peer->username_count]
			       : NULL;
	}
	return NULL;
}

/** @return the value of a placeholder; NULL: it has none */
static const char *placeholder(const char *name, size_t len,
			       const struct wire_job *job, unsigned n,
			       const char *credential_username,
			       char number[static 16])
{
	static const char suffix[] = ".username";
	size_t suffix_len = sizeof(suffix) - 1;

	while (len > 0 && name[0] == ' ') {
		name++;
		len--;
	}
	while (len > 0 && name[len - 1] == ' ')
		len--;
	if (len == 1 && name[0] == 'n') {
		snprintf(number, 16, "%u", n);
		return number;
	}
	if (len <= suffix_len ||
	    memcmp(name + len - suffix_len, suffix, suffix_len) != 0)
		return NULL;
	len -= suffix_len;
	if (len == strlen("credential") && memcmp(name, "credential", len) == 0)
		return credential_username;
	return peer_username(job, name, len, n);
}

int wire_expand_dial(char *dst, size_t size, const char *template,
		     const struct wire_job *job, unsigned n,
		     const char *credential_username)
{
	size_t used = 0;
	char number[16];

	if (size == 0)
		return -ENAMETOOLONG;
	dst[0] = '\0';
	while (*template) {
		const char *open = strstr(template, "{{");
		const char *close = open ? strstr(open, "}}") : NULL;
		const char *text;
		int err;

		if (open && !close)
			return -EINVAL;
		err = append(dst, size, &used, template,
			     open ? (size_t)(open - template)
				  : strlen(template));
		if (err)
			return err;
		if (!open)
			break;
		text = placeholder(open + 2, (size_t)(close - open - 2), job, n,
				   credential_username, number);
		if (!text)
			return -EINVAL;
		err = append(dst, size, &used, text, strlen(text));
		if (err)
			return err;
		template = close + 2;
	}
	return (int)used;
}

bool wire_argument_is_template(const char *argument)
{
	return strstr(argument, "{{") != NULL;
}

/* Arguments of at most this many calls are checked before the first call. */
#define FILLINGS_MAX 1000u

void wire_fillings_init(struct wire_fillings *ret, const struct wire_job *job,
			const struct wire_action *action,
			const struct wire_action *registered)
{
	const struct wire_action *owner =
		registered && registered->credential_count ? registered
							   : action;
	size_t count = action->type == WIRE_ACTION_CALL
			       ? action->max_total_calls
			       : owner->credential_count;

	*ret = (struct wire_fillings){
		.job = job,
		.users = owner->credentials,
		.user_count = owner->credential_count,
		.count = count == 0             ? 1
			 : count < FILLINGS_MAX ? (unsigned)count
						: FILLINGS_MAX,
	};
}

const struct wire_action *wire_registered_before(const struct wire_job *job,
						 const struct wire_action *a)
{
	const struct wire_action *registered = NULL;

	for (size_t s = 0; s < job->step_count; s++) {
		const struct wire_step *step = &job->steps[s];

		for (size_t i = 0; i < step->action_count; i++) {
			if (&step->actions[i] == a)
				return registered;
			if (step->actions[i].type == WIRE_ACTION_REGISTER)
				registered = &step->actions[i];
		}
	}
	return registered;
}

int wire_filling(char dst[static WIRE_ARGUMENT_BYTES],
		 const struct wire_fillings *fillings, const char *argument,
		 unsigned n)
{
	const char *user =
		fillings->user_count
			? fillings->users[n % fillings->user_count].username
			: "";

	return wire_expand_dial(dst, WIRE_ARGUMENT_BYTES, argument,
				fillings->job, n, user);
}

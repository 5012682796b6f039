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

/** @return the text of a placeholder, NULL if there is none */
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

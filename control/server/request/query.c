#include "control/server/request/query.h"

#include "control/server/request/path.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	json_t *query;
	bool broken;
};

static enum MHD_Result add_argument(void *cls, enum MHD_ValueKind kind,
				    const char *name, const char *value)
{
	struct arguments *a = cls;
	char *name_copy = strdup(name);
	char *value_copy = strdup(value ? value : "");

	(void)kind;
	/* libmicrohttpd has converted '+' to blanks, but no percent codes */
	if (!name_copy || !value_copy || percent_decode(name_copy, false) < 0 ||
	    percent_decode(value_copy, false) < 0)
		a->broken = true;
	else
		json_array_append_new(
			a->query, json_pack("[s, s]", name_copy, value_copy));
	free(name_copy);
	free(value_copy);
	return MHD_YES;
}

json_t *query_read(struct MHD_Connection *connection)
{
	struct arguments a = {.query = json_array()};

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND,
				  add_argument, &a);
	if (a.broken) {
		json_decref(a.query);
		return NULL;
	}
	return a.query;
}

static bool find(const char *known, const char *name, bool *repeatable)
{
	size_t len = strlen(name);

	while (*known) {
		size_t word = strcspn(known, " *");

		if (word == len && memcmp(known, name, len) == 0) {
			*repeatable = known[word] == '*';
			return true;
		}
		known += word;
		known += strspn(known, " *");
	}
	return false;
}

static const char *name_at(const json_t *query, size_t i)
{
	return json_string_value(json_array_get(json_array_get(query, i), 0));
}

static bool stands_before(const json_t *query, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(name_at(query, k), name_at(query, i)) == 0)
			return true;
	return false;
}

static void refuse(struct reply *rep, const char *name, const char *reason)
{
	if (reply_status(rep) != 422)
		reply_problem(rep, 422, "the query parameter '%.80s' %s", name,
			      reason);
	reply_pointer(rep, name, "%s", reason);
}

bool query_check(const json_t *query, const char *known, struct reply *rep)
{
	for (size_t i = 0; i < json_array_size(query); i++) {
		const char *name = name_at(query, i);
		bool repeatable = false;

		if (!find(known, name, &repeatable))
			refuse(rep, name, "is not known here");
		else if (!repeatable && stands_before(query, i))
			refuse(rep, name, "is there twice");
	}
	return reply_status(rep) == 0;
}

void query_escape(char *dst, size_t size, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-._~/";
	size_t used = strlen(dst);

	for (; *text && used + 4 < size; text++) {
		if (strchr(plain, *text))
			dst[used++] = *text;
		else
			used += (size_t)snprintf(dst + used, 4, "%%%02X",
						 (unsigned char)*text);
	}
	dst[used] = '\0';
}

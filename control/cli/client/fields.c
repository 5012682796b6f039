#include "control/cli/client/fields.h"

#include "base/str.h"
#include "control/cli/client/client.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX   (1u << 20)
#define NAME_BYTES 200

/* @param line  true: read the first line only, without its end */
static json_t *read_file(const char *path, bool line)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(FILE_MAX + 1);
	json_t *value = NULL;
	size_t len;

	if (file && text) {
		len = fread(text, 1, FILE_MAX + 1, file);
		if (line && len <= FILE_MAX) {
			text[len] = '\0';
			len = strcspn(text, "\r\n");
		}
		if (!ferror(file) && len <= FILE_MAX)
			value = json_stringn(text, len);
	}
	if (file)
		fclose(file);
	free(text);
	return value;
}

/* True for "password" and "caller.password": of their file only the first line
 * is read, without its end. */
static bool of_password(const char *field)
{
	const char *dot = strrchr(field, '.');

	return strcmp(dot ? dot + 1 : field, "password") == 0;
}

static int read_one(json_t *fields, const char *field)
{
	const char *equals = strchr(field, '=');
	char name[NAME_BYTES];
	json_t *value;

	if (!equals || equals == field || equals - field >= NAME_BYTES)
		return client_usage("%s is not NAME=VALUE", field);
	str_print(name, sizeof(name), "%.*s", (int)(equals - field), field);
	value = equals[1] == '@' ? read_file(equals + 2, of_password(name))
				 : json_string(equals + 1);
	if (!value || json_object_set_new(fields, name, value))
		return client_usage("%s: it cannot be read, is larger than "
				    "1 MiB, or is not UTF-8 text",
				    name);
	return 0;
}

int fields_read(json_t *fields, char *const *given, int count)
{
	int status = 0;

	for (int i = 0; i < count && !status; i++)
		status = read_one(fields, given[i]);
	return status;
}

/* True for "N." of at most four digits. @param text  in/out: behind it */
static bool take_index(const char **text)
{
	size_t len = strspn(*text, "0123456789");

	if (len == 0 || len > 4 || (*text)[len] != '.')
		return false;
	*text += len + 1;
	return true;
}

/* What is wrong with a path. @return NULL: nothing */
static const char *flaw_of(const char *path, const char *const *known)
{
	const char *rest = strchr(path, '.');

	if (strncmp(path, "step.", 5) == 0) {
		rest++;
		return take_index(&rest) && take_index(&rest) && rest[0]
			       ? NULL
			       : "it must be step.STEP.ACTION.PARAMETER, both "
				 "counted from 0";
	}
	if (strncmp(path, "condition.", 10) == 0) {
		rest = strchr(rest + 1, '.');
		return rest && rest[1] && rest - path > 10
			       ? NULL
			       : "it must be condition.ROLE.CONDITION_TYPE";
	}
	for (; *known; known++)
		if (strcmp(*known, path) == 0)
			return NULL;
	return "it is no parameter of a start";
}

int fields_check_paths(json_t *fields, const char *const *known)
{
	const char *path, *flaw;
	json_t *value;

	json_object_foreach(fields, path, value)
	{
		flaw = flaw_of(path, known);
		if (flaw)
			return client_usage("--set %s: %s", path, flaw);
	}
	return 0;
}

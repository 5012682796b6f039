#include "control/server/difference/session.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/difference/mask.h"
#include "control/server/difference/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SDP_BYTES 16384u

/* Static payload types (RFC 3551 section 6). */
static const struct {
	const char *type;
	const char *name;
} static_types[] = {
	{"0", "PCMU/8000"},  {"3", "GSM/8000"},  {"4", "G723/8000"},
	{"8", "PCMA/8000"},  {"9", "G722/8000"}, {"10", "L16/44100/2"},
	{"11", "L16/44100"}, {"13", "CN/8000"},  {"15", "G728/8000"},
	{"18", "G729/8000"},
};

/* Find "a=rtpmap:TYPE NAME". @return the name; NULL */
static const char *mapped(const char *sdp, size_t len, const char *type,
			  size_t type_len, size_t *ret_len)
{
	static const char begins[] = "a=rtpmap:";
	const char *end = sdp + len;

	for (const char *p = sdp; p && p < end;
	     p = memchr(p, '\n', (size_t)(end - p))) {
		p += *p == '\n';
		if ((size_t)(end - p) < sizeof(begins) + type_len ||
		    strncmp(p, begins, sizeof(begins) - 1) != 0)
			continue;
		p += sizeof(begins) - 1;
		if (strncmp(p, type, type_len) != 0 || p[type_len] != ' ')
			continue;
		p += type_len + 1;
		*ret_len = strcspn(p, " \r\n");
		return p;
	}
	for (size_t i = 0; i < sizeof(static_types) / sizeof(*static_types);
	     i++)
		if (strlen(static_types[i].type) == type_len &&
		    strncmp(static_types[i].type, type, type_len) == 0) {
			*ret_len = strlen(static_types[i].name);
			return static_types[i].name;
		}
	return NULL;
}

/* Append the codecs of a line "m=audio 4000 RTP/AVP 0 8", by name. */
static int add_codecs(struct buf *codecs, const char *line, size_t len,
		      const char *sdp, size_t sdp_len)
{
	const char *p = line, *end = line + len;
	int err = 0;

	for (int words = 0; words < 3; words++) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (!p)
			return 0;
		p++;
	}
	while (!err && p < end) {
		size_t type = strcspn(p, " \r\n"), name_len = type;
		const char *name;

		if (!type)
			break;
		name = mapped(sdp, sdp_len, p, type, &name_len);
		err = buf_add(codecs, ", ", codecs->used ? 2 : 0);
		if (!err)
			err = buf_add(codecs, name ? name : p, name_len);
		p += type;
		p += strspn(p, " ");
	}
	return err;
}

/* The name under which lines are compared together. */
static void name_of(const char *line, size_t len, char dst[static 40])
{
	static const char *const directions[] = {"a=sendrecv", "a=sendonly",
						 "a=recvonly", "a=inactive"};
	size_t own = 0;

	while (own < len && own < 39 && line[own] != ':' && line[own] != '=')
		own++;
	if (own < len && line[own] == '=' && *line == 'a')
		for (own++; own < len && own < 39 && line[own] != ':';)
			own++;
	else if (own < len && line[own] == '=')
		own++;
	str_print(dst, 40, "%.*s", (int)own, line);
	for (size_t i = 0; i < sizeof(directions) / sizeof(*directions); i++)
		if (strcmp(dst, directions[i]) == 0)
			str_copy(dst, 40, "direction");
}

/* A line of m= without its payload types: they are compared as codecs. */
static size_t without_types(const char *line, size_t len)
{
	size_t words = 0;

	for (size_t i = 0; i < len; i++)
		if (line[i] == ' ' && ++words == 3)
			return i;
	return len;
}

static int add_line(json_t *lines, struct buf *masked, const char *line,
		    size_t len, bool ours)
{
	const char *old;
	char name[40];
	json_t *text;
	int err;

	masked->used = 0;
	if (len > 1 && line[0] == 'm')
		len = without_types(line, len);
	if (len < 2 || strncmp(line, "a=rtpmap:", 9) == 0)
		return 0;
	err = mask_sdp_line(masked, line, len, ours);
	if (err != 1)
		return err;
	name_of(line, len, name);
	old = json_string_value(json_object_get(lines, name));
	text = old ? json_sprintf("%s, %s", old, masked->data)
		   : json_string(masked->data);
	if (text)
		(void)json_object_set_new(lines, name, text); /* not UTF-8 */
	return 0;
}

int session_count(json_t *tallies, const char *role, const char *dir,
		  const char *label, unsigned nth, const char *sdp, size_t len)
{
	bool ours = strcmp(dir, "sent") == 0;
	json_t *lines = json_object(), *value;
	struct buf masked, codecs;
	char key[KEY_BYTES];
	const char *name;
	int err = lines ? 0 : -ENOMEM;

	buf_init(&masked, SDP_BYTES);
	buf_init(&codecs, SDP_BYTES);
	for (size_t at = 0; !err && at < len;) {
		const char *line = sdp + at;
		size_t own = strcspn(line, "\r\n");

		if (own > len - at)
			own = len - at;
		err = add_line(lines, &masked, line, own, ours);
		if (!err && own > 2 && line[0] == 'm' && line[1] == '=')
			err = add_codecs(&codecs, line, own, sdp, len);
		at += own + strspn(line + own, "\r\n");
	}
	if (!err && codecs.used)
		err = json_object_set_new(lines, "codecs",
					  json_string(codecs.data))
			      ? -ENOMEM
			      : 0;
	if (!err)
		err = json_object_set_new(lines, "", json_string("present"))
			      ? -ENOMEM
			      : 0;
	json_object_foreach(lines, name, value)
	{
		if (!err && str_print(key, sizeof(key), "%s|sdp|%s|%s|%u|%s",
				      role, dir, label, nth, name) > 0)
			err = tally_add(tallies, key, json_string_value(value));
	}
	buf_release(&codecs);
	buf_release(&masked);
	json_decref(lines);
	return err == -EMSGSIZE ? 0 : err;
}

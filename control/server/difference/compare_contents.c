#include "control/server/difference/compare_contents.h"

#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/findings.h"
#include "control/server/difference/tally.h"

#include <errno.h>
#include <string.h>

#define SHOWN 120 /* bytes of a value in a sentence */

/* The place of a value: "role|part|dir|label|nth|name". */
struct place {
	char role[KEY_BYTES];
	char part[KEY_BYTES];
	char dir[KEY_BYTES];
	char label[KEY_BYTES];
	char nth[KEY_BYTES];
	char name[KEY_BYTES];
};

static void place_of(struct place *p, const char *key)
{
	key_part(key, 0, p->role);
	key_part(key, 1, p->part);
	key_part(key, 2, p->dir);
	key_part(key, 3, p->label);
	key_part(key, 4, p->nth);
	key_part(key, 5, p->name);
}

/* ---- values with those that are absent ---- */

static json_int_t n_of(const json_t *tallies, const struct place *p,
		       const char *part)
{
	char key[KEY_BYTES];

	str_print(key, sizeof(key), "%s|%s|%s|%s|%s|", p->role, part, p->dir,
		  p->label, p->nth);
	return json_integer_value(
		json_object_get(json_object_get(tallies, key), "n"));
}

/* Set in `ret` the tally of a key, with "" for the messages without it. */
static int complete(json_t *ret, const json_t *tallies, const char *key,
		    const struct place *p)
{
	bool line = strcmp(p->part, "sdp") == 0 && p->name[0];
	json_int_t all = n_of(tallies, p, line ? "sdp" : "message");
	const json_t *own = json_object_get(tallies, key);
	json_int_t n = json_integer_value(json_object_get(own, "n"));
	json_t *values =
		own ? json_copy(json_object_get(own, "values")) : json_object();
	json_t *tally;

	if (!values)
		return -ENOMEM;
	if (all > n && json_object_set_new(values, "", json_integer(all - n))) {
		json_decref(values);
		return -ENOMEM;
	}
	tally = json_pack("{s:I, s:o}", "n", all > n ? all : n, "values",
			  values);
	return json_object_set_new(ret, key, tally) ? -ENOMEM : 0;
}

/* @return 1: the values differ; 0; -ENOMEM */
static int differs(const struct difference_run *before,
		   const struct difference_run *after, const char *key,
		   const struct place *p, json_t *a, json_t *b,
		   struct tally_change *ret)
{
	int err = complete(a, before->tallies, key, p);

	if (!err)
		err = complete(b, after->tallies, key, p);
	if (err)
		return err;
	return tally_differs(a, b, key, ret);
}

/* ---- sentences ---- */

static const char *shown(const char *value)
{
	return value && value[0] ? value : NULL;
}

/* Write "was "X" and is "Y"", or what became absent or is new. */
static void change_text(const char *before, const char *after,
			char dst[static 4 * SHOWN])
{
	const char *cut_a = before && strlen(before) > SHOWN ? "..." : "";
	const char *cut_b = after && strlen(after) > SHOWN ? "..." : "";

	if (!before)
		str_print(dst, 4 * SHOWN, "is new: \"%.*s%s\"", SHOWN, after,
			  cut_b);
	else if (!after)
		str_print(dst, 4 * SHOWN, "is missing; it was \"%.*s%s\"",
			  SHOWN, before, cut_a);
	else
		str_print(dst, 4 * SHOWN, "was \"%.*s%s\" and is \"%.*s%s\"",
			  SHOWN, before, cut_a, SHOWN, after, cut_b);
	str_utf8_repair(dst);
}

/* "" or " (in 3 of 10 messages, before in none)" */
static void share_text(const struct tally_change *c, char dst[static 80])
{
	dst[0] = '\0';
	if (c->after_of.hits != c->after_of.count && c->after_of.hits)
		str_print(dst, 80,
			  " (in %zu of %zu messages, before %zu of %zu)",
			  c->after_of.hits, c->after_of.count,
			  c->before_of.hits, c->before_of.count);
}

/* ---- header fields ---- */

static int add_header(json_t *findings, const struct place *p,
		      const struct tally_change *c)
{
	const char *before = shown(c->before), *after = shown(c->after);
	bool software = strcmp(p->name, "User-Agent") == 0 ||
			strcmp(p->name, "Server") == 0;
	char same[3 * KEY_BYTES], text[4 * SHOWN], share[80];
	const struct finding f = {
		.kind = software ? DIFFERENCE_SOFTWARE : DIFFERENCE_HEADER,
		.explains = EXPLAINS_TEXT,
		.words = p->name,
		.same_as = same,
		.role = p->role,
		.before = before,
		.after = after,
		.single = c->single,
	};

	if (!before && !after)
		return 0;
	str_print(same, sizeof(same), "%s|%s|%s", software ? "" : p->name,
		  before ? before : "", after ? after : "");
	change_text(before, after, text);
	share_text(c, share);
	if (software)
		return finding_add(findings, &f,
				   "The software behind the %s that %.40s %s "
				   "(%s) %s%s.",
				   p->label, p->role, p->dir, p->name, text,
				   share);
	return finding_add(findings, &f, "%.60s of the %s that %.40s %s %s%s.",
			   p->name, p->label, p->role, p->dir, text, share);
}

/* ---- session descriptions ---- */

static const struct {
	const char *name;
	const char *word;
	enum difference_kind kind;
} lines[] = {
	{"codecs", "The codecs", DIFFERENCE_CODEC},
	{"c=", "The media address", DIFFERENCE_MEDIA_ADDRESS},
	{"a=crypto", "The SRTP key line", DIFFERENCE_ENCRYPTION},
	{"a=fingerprint", "The DTLS fingerprint line", DIFFERENCE_ENCRYPTION},
	{"a=setup", "The DTLS role", DIFFERENCE_ENCRYPTION},
	{"m=", "The media line", DIFFERENCE_SDP},
	{"direction", "The direction of media", DIFFERENCE_SDP},
	{"a=ptime", "The packet time", DIFFERENCE_SDP},
	{"", "The session description", DIFFERENCE_SDP},
};

static bool codecs_differ(const json_t *findings, const struct place *p)
{
	const json_t *f;
	size_t i;

	json_array_foreach(findings, i, f)
	{
		const char *words =
			json_string_value(json_object_get(f, "words"));

		if (json_integer_value(json_object_get(f, "kind")) ==
			    DIFFERENCE_CODEC &&
		    words && strcmp(words, p->label) == 0)
			return true;
	}
	return false;
}

/* "c=IN IP4 192.0.2.1" is shown as its address. */
static const char *line_shown(const struct place *p, const char *value)
{
	const char *address = value ? strrchr(value, ' ') : NULL;

	return address && strcmp(p->name, "c=") == 0 ? address + 1
						     : shown(value);
}

static int add_line(json_t *findings, const struct place *p,
		    const struct tally_change *c)
{
	const char *before = line_shown(p, c->before);
	const char *after = line_shown(p, c->after);
	char same[3 * KEY_BYTES], text[4 * SHOWN], share[80], word[60];
	struct finding f = {
		.kind = DIFFERENCE_SDP,
		.explains = EXPLAINS_MEDIA | EXPLAINS_TEXT,
		.words = p->label,
		.same_as = same,
		.role = p->role,
		.before = before,
		.after = after,
		.weight = 1,
		.single = c->single,
	};

	if (!before && !after)
		return 0;
	/* parameters of a codec change with the codec */
	if (strncmp(p->name, "a=fmtp", 6) == 0 && codecs_differ(findings, p))
		return 0;
	str_print(word, sizeof(word), "The line %.40s", p->name);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (strcmp(lines[i].name, p->name) == 0) {
			f.kind = lines[i].kind;
			str_copy(word, sizeof(word), lines[i].word);
		}
	str_print(same, sizeof(same), "%s|%s|%s", p->name, before ? before : "",
		  after ? after : "");
	change_text(before, after, text);
	share_text(c, share);
	return finding_add(findings, &f, "%s in the %s that %.40s %s %s%s.",
			   word, p->label, p->role, p->dir, text, share);
}

/* ---- all ---- */

static int compare_key(json_t *findings, const char *key,
		       const struct difference_run *before,
		       const struct difference_run *after)
{
	json_t *a = json_object(), *b = json_object();
	struct tally_change change = {.before = NULL};
	struct place p;
	int found = a && b ? 0 : -ENOMEM;

	place_of(&p, key);
	if (!found)
		found = differs(before, after, key, &p, a, b, &change);
	if (found == 1)
		found = strcmp(p.part, "sdp") == 0
				? add_line(findings, &p, &change)
				: add_header(findings, &p, &change);
	json_decref(a);
	json_decref(b);
	return found;
}

/* Codecs first: what follows from them is left out. */
static bool in_pass(const char *key, int pass)
{
	char part[KEY_BYTES], name[KEY_BYTES];
	bool sdp, codecs;

	key_part(key, 1, part);
	sdp = strcmp(part, "sdp") == 0;
	if (!sdp && strcmp(part, "header") != 0)
		return false;
	codecs = sdp && strcmp(key_part(key, 5, name), "codecs") == 0;
	return codecs == (pass == 0);
}

int compare_contents(json_t *findings, const struct difference_run *before,
		     const struct difference_run *after)
{
	const char *key;
	json_t *tally;
	int err = 0;

	for (int pass = 0; pass < 2; pass++) {
		json_object_foreach(before->tallies, key, tally)
		{
			if (!err && in_pass(key, pass))
				err = compare_key(findings, key, before, after);
		}
		json_object_foreach(after->tallies, key, tally)
		{
			if (!err && in_pass(key, pass) &&
			    !json_object_get(before->tallies, key))
				err = compare_key(findings, key, before, after);
		}
	}
	return err;
}

#include "sip/body/presence.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"
#include "base/str.h"

#define NAMESPACE "urn:ietf:params:xml:ns:pidf"
#define DEPTH_MAX 16

/* The state of parsing a document, tag by tag. */
struct xml {
	struct span rest;
	struct span open[DEPTH_MAX]; /* names of the open elements */
	size_t depth;
	bool begun;         /* the root was seen */
	struct span prefix; /* of NAMESPACE, with its colon */
	struct sip_presence presence;
};

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.p);
}

static bool starts(struct span s, const char *text)
{
	size_t len = strlen(text);

	return span_len(s) >= len && memcmp(s.p, text, len) == 0;
}

static bool same(struct span a, struct span b)
{
	return span_len(a) == span_len(b) && memcmp(a.p, b.p, span_len(a)) == 0;
}

static bool is(struct span s, const char *text)
{
	return same(s, (struct span){text, text + strlen(text)});
}

/* Where text stands in s, or NULL. */
static const char *find(struct span s, const char *text)
{
	size_t len = strlen(text);

	for (; span_len(s) >= len; s.p++) {
		if (memcmp(s.p, text, len) == 0)
			return s.p;
	}
	return NULL;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span trim(struct span s)
{
	while (s.p < s.end && blank(*s.p))
		s.p++;
	while (s.p < s.end && blank(s.end[-1]))
		s.end--;
	return s;
}

/* Skip a declaration, comment or CDATA section. @return 1: skipped; 0: there is
 * none; -EBADMSG */
static int skip_other(struct xml *x)
{
	static const char *const others[][2] = {
		{"<!--", "-->"}, {"<?", "?>"}, {"<![CDATA[", "]]>"}};
	const char *end;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!starts(x->rest, others[i][0]))
			continue;
		end = find(x->rest, others[i][1]);
		if (!end)
			return -EBADMSG;
		x->rest.p = end + strlen(others[i][1]);
		return 1;
	}
	return starts(x->rest, "<!") ? -EBADMSG : 0;
}

/* Parse the next attribute of a tag: name="value" or name='value'. */
static int attribute_next(struct span *rest, struct span *ret_name,
			  struct span *ret_value)
{
	const char *end;

	*rest = trim(*rest);
	if (rest->p == rest->end)
		return 0;
	ret_name->p = rest->p;
	while (rest->p < rest->end && *rest->p != '=' && !blank(*rest->p))
		rest->p++;
	ret_name->end = rest->p;
	*rest = trim(*rest);
	if (rest->p == rest->end || *rest->p++ != '=')
		return -EBADMSG;
	*rest = trim(*rest);
	if (rest->p == rest->end || (*rest->p != '"' && *rest->p != '\''))
		return -EBADMSG;
	end = memchr(rest->p + 1, *rest->p, span_len(*rest) - 1);
	if (!end || span_len(*ret_name) == 0)
		return -EBADMSG;
	*ret_value = (struct span){rest->p + 1, end};
	rest->p = end + 1;
	return 1;
}

/* Decode an entity such as &amp;; only ASCII characters are known. */
static char entity_read(struct span *s)
{
	static const struct {
		const char *name;
		char c;
	} known[] = {
		{"&amp;", '&'},  {"&lt;", '<'},    {"&gt;", '>'},
		{"&quot;", '"'}, {"&apos;", '\''},
	};
	const char *end = memchr(s->p, ';', span_len(*s));

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!starts(*s, known[i].name))
			continue;
		s->p += strlen(known[i].name);
		return known[i].c;
	}
	s->p = end ? end + 1 : s->end;
	return '?';
}

/* Copy text as one line, cut between UTF-8 characters. */
static void text_copy(char *dst, size_t size, struct span s)
{
	size_t used = 0;

	s = trim(s);
	while (s.p < s.end && used < size - 1) {
		char c = *s.p;

		if (c == '&') {
			c = entity_read(&s);
		} else {
			s.p++;
			if ((unsigned char)c < 0x20 || c == 0x7f)
				c = ' ';
		}
		dst[used++] = c;
	}
	if (s.p < s.end && ((unsigned char)*s.p & 0xc0) == 0x80) {
		while (used > 0 &&
		       ((unsigned char)dst[used - 1] & 0xc0) == 0x80)
			used--;
		used -= used > 0;
	}
	dst[used] = '\0';
}

static int root_take(struct xml *x, struct span name, struct span attributes)
{
	struct span key, value;
	const char *colon = memchr(name.p, ':', span_len(name));
	bool found = false;
	int r;

	x->prefix = (struct span){name.p, colon ? colon + 1 : name.p};
	while ((r = attribute_next(&attributes, &key, &value)) > 0) {
		size_t prefix_len = colon ? (size_t)(colon - name.p) : 0;

		if (is(key, "entity"))
			text_copy(x->presence.entity,
				  sizeof(x->presence.entity), value);
		if (!is(value, NAMESPACE))
			continue;
		if (colon)
			found |= starts(key, "xmlns:") &&
				 span_len(key) == 6 + prefix_len &&
				 memcmp(key.p + 6, name.p, prefix_len) == 0;
		else
			found |= is(key, "xmlns");
	}
	if (r < 0 || !found)
		return -EBADMSG;
	name.p = x->prefix.end;
	return is(name, "presence") ? 0 : -EBADMSG;
}

/* Whether the element at this depth is one of PIDF with this name. */
static bool at(const struct xml *x, size_t depth, const char *name)
{
	struct span s;
	size_t skip = span_len(x->prefix);

	if (depth >= x->depth)
		return false;
	s = x->open[depth];
	if (span_len(s) < skip || memcmp(s.p, x->prefix.p, skip) != 0)
		return false;
	s.p += skip;
	return is(s, name);
}

static void content_take(struct xml *x, struct span text)
{
	struct sip_presence *p = &x->presence;
	bool in_tuple = at(x, 1, "tuple");

	text = trim(text);
	if (x->depth == 4 && in_tuple && at(x, 2, "status") &&
	    at(x, 3, "basic")) {
		p->has_basic |= is(text, "open") || is(text, "closed");
		p->open |= is(text, "open");
	}
	if (!p->note[0] && ((x->depth == 2 && at(x, 1, "note")) ||
			    (x->depth == 3 && in_tuple && at(x, 2, "note"))))
		text_copy(p->note, sizeof(p->note), text);
}

static int element_begin(struct xml *x, struct span tag)
{
	bool empty = tag.p < tag.end && tag.end[-1] == '/';
	struct span name;

	if (empty)
		tag.end--;
	name.p = tag.p;
	while (tag.p < tag.end && !blank(*tag.p))
		tag.p++;
	name.end = tag.p;
	if (span_len(name) == 0 || x->depth == DEPTH_MAX)
		return -EBADMSG;
	/* there is one root, and no element after it */
	if (x->depth == 0 && (x->begun || root_take(x, name, tag)))
		return -EBADMSG;
	x->begun = true;
	x->open[x->depth++] = name;
	x->presence.tuples += x->depth == 2 && at(x, 1, "tuple");
	x->depth -= empty;
	return 0;
}

/* Find the end of a tag; the value of an attribute may contain '>'. */
static const char *tag_end(struct span s)
{
	char quote = '\0';

	for (; s.p < s.end; s.p++) {
		if (quote && *s.p == quote)
			quote = '\0';
		else if (!quote && (*s.p == '"' || *s.p == '\''))
			quote = *s.p;
		else if (!quote && *s.p == '>')
			return s.p;
	}
	return NULL;
}

/* Parse a tag; x->rest begins with '<'. */
static int tag_take(struct xml *x)
{
	struct span tag;
	int r = skip_other(x);

	if (r)
		return r < 0 ? r : 0;
	tag.p = x->rest.p + 1;
	tag.end = tag_end((struct span){tag.p, x->rest.end});
	if (!tag.end)
		return -EBADMSG;
	x->rest.p = tag.end + 1;
	if (tag.p < tag.end && *tag.p == '/') {
		tag.p++;
		if (x->depth == 0 || !same(trim(tag), x->open[x->depth - 1]))
			return -EBADMSG;
		x->depth--;
		return 0;
	}
	return element_begin(x, tag);
}

int presence_parse(struct sip_presence *ret, const char *text, size_t len)
{
	struct xml x = {.rest = {text, text + len}};

	if (starts(x.rest, "\xef\xbb\xbf"))
		x.rest.p += 3;
	while (x.rest.p < x.rest.end) {
		const char *tag = memchr(x.rest.p, '<', span_len(x.rest));
		struct span before = {x.rest.p, tag ? tag : x.rest.end};

		if (x.depth > 0)
			content_take(&x, before);
		else if (span_len(trim(before)))
			return -EBADMSG;
		x.rest.p = before.end;
		if (tag && tag_take(&x))
			return -EBADMSG;
	}
	if (!x.begun || x.depth > 0)
		return -EBADMSG;
	*ret = x.presence;
	return 0;
}

/* @return false: it did not fit */
static bool escape(char *dst, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text; text++) {
		const char *word = *text == '&'   ? "&amp;"
				   : *text == '<' ? "&lt;"
				   : *text == '>' ? "&gt;"
				   : *text == '"' ? "&quot;"
						  : NULL;
		size_t len = word ? strlen(word) : 1;

		if (len >= size - used)
			return false;
		memcpy(dst + used, word ? word : text, len);
		used += len;
	}
	dst[used] = '\0';
	return true;
}

int presence_print(char *dst, size_t size, const struct sip_presence *p,
		   const char *aor)
{
	char note[5 * SIP_PRESENCE_NOTE_BYTES + 1];
	char who[5 * SIP_ENTITY_BYTES];
	const char *colon = strchr(aor, ':');

	if (!escape(who, sizeof(who), colon ? colon + 1 : aor) ||
	    !escape(note, sizeof(note), p->note))
		return -ENAMETOOLONG;
	return str_print(dst, size,
			 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n"
			 "<presence xmlns=\"" NAMESPACE "\" entity=\"pres:%s\">"
			 "<tuple id=\"offhook\"><status><basic>%s</basic>"
			 "</status><contact>sip:%s</contact>%s%s%s</tuple>"
			 "</presence>\r\n",
			 who, p->open ? "open" : "closed", who,
			 note[0] ? "<note>" : "", note,
			 note[0] ? "</note>" : "");
}

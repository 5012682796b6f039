#include "sip/body/mwi.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/span.h"
#include "base/str.h"

static const char *const contexts[SIP_MWI_CONTEXTS] = {
	"voice-message",      "video-message", "fax-message", "pager-message",
	"multimedia-message", "text-message",  "none",
};

static struct span trim(struct span s)
{
	while (s.p < s.end && (*s.p == ' ' || *s.p == '\t'))
		s.p++;
	while (s.p < s.end && strchr(" \t\r", s.end[-1]))
		s.end--;
	return s;
}

/* "2/8" */
static bool pair_read(struct span s, uint32_t *ret_fresh, uint32_t *ret_old)
{
	struct span fresh = trim(span_until(&s, '/'));
	uint64_t a, b;

	if (!span_number(fresh, UINT32_MAX, &a) ||
	    !span_number(trim(s), UINT32_MAX, &b))
		return false;
	*ret_fresh = (uint32_t)a;
	*ret_old = (uint32_t)b;
	return true;
}

/* "2/8 (0/2)" */
static bool count_read(struct sip_mwi_count *count, struct span s)
{
	struct span all = span_until(&s, '(');

	*count = (struct sip_mwi_count){.known = true};
	if (!pair_read(all, &count->fresh, &count->old))
		return false;
	s = trim(s);
	if (s.p == s.end)
		return all.end == s.end || all.end[0] != '(';
	if (s.end[-1] != ')')
		return false;
	s.end--;
	count->has_urgent = true;
	return pair_read(s, &count->urgent_fresh, &count->urgent_old);
}

static bool line_read(struct sip_mwi *mwi, bool *waiting, struct span line)
{
	struct span name = trim(span_until(&line, ':'));
	struct span value = trim(line);

	if (span_is(name, "Messages-Waiting")) {
		*waiting = true;
		mwi->waiting = span_is(value, "yes");
		return mwi->waiting || span_is(value, "no");
	}
	/* Messages-Waiting must be the first line (RFC 3842 section 5.2). */
	if (!*waiting || name.p == name.end)
		return false;
	if (span_is(name, "Message-Account"))
		return !mwi->account[0] &&
		       span_copy(mwi->account, sizeof(mwi->account), value);
	for (size_t i = 0; i < SIP_MWI_CONTEXTS; i++) {
		if (span_is(name, contexts[i]))
			return count_read(&mwi->counts[i], value);
	}
	return true; /* an unknown context: ignored */
}

int mwi_parse(struct sip_mwi *ret, const char *text, size_t len)
{
	struct span rest = {text, text + len};
	struct sip_mwi mwi = {.waiting = false};
	bool waiting = false;

	while (rest.p < rest.end) {
		struct span line = trim(span_until(&rest, '\n'));

		if (line.p == line.end)
			break; /* headers of messages follow */
		if (!line_read(&mwi, &waiting, line))
			return -EBADMSG;
	}
	if (!waiting)
		return -EBADMSG;
	*ret = mwi;
	return 0;
}

/* Write the counts. @return bytes written, at most size - 1 */
static size_t counts_print(char *dst, size_t size, const struct sip_mwi *mwi,
			   const char *before, const char *between,
			   const char *behind)
{
	size_t used = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < SIP_MWI_CONTEXTS; i++) {
		const struct sip_mwi_count *c = &mwi->counts[i];
		char urgent[32] = "";

		if (!c->known)
			continue;
		if (c->has_urgent)
			str_print(urgent, sizeof(urgent), " (%u/%u)",
				  c->urgent_fresh, c->urgent_old);
		(void)str_print(dst + used, size - used, "%s%s%s%u/%u%s%s",
				before, contexts[i], between, c->fresh, c->old,
				urgent, behind);
		used += strlen(dst + used);
	}
	return used;
}

int mwi_print(char *dst, size_t size, const struct sip_mwi *mwi)
{
	char counts[SIP_MWI_BODY_BYTES];

	/* large enough for all contexts with all digits */
	counts_print(counts, sizeof(counts), mwi, "", ": ", "\r\n");
	return str_print(dst, size, "Messages-Waiting: %s\r\n%s%s%s%s",
			 mwi->waiting ? "yes" : "no",
			 mwi->account[0] ? "Message-Account: " : "",
			 mwi->account, mwi->account[0] ? "\r\n" : "", counts);
}

void mwi_text(char *dst, size_t size, const struct sip_mwi *mwi)
{
	char counts[SIP_MWI_BODY_BYTES];

	counts_print(counts, sizeof(counts), mwi, ", ", " ", "");
	(void)str_print(dst, size, "%s%s", mwi->waiting ? "yes" : "no", counts);
}

#include "control/import/call_summary.h"

#include <errno.h>
#include <string.h>

static bool initial_invite(const struct dialogs_message *m)
{
	return !m->status && m->of_caller && !m->within &&
	       strcmp(m->method, "INVITE") == 0;
}

static bool has_credentials(const char *text)
{
	char value[SIP_TEXT_BYTES];

	return sip_text_header(text, "Authorization", 0, value) ||
	       sip_text_header(text, "Proxy-Authorization", 0, value) ||
	       strcasestr(text, "\nAuthorization:") ||
	       strcasestr(text, "\nProxy-Authorization:");
}

static bool answers_initial(const struct call_summary *s,
			    const struct dialogs_message *m)
{
	return m->status && m->of_caller && s->invite &&
	       m->cseq <= s->invite->cseq && strcmp(m->method, "INVITE") == 0;
}

static void summarise_message(struct call_summary *s,
			      const struct dialogs_message *m)
{
	bool bye = !m->status && strcmp(m->method, "BYE") == 0;
	bool cancel =
		!m->status && m->of_caller && strcmp(m->method, "CANCEL") == 0;

	if (initial_invite(m)) {
		s->first = s->first ? s->first : m;
		s->invite_ns = s->invite_ns ? s->invite_ns : m->ns;
		s->challenged |= has_credentials(m->text);
		if (!s->final || s->final->status >= 300)
			s->invite = m;
	} else if (answers_initial(s, m)) {
		if (m->status >= 180 && m->status < 200 && !s->ringing_ns)
			s->ringing_ns = m->ns;
		if (m->status >= 200 && (!s->final || s->final->status >= 300))
			s->final = m;
		if (s->final == m && m->status < 300)
			s->established_ns = m->ns;
	} else if ((bye || (cancel && !s->established_ns)) && !s->ended) {
		s->ended = true;
		s->by_caller = m->of_caller;
		s->end_ns = m->ns;
	}
}

static void read_user(const char *uri, struct sip_name *ret)
{
	char text[SIP_TEXT_BYTES];
	size_t n = strcspn(uri, " \r\n");

	if (n < sizeof(text)) {
		memcpy(text, uri, n);
		text[n] = '\0';
		sip_text_name(text, ret);
	}
}

int call_summary_make(const struct dialogs_call *call, struct call_summary *ret)
{
	struct call_summary s = {.invite_ns = 0};
	char from[SIP_TEXT_BYTES];
	const char *uri;

	for (size_t i = 0; i < call->messages; i++)
		summarise_message(&s, &call->message[i]);
	if (!s.invite || !sip_text_header(s.invite->text, "From", 0, from) ||
	    !sip_text_name(from, &s.from))
		return -EBADMSG;
	/* contacts of a 3xx come from the target */
	uri = strchr(s.first->text, ' ');
	if (uri)
		read_user(uri + 1, &s.to);
	if (!s.to.host[0] && !s.to.user[0])
		return -EBADMSG;
	if (!s.ended)
		s.end_ns = call->last_ns;
	s.code = s.final ? s.final->status : 0;
	*ret = s;
	return 0;
}

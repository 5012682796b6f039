#include "control/import/custom_headers.h"

#include <string.h>
#include <strings.h>

#include "control/import/script.h"

#define HEADERS_MAX 32 /* docs/reference/parameters.md, custom_headers */

/* Header fields that Offhook makes itself, or that only meant something in the
 * captured call. Those with a note change what the target sees. */
static const struct {
	const char *name;
	bool note;
} own_headers[] = {
	{"Via", false},
	{"From", false},
	{"To", false},
	{"Call-ID", false},
	{"CSeq", false},
	{"Contact", false},
	{"Max-Forwards", false},
	{"Record-Route", false},
	{"Route", true},
	{"Allow", false},
	{"Allow-Events", false},
	{"Supported", false},
	{"Require", false},
	{"Proxy-Require", true},
	{"User-Agent", false},
	{"Session-Expires", false},
	{"Min-SE", false},
	{"Authorization", false},
	{"Expires", false},
	{"Proxy-Authorization", false},
	{"Date", false},
	{"Timestamp", false},
	{"Accept", false},
	{"MIME-Version", false},
	{"Replaces", true},
	{"Session-ID", true},
	{"Join", true},
	{"Identity", true},
	{"Identity-Info", true},
	{"In-Reply-To", true},
	{"Referred-By", true},
	{"Target-Dialog", true},
	{"P-Charging-Vector", true},
	{"Accept-Encoding", false},
};

struct header_list {
	struct anonymise *anonymise;
	json_t *notes;
	json_t *list;
};

static bool take_header(const char *name, const char *value, void *arg)
{
	struct header_list *p = arg;
	char text[SIP_TEXT_BYTES];

	if (strncasecmp(name, "Content-", 8) == 0)
		return true;
	for (size_t i = 0; i < sizeof(own_headers) / sizeof(own_headers[0]);
	     i++) {
		if (strcasecmp(name, own_headers[i].name) != 0)
			continue;
		if (own_headers[i].note)
			script_note(p->notes, "Header %s is not carried over.",
				    own_headers[i].name);
		return true;
	}
	if (!value || !value[0] || strstr(value, "{{") ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
			      "UVWXYZ0123456789-_.")] ||
	    !name[0] || json_array_size(p->list) == HEADERS_MAX) {
		script_note(p->notes,
			    "A header field is not carried over: its name, its "
			    "value or the number of fields is above a limit.");
		return true;
	}
	anonymise_free_text(p->anonymise, value, text);
	json_array_append_new(p->list,
			      json_pack("[sss]", name, text, "invites"));
	return true;
}

json_t *custom_headers_make(const char *text, struct anonymise *anonymise,
			    json_t *notes)
{
	struct header_list p = {anonymise, notes, json_array()};

	if (p.list)
		sip_text_headers(text, take_header, &p);
	return p.list;
}

#include "control/server/report/error_page.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/report/page_policy.h"
#include "control/server/request/markup.h"
#include "control/web/assets.h"
#include "control/wire/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PAGE_BYTES_MAX (1u << 18) /* template, path and detail, escaped */
#define CAUSE_BYTES    1024       /* a detail (request.h) as a sentence */

/* What a user can do about a status. */
struct remedy {
	int status; /* 0: all others */
	const char *heading;
	const char *advice;
	const char *link;
	const char *address; /* "": the same page again, with its query */
};

static const struct remedy remedies[] = {
	{401, "Sign in first",
	 "Sign in with a user of this controller. A program sends an API key.",
	 "Sign in", "/login"},
	{403, "You may not open this page",
	 "Ask an administrator for the right, or sign in as another user.",
	 "Your account", "/account"},
	{404, "There is nothing here",
	 "The record was deleted, or the address is not complete.",
	 "Go to the overview", "/"},
	{405, "This address is not a page",
	 "It is an address for programs. The pages use it themselves.",
	 "Go to the overview", "/"},
	{429, "Too many requests", "Wait a few seconds, then try again.",
	 "Try again", ""},
	{500, "The controller made an error",
	 "Try again. If it happens again, look for the request in the "
	 "controller's log.",
	 "Try again", ""},
	{503, "The controller cannot answer now",
	 "It is overloaded, or it stops. Wait a few seconds, then try again.",
	 "Try again", ""},
	{0, "This request cannot be answered", "Check the address.",
	 "Go to the overview", "/"},
};

/* Lists that have what a path below them may have meant. */
static const struct {
	const char *prefix;
	const char *link;
	const char *address;
} lists[] = {
	{"/run/details/", "See all runs", "/runs"},
	{"/runs/", "See all runs", "/runs"},
	{"/tests/", "See all tests", "/tests"},
	{"/run/project/", "See all projects", "/projects"},
};

static struct remedy remedy_of(int status, const char *path)
{
	struct remedy found;
	size_t i = 0;

	while (remedies[i].status != status && remedies[i].status != 0)
		i++;
	found = remedies[i];
	if (status == 404 && strncmp(path, "/kiosk/", 7) == 0) {
		found.advice = "The link was revoked, or it is not complete. "
			       "Ask for a new one where you got it.";
		found.link = "Sign in";
		found.address = "/login";
		return found;
	}
	for (i = 0; status == 404 && i < sizeof(lists) / sizeof(*lists); i++) {
		if (strncmp(path, lists[i].prefix, strlen(lists[i].prefix)))
			continue;
		found.link = lists[i].link;
		found.address = lists[i].address;
	}
	return found;
}

struct field {
	const char *mark; /* in error.html */
	const char *text;
};

/* Copy the template with its marks replaced. Marks begin with '@'; texts that
 * were put in are not searched. */
static int fill(struct buf *b, const struct web_asset *page,
		const struct field *fields, size_t count)
{
	const char *at = page->data;
	int err = 0;

	while (at < page->end && !err) {
		size_t left = (size_t)(page->end - at), i = 0, plain;
		const char *next;

		for (; i < count; i++) {
			if (left >= strlen(fields[i].mark) &&
			    memcmp(at, fields[i].mark,
				   strlen(fields[i].mark)) == 0)
				break;
		}
		if (i < count) {
			err = markup_add(b, fields[i].text);
			at += strlen(fields[i].mark);
			continue;
		}
		next = memchr(at + 1, '@', left - 1);
		plain = next ? (size_t)(next - at) : left;
		err = buf_add(b, at, plain);
		at += plain;
	}
	return err;
}

int error_page(const json_t *problem, struct reply *rep)
{
	int status =
		(int)json_integer_value(json_object_get(problem, "status"));
	const char *path = text_of(problem, "instance");
	struct remedy remedy = remedy_of(status, path);
	char answer[64], cause[CAUSE_BYTES];
	const struct field fields[] = {
		{"@HEADING@", remedy.heading},
		{"@CAUSE@", cause},
		{"@ADVICE@", remedy.advice},
		{"@LINK@", remedy.link},
		{"@ADDRESS@", remedy.address},
		{"@ANSWER@", answer},
		{"@PATH@", path},
		{"@REQUEST@", text_of(problem, "request_id")},
	};
	struct web_asset page;
	struct buf text;
	int err;

	str_print(answer, sizeof(answer), "%d %s", status,
		  text_of(problem, "title"));
	str_print(cause, sizeof(cause), "%s.", text_of(problem, "detail"));
	cause[0] = (char)toupper((unsigned char)cause[0]);
	if (!web_asset_find("error.html", &page))
		return -ENOENT;
	buf_init(&text, PAGE_BYTES_MAX);
	err = fill(&text, &page, fields, sizeof(fields) / sizeof(*fields));
	if (!err) {
		reply_document(rep, &text, page.content_type);
		reply_header(rep, "Content-Security-Policy", PAGE_POLICY);
		reply_header(rep, "Referrer-Policy", "no-referrer");
	}
	buf_release(&text);
	return err;
}

#include "control/server/request/request.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/request/request_data.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_BYTES 768 /* fits a pointer and the list of all measures */

#define REPAIR_S 3600 /* what is damaged is repaired by hand */

void reply_json(struct reply *rep, unsigned status, json_t *body)
{
	if (!body)
		body = json_object();
	if (json_is_object(body))
		json_object_set_new(body, "status", json_integer(status));
	json_decref(rep->body);
	rep->status = status;
	rep->body = body;
	rep->content_type = NULL;
}

unsigned reply_status(const struct reply *rep)
{
	return rep->status;
}

void reply_document(struct reply *rep, struct buf *text,
		    const char *content_type)
{
	rep->status = 200;
	rep->text = text->data;
	rep->text_len = text->used;
	rep->content_type = content_type;
	buf_init(text, text->ceiling);
}

void reply_text(struct reply *rep, struct buf *text)
{
	reply_document(rep, text, NULL);
}

void reply_fd(struct reply *rep, int fd, uint64_t len, const char *content_type)
{
	rep->status = 200;
	rep->has_file = true;
	rep->file_fd = fd;
	rep->file_len = len;
	rep->content_type = content_type;
}

void reply_empty(struct reply *rep, unsigned status)
{
	json_decref(rep->body);
	rep->body = NULL;
	rep->status = status;
}

static const char *title_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{410, "Gone"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{422, "Unprocessable Content"},
		{426, "Upgrade Required"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if (titles[i].status == status)
			return titles[i].title;
	}
	return "Error";
}

__attribute__((format(printf, 3, 0))) static void problem(struct reply *rep,
							  unsigned status,
							  const char *fmt,
							  va_list args)
{
	char detail[DETAIL_BYTES];

	vsnprintf(detail, sizeof(detail), fmt, args);
	json_decref(rep->body);
	rep->status = status;
	rep->content_type = "application/problem+json";
	str_utf8_repair(detail); /* a client's text may have been cut */
	rep->body = json_pack("{s:s, s:s, s:i, s:s, s:s, s:[]}", "type",
			      "about:blank", "title", title_of(status),
			      "status", (int)status, "detail", detail, "error",
			      detail, "errors");
}

void reply_problem(struct reply *rep, unsigned status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	problem(rep, status, fmt, args);
	va_end(args);
}

void reply_unavailable(struct reply *rep, unsigned retry_s, const char *fmt,
		       ...)
{
	va_list args;

	va_start(args, fmt);
	problem(rep, 503, fmt, args);
	va_end(args);
	reply_header(rep, "Retry-After", "%u", retry_s);
}

void reply_pointer(struct reply *rep, const char *pointer, const char *fmt, ...)
{
	json_t *errors = json_object_get(rep->body, "errors");
	char detail[DETAIL_BYTES];
	va_list args;

	if (json_array_size(errors) >= REPLY_ERRORS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	str_utf8_repair(detail);
	json_array_append_new(errors,
			      json_pack("{s:o, s:s}", "pointer",
					wire_text(pointer), "detail", detail));
}

size_t reply_error_count(const struct reply *rep)
{
	return json_array_size(json_object_get(rep->body, "errors"));
}

void reply_member(struct reply *rep, const char *name, json_t *value)
{
	(void)json_object_set(rep->body, name, value);
}

void reply_header(struct reply *rep, const char *name, const char *fmt, ...)
{
	char value[REPLY_HEADER_BYTES];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(value) ||
	    strpbrk(value, "\r\n") != NULL) {
		log_error("response header %s left out: not one line of text",
			  name);
		return;
	}
	if (!rep->headers)
		rep->headers = json_object();
	json_object_set_new(rep->headers, name, json_string(value));
}

void reply_database_error(struct reply *rep, int err)
{
	if (err == -ENOSPC)
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the disk of the database is full: nothing "
				  "was changed; repeat it when there is room");
	else
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the database does not answer");
}

void reply_file_error(struct reply *rep, int err)
{
	if (err == -ENOSPC || err == -EDQUOT)
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the disk of the controller is full: nothing "
				  "was kept; repeat it when there is room");
	else
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the file could not be written");
}

void reply_store_error(struct reply *rep, int err, const char *what)
{
	switch (err) {
	case -ENOENT:
		reply_problem(rep, 404, "there is no such %s", what);
		break;
	case -EEXIST:
		reply_problem(rep, 409, "another %s has this name", what);
		break;
	case -ENOTEMPTY:
		reply_problem(rep, 409,
			      "the %s is in use, or names something that is "
			      "gone",
			      what);
		break;
	case -ENOMEM:
		reply_problem(rep, 500, "out of memory");
		break;
	case -EBADMSG:
		reply_unavailable(rep, REPAIR_S,
				  "what is stored of the %s is damaged: the "
				  "log of the controller has more",
				  what);
		break;
	default:
		reply_database_error(rep, err);
		break;
	}
}

void reply_park(struct reply *rep, enum parked kind, uint32_t ms)
{
	rep->park_kind = kind;
	rep->park_ms = ms;
}

void reply_successor(struct reply *rep, int64_t id)
{
	rep->successor_id = id;
}

#include "control/server/http/library.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/request/request.h"
#include "control/server/request/request_data.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

typedef enum MHD_Result queue_h(struct MHD_Connection *, unsigned,
				struct MHD_Response *);

static const char *detail_of(unsigned status)
{
	switch (status) {
	case MHD_HTTP_BAD_REQUEST:
		return "this is no HTTP request that can be understood";
	case MHD_HTTP_CONTENT_TOO_LARGE:
		return "the length of the body is above all limits";
	case MHD_HTTP_URI_TOO_LONG:
		return "the address is longer than 32 KiB";
	case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
		return "the headers are larger than 32 KiB together";
	case MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED:
		return "the version of HTTP must be 1.0 or 1.1";
	default:
		return "the request could not be read";
	}
}

static void add_headers(struct MHD_Response *response, const char *request_id)
{
	static const char *const others[][2] = {
		{"Content-Type", "application/problem+json"},
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-store"},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		MHD_add_response_header(response, others[i][0], others[i][1]);
	MHD_add_response_header(response, REQUEST_ID_HEADER, request_id);
}

/* libmicrohttpd 0.9.75 writes the head of its response to a wrong
 * Content-Length twice: parse_connection_headers() queues the response, and its
 * caller builds it again. With an empty body the client has a complete response
 * before the second head, and the connection closes. 1.0 writes one head. */
static bool is_headed_twice(struct MHD_Connection *connection)
{
#if MHD_VERSION >= 0x01000000
	(void)connection;
	return false;
#else
	const char *text = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, "Content-Length");
	uint64_t len;

	return text && str_to_u64(text, UINT64_MAX, &len) != 0;
#endif
}

/* @return NULL: out of memory */
static struct MHD_Response *problem(struct MHD_Connection *connection,
				    unsigned status)
{
	struct MHD_Response *response = NULL;
	char request_id[UUID_TEXT_BYTES];
	struct reply rep = {.status = 0};
	char *text;

	uuid_make(request_id);
	reply_problem(&rep, status, "%s", detail_of(status));
	/* the request target was not parsed */
	json_object_set_new(rep.body, "instance", json_string("/"));
	json_object_set_new(rep.body, "request_id", json_string(request_id));
	text = json_dumps(rep.body, JSON_COMPACT);
	json_decref(rep.body);
	if (text && is_headed_twice(connection))
		text[0] = '\0';
	if (text)
		response = MHD_create_response_from_buffer(
			strlen(text), text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return NULL;
	}
	add_headers(response, request_id);
	log_debug("http: %u without a route, request=%s", status, request_id);
	return response;
}

/* Overrides the library's function, for this program and for the library. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection,
				   unsigned int status_code,
				   struct MHD_Response *response)
{
	struct MHD_Response *made = NULL;
	enum MHD_Result result;
	union {
		void *found;
		queue_h *queue;
	} real = {.found = dlsym(RTLD_NEXT, "MHD_queue_response")};

	if (!real.found)
		return MHD_NO; /* cannot be: we link with it */
	if (!MHD_get_response_header(response, REQUEST_ID_HEADER))
		made = problem(connection, status_code);
	result = real.queue(connection, status_code, made ? made : response);
	if (made)
		MHD_destroy_response(made); /* the connection has its own */
	return result;
}

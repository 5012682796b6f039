/**
 * Inside the HTTP client: shared by http_client.c (libcurl on our loop) and
 * http_client_request.c (one request).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_LINK_HTTP_CLIENT_INTERNAL_H
#define OFFHOOK_AGENT_LINK_HTTP_CLIENT_INTERNAL_H

#include "agent/link/backoff.h"
#include "agent/link/http_client.h"
#include "base/buf.h"

#include <curl/curl.h>

struct http_client {
	struct event_loop *loop;
	CURLM *multi;
	struct curl_slist *headers;
	struct curl_slist *file_headers;
	struct event_loop_timer timer; /* libcurl's */
	char *base_url;
	char *ca_file;
	char *userpwd;
};

struct http_client_call {
	struct http_client *http;
	struct http_client_call **slot;
	CURL *easy;
	char *url;
	char method[8];
	char *body;
	int file_fd; /* the body; -1: it is not a file */
	curl_off_t file_len;
	int timeout_s;
	bool once;
	bool anonymous;
	bool raw;
	bool overflow; /* the answer was above its ceiling */
	bool added;    /* to the multi handle */
	struct backoff backoff;
	struct event_loop_timer retry;
	struct buf answer;
	char error[CURL_ERROR_SIZE];
	int64_t sent_ns;
	http_answer_h *answer_h;
	void *arg;
};

/** libcurl is through with a try: another follows, or the handler is called and
 * the call released. */
void http_client_call_done(struct http_client_call *call, CURLcode code);

#endif

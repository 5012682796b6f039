/**
 * Inside the HTTP client: shared by http.c (libcurl on our loop) and
 * http_call.c (one request).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_HTTP_INTERNAL_H
#define OFFHOOK_AGENT_HTTP_INTERNAL_H

#include "agent/backoff.h"
#include "agent/http.h"
#include "base/buf.h"

#include <curl/curl.h>

struct http {
	struct loop *loop;
	CURLM *multi;
	struct curl_slist *headers;
	struct curl_slist *file_headers;
	struct loop_timer timer; /* libcurl's */
	char *base_url;
	char *ca_file;
	char *userpwd;
};

struct http_call {
	struct http *http;
	struct http_call **slot;
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
	struct loop_timer retry;
	struct buf answer;
	char error[CURL_ERROR_SIZE];
	int64_t sent_ns;
	http_answer_h *answer_h;
	void *arg;
};

/** libcurl is through with a try: another follows, or the handler is called and
 * the call released. */
void http_call_done(struct http_call *call, CURLcode code);

#endif

/**
 * The agent's HTTP client: JSON requests to one controller over libcurl's
 * multi interface, with the rules for retries: after network errors, 408, 429,
 * 5xx, and a 403 about the agent's TLS certificate, a request is sent again without end
 * (docs/internals/agent.md); every other answer is final.
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_LINK_HTTP_CLIENT_H
#define OFFHOOK_AGENT_LINK_HTTP_CLIENT_H

#include "base/event_loop.h"

#include <jansson.h>

/* Answers above it are refused: a job with 10 000 accounts is below 4 MiB. */
#define HTTP_ANSWER_BYTES (8u << 20)

/* Waiting times between tries: exponential windows of 2 to 60 s, and a random time
 * from 1 s to the window ("full jitter"), so that agents that lost the controller at
 * the same time do not all return at the same time. */
#define HTTP_BACKOFF_MIN_MS 1000
#define HTTP_BACKOFF_MAX_MS 60000

struct http_client;
struct http_client_call;

struct http_client_params {
	const char *base_url; /* controller, without /api/v2 */
	const char *ca_file;  /* NULL: the system's, or key_pin alone */
	const char *key_pin;  /* of the controller's certificate; NULL: any */
	const char *certificate_file; /* PEM, of this agent; NULL: none */
	/* PEM; of use with certificate_file only. While everybody can read it,
	 * no connection is opened: each try fails and says so */
	const char *key_file;
};

/**
 * Make a client of one controller.
 * @param loop    borrowed for the client's life
 * @param params  borrowed during the call
 * @return 0; -ENOMEM; -EIO libcurl cannot start
 */
int http_client_new(struct http_client **ret, struct event_loop *loop,
		    const struct http_client_params *params);
/** Free the client; no call may be under way. @return NULL */
struct http_client *http_client_free(struct http_client *http);

/** Credentials for all later requests (copied). @return 0; -ENOMEM */
int http_client_authorize(struct http_client *http, const char *user,
			  const char *secret);

/* A final answer. */
struct http_client_answer {
	int status;       /* 0: no answer; only of a request with once */
	json_t *body;     /* borrowed; NULL: none, or no JSON object */
	const char *text; /* status and detail, for a log; never NULL */
	const char *data; /* with raw_bytes and status 200; else NULL */
	size_t len;
	int64_t sent_ns; /* monotonic, of the try that was answered */
	int64_t done_ns;
};
/** The call is released when the handler returns. */
typedef void(http_answer_h)(const struct http_client_answer *answer, void *arg);

struct http_client_request {
	const char *method;
	const char *path;   /* below /api/v2/agent, copied */
	const json_t *body; /* object, encoded here; NULL: none */
	/* instead of body: an object as JSON text, sent as it is; taken over,
	 * also on failure, to be released by free() */
	char *body_text;
	/* instead of body: the path of a file that is sent as it is; it must
	 * not change until the answer */
	const char *file;
	/* ceiling of an answer that is not JSON; a longer one is a final error.
	 * 0: the answer is JSON of at most HTTP_ANSWER_BYTES */
	size_t raw_bytes;
	int timeout_s;  /* of one try */
	bool once;      /* do not try again */
	bool anonymous; /* without credentials */
	http_answer_h *answer_h;
	void *arg;
};

/**
 * Start a request. The handler is never called before this returns.
 * @param ret  in/out slot of the owner: set now, set to NULL before the
 *             handler is called; must be NULL
 * @return 0; -ENOMEM; -EIO; -errno the file cannot be read
 */
int http_client_send(struct http_client_call **ret, struct http_client *http,
		     const struct http_client_request *request);

/** Cancel a call and set its slot to NULL; the handler is not called. A slot
 * that is NULL is allowed. */
void http_client_cancel(struct http_client_call **call);

/**
 * The time to wait after a failed try.
 * Thread: any; no state.
 * @param failures  tries that failed before this one
 * @param random    uniform over 32 bits
 * @return ms, HTTP_BACKOFF_MIN_MS..HTTP_BACKOFF_MAX_MS
 */
int64_t http_client_backoff_ms(unsigned failures, uint32_t random);

/** Whether a request with this status is sent again. */
bool http_client_is_transient(int status);

#endif

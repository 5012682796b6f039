#include "agent/link/http_client.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wiped_memory.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct http_client {
	struct event_loop *loop;
	CURLM *multi;
	struct curl_slist *headers;
	struct curl_slist *file_headers;
	struct event_loop_timer timer; /* libcurl's */
	char *base_url;
	char *ca_file;
	char *key_pin;
	char *certificate_file;
	char *key_file; /* with certificate_file only */
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
	bool overflow;     /* the answer was above its ceiling */
	bool added;        /* to the multi handle */
	bool key_exposed;  /* everybody can read key_file: no connection */
	unsigned failures; /* tries that failed */
	struct event_loop_timer retry;
	struct buf answer;
	char error[CURL_ERROR_SIZE];
	int64_t sent_ns;
	http_answer_h *answer_h;
	void *arg;
};

/* One request: its tries, and what its answer means. */

#define CONNECT_TIMEOUT_MS 10000L
#define PATH_PREFIX        "/api/v2/agent"

int64_t http_client_backoff_ms(unsigned failures, uint32_t random)
{
	int64_t window = HTTP_BACKOFF_MAX_MS;

	if (failures < 5) /* 2, 4, 8, 16, 32 s, then 60 s */
		window = (int64_t)2000 << failures;
	return HTTP_BACKOFF_MIN_MS +
	       (int64_t)random * (window - HTTP_BACKOFF_MIN_MS) / UINT32_MAX;
}

bool http_client_is_transient(int status)
{
	return status == 0 || status == 408 || status == 429 || status >= 500;
}

static void call_free(struct http_client_call *call)
{
	*call->slot = NULL;
	event_loop_disarm(call->http->loop, &call->retry);
	if (call->added)
		curl_multi_remove_handle(call->http->multi, call->easy);
	if (call->easy)
		curl_easy_cleanup(call->easy);
	buf_release(&call->answer);
	if (call->file_fd >= 0)
		close(call->file_fd);
	wiped_free(call->body);
	free(call->url);
	free(call);
}

void http_client_cancel(struct http_client_call **call)
{
	if (*call)
		call_free(*call);
}

/* ---- an answer ---- */

/* What to do about a failure of TLS; "" for others. */
static const char *tls_remedy(CURLcode code)
{
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return ": the controller's certificate is not accepted; it must "
		       "be valid, made for the name in controller = ..., and "
		       "signed by an authority of ca_file (without: of this "
		       "system); or set controller_fingerprint";
	if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
		return ": the controller's certificate has another fingerprint "
		       "than this agent was told: is this another controller, "
		       "or was its certificate replaced? Compare `offhook-"
		       "controller fingerprint`, and set controller_fingerprint";
	if (code == CURLE_SSL_CACERT_BADFILE)
		return ": ca_file must be a readable PEM file";
	if (code == CURLE_SSL_CERTPROBLEM)
		return ": certificate_file and key_file must be readable PEM "
		       "files of one certificate and its key, without a "
		       "passphrase";
	if (code == CURLE_SSL_CONNECT_ERROR)
		return ": no TLS connection; does the controller speak TLS on "
		       "this port?";
	return "";
}

/* @return the member `certificate` of a 403: why the controller refuses this agent's
 * certificate (docs/internals/wire.md); NULL: the answer is about something else */
static const char *refused_certificate(int status, const json_t *body)
{
	return status == 403
		       ? json_string_value(json_object_get(body, "certificate"))
		       : NULL;
}

static const char *certificate_remedy(const struct http_client *http,
				      const char *reason)
{
	if (strcmp(reason, "missing") == 0)
		return http->certificate_file
			       ? ": certificate_file has none that this "
				 "controller's TLS asks for"
			       : ": set certificate_file and key_file";
	if (strcmp(reason, "expired") == 0)
		return ": renew certificate_file; it is read again at the next "
		       "try";
	if (strcmp(reason, "early") == 0)
		return ": are the clocks of both hosts right?";
	if (strcmp(reason, "other-name") == 0)
		return ": the common name or a DNS name of certificate_file "
		       "must be the name of this agent (name = ...; at the "
		       "controller: GET /agents)";
	return ": have certificate_file signed by an authority of "
	       "agent_ca_file, for clients";
}

static void describe(const struct http_client_call *call, int status,
		     CURLcode code, json_t *body, char *text, size_t size)
{
	const char *reason = refused_certificate(status, body);
	const char *detail = NULL;

	if (body) {
		detail = json_string_value(json_object_get(body, "detail"));
		if (!detail)
			detail = json_string_value(
				json_object_get(body, "error"));
	}
	if (status == 0)
		snprintf(text, size, "%s%s", call->error, tls_remedy(code));
	else if (detail)
		snprintf(text, size, "%d: %s%s", status, detail,
			 reason ? certificate_remedy(call->http, reason) : "");
	else
		snprintf(text, size, "%d", status);
}

/* Retry-After of the answer, at most the longest backoff. */
static int64_t retry_after_ms(CURL *easy)
{
	curl_off_t s = 0;

	if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &s) != CURLE_OK ||
	    s < 0)
		return 0;
	return s >= HTTP_BACKOFF_MAX_MS / 1000 ? HTTP_BACKOFF_MAX_MS : s * 1000;
}

static void call_again(struct http_client_call *call, const char *text)
{
	int64_t asked = retry_after_ms(call->easy), delay;
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_mono_ns();
	delay = http_client_backoff_ms(call->failures, random);
	if (call->failures < UINT_MAX)
		call->failures++;
	if (delay < asked)
		delay = asked;
	/* one log line at each doubling of the failures, not one a try */
	if ((call->failures & (call->failures - 1)) == 0)
		log_warning("%s %s: %s; try %u in %.1f s", call->method,
			    call->url, text, call->failures + 1,
			    (double)delay / 1000);
	event_loop_arm(call->http->loop, &call->retry, delay);
}

/* libcurl says that it could not connect also where the system gave it no
 * socket. */
static void explain(struct http_client_call *call, CURLcode code)
{
	long err = 0;

	curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &err);
	if (call->key_exposed)
		snprintf(call->error, sizeof(call->error),
			 "%s can be read by everybody: chmod o= it",
			 call->http->key_file);
	else if (code == CURLE_COULDNT_CONNECT &&
		 (err == EMFILE || err == ENFILE))
		snprintf(call->error, sizeof(call->error),
			 "no socket for it: %s", strerror((int)err));
	else if (!call->error[0])
		snprintf(call->error, sizeof(call->error), "%s",
			 curl_easy_strerror(code));
}

/* libcurl has ended a try: start another one, or call the handler and release
 * the call. */
static void http_client_call_done(struct http_client_call *call, CURLcode code)
{
	long status = 0;
	json_t *body = NULL;
	char text[512];

	curl_multi_remove_handle(call->http->multi, call->easy);
	call->added = false;
	if (code == CURLE_OK)
		curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	else
		explain(call, code);
	if (call->raw && call->overflow)
		status = 413; /* final: it would be as long the next time */
	if (status && call->answer.used && !(call->raw && status == 200))
		body = json_loadb(call->answer.data, call->answer.used, 0,
				  NULL);
	describe(call, (int)status, code, body, text, sizeof(text));
	if (call->raw && call->overflow)
		snprintf(text, sizeof(text), "it is longer than %zu MiB",
			 call->answer.ceiling >> 20);
	if ((http_client_is_transient((int)status) ||
	     refused_certificate((int)status, body)) &&
	    !call->once) {
		call_again(call, text);
	} else {
		struct buf raw = {.data = NULL};

		if (call->raw && status == 200)
			raw = call->answer;
		struct http_client_answer answer = {.status = (int)status,
						    .body = body,
						    .text = text,
						    .data = raw.data,
						    .len = raw.used,
						    .sent_ns = call->sent_ns,
						    .done_ns = clock_mono_ns()};
		http_answer_h *handler = call->answer_h;
		void *arg = call->arg;

		if (raw.data)
			buf_init(&call->answer, 0);
		call_free(call);
		handler(&answer, arg);
		buf_release(&raw);
	}
	json_decref(body);
}

/* ---- a request ---- */

static size_t on_answer_bytes(char *data, size_t size, size_t count, void *arg)
{
	struct http_client_call *call = arg;

	int err = buf_add(&call->answer, data, size * count);

	if (err == 0)
		return size * count;
	call->overflow = err == -EMSGSIZE;
	return 0;
}

static size_t on_file_wanted(char *data, size_t size, size_t count, void *arg)
{
	struct http_client_call *call = arg;
	ssize_t n;

	do {
		n = read(call->file_fd, data, size * count);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static int on_file_seek(void *arg, curl_off_t offset, int origin)
{
	struct http_client_call *call = arg;

	return lseek(call->file_fd, (off_t)offset, origin) < 0
		       ? CURL_SEEKFUNC_FAIL
		       : CURL_SEEKFUNC_OK;
}

static CURLcode call_prepare_file(struct http_client_call *call)
{
	CURL *easy = call->easy;
	CURLcode err = CURLE_OK;

#define SET(option, value) \
	err = err ? err : curl_easy_setopt(easy, option, value)
	SET(CURLOPT_UPLOAD, 1L);
	SET(CURLOPT_READFUNCTION, on_file_wanted);
	SET(CURLOPT_READDATA, call);
	SET(CURLOPT_SEEKFUNCTION, on_file_seek);
	SET(CURLOPT_SEEKDATA, call);
	SET(CURLOPT_INFILESIZE_LARGE, call->file_len);
	/* a large file waits for a 100, as it may be refused */
	SET(CURLOPT_HTTPHEADER, call->http->file_headers);
#undef SET
	return err;
}

/* libcurl reads key_file for each new connection, so it is looked at then. */
static curl_socket_t on_open_socket(void *arg, curlsocktype purpose,
				    struct curl_sockaddr *to)
{
	struct http_client_call *call = arg;
	struct stat st;

	(void)purpose;
	call->key_exposed =
		stat(call->http->key_file, &st) == 0 && (st.st_mode & S_IRWXO);
	if (call->key_exposed)
		return CURL_SOCKET_BAD;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Without this, OpenSSL's buffers keep the last answer in plain text, and with it the
 * passwords of a job. */
static CURLcode on_tls_context(CURL *easy, void *context, void *arg)
{
	(void)easy;
	(void)arg;
	SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT);
	return CURLE_OK;
}

static CURLcode call_prepare(struct http_client_call *call)
{
	const struct http_client *http = call->http;
	CURL *easy = call->easy;
	CURLcode err = CURLE_OK;

#define SET(option, value) \
	err = err ? err : curl_easy_setopt(easy, option, value)
	SET(CURLOPT_URL, call->url);
	SET(CURLOPT_CUSTOMREQUEST, call->method);
	if (call->body) {
		SET(CURLOPT_POSTFIELDS, call->body);
		SET(CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)strlen(call->body));
	}
	if (call->file_fd < 0)
		SET(CURLOPT_HTTPHEADER, http->headers);
	else
		err = err ? err : call_prepare_file(call);
	SET(CURLOPT_USERAGENT, "offhook-agent/" OFFHOOK_VERSION);
	SET(CURLOPT_WRITEFUNCTION, on_answer_bytes);
	SET(CURLOPT_WRITEDATA, call);
	SET(CURLOPT_PRIVATE, call);
	SET(CURLOPT_ERRORBUFFER, call->error);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)call->timeout_s * 1000);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
	/* libcurl would use the authorities it has read for a day */
	SET(CURLOPT_CA_CACHE_TIMEOUT, 0L);
	if (http->ca_file) {
		SET(CURLOPT_CAINFO, http->ca_file);
		SET(CURLOPT_CAPATH, NULL); /* instead of the system's */
	}
	if (http->key_pin) {
		/* the key tells who it is; an authority is asked if one is given */
		SET(CURLOPT_PINNEDPUBLICKEY, http->key_pin);
		SET(CURLOPT_SSL_VERIFYPEER, http->ca_file ? 1L : 0L);
		SET(CURLOPT_SSL_VERIFYHOST, http->ca_file ? 2L : 0L);
	}
	if (http->certificate_file) {
		SET(CURLOPT_SSLCERT, http->certificate_file);
		SET(CURLOPT_SSLKEY, http->key_file);
		SET(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
		SET(CURLOPT_OPENSOCKETDATA, call);
	}
	if (http->userpwd && !call->anonymous) {
		SET(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		SET(CURLOPT_USERPWD, http->userpwd);
	}
#undef SET
	return err;
}

static int call_try(struct http_client_call *call)
{
	buf_release(&call->answer);
	call->overflow = false;
	call->key_exposed = false;
	call->error[0] = '\0';
	call->sent_ns = clock_mono_ns();
	if (call->file_fd >= 0 && lseek(call->file_fd, 0, SEEK_SET) < 0)
		return -errno;
	if (curl_multi_add_handle(call->http->multi, call->easy) != CURLM_OK)
		return -EIO;
	call->added = true;
	return 0;
}

static void on_retry(void *arg)
{
	struct http_client_call *call = arg;

	/* libcurl fails only without memory: try again later */
	if (call_try(call) != 0)
		call_again(call, "out of memory");
}

static struct http_client_call *call_new(
	struct http_client *http, const struct http_client_request *request)
{
	struct http_client_call *call = calloc(1, sizeof(*call));
	int n;

	if (!call) {
		free(request->body_text);
		return NULL;
	}
	call->http = http;
	call->file_fd = -1;
	call->easy = curl_easy_init();
	n = asprintf(&call->url, "%s" PATH_PREFIX "%s", http->base_url,
		     request->path);
	if (n < 0)
		call->url = NULL;
	call->body = request->body ? json_dumps(request->body, JSON_COMPACT)
				   : request->body_text;
	call->raw = request->raw_bytes > 0;
	snprintf(call->method, sizeof(call->method), "%s", request->method);
	call->timeout_s = request->timeout_s;
	call->once = request->once;
	call->anonymous = request->anonymous;
	call->answer_h = request->answer_h;
	call->arg = request->arg;
	call->retry.due_h = on_retry;
	call->retry.arg = call;
	buf_init_secret(&call->answer,
			call->raw ? request->raw_bytes : HTTP_ANSWER_BYTES);
	return call;
}

static int call_open_file(struct http_client_call *call, const char *path)
{
	struct stat st;

	call->file_fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (call->file_fd < 0 || fstat(call->file_fd, &st))
		return -errno;
	call->file_len = (curl_off_t)st.st_size;
	return 0;
}

int http_client_send(struct http_client_call **ret, struct http_client *http,
		     const struct http_client_request *request)
{
	struct http_client_call *call = call_new(http, request);
	int err = -ENOMEM;

	if (!call)
		return -ENOMEM;
	call->slot = ret;
	*ret = call;
	if (call->easy && call->url && (call->body || !request->body))
		err = request->file ? call_open_file(call, request->file) : 0;
	if (err == 0)
		err = call_prepare(call) == CURLE_OK ? call_try(call) : -ENOMEM;
	if (err)
		call_free(call);
	return err;
}

/* The client: libcurl's sockets and timer on our loop. */

/* A socket of libcurl's. */
struct watch {
	struct event_loop_fd fd;
	struct http_client *http;
};

static void check_done(struct http_client *http)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(http->multi, &left))) {
		struct http_client_call *call = NULL;
		CURLcode code = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
				  (char **)&call);
		http_client_call_done(call,
				      code); /* msg is gone from here on */
	}
}

static void on_socket_ready(uint32_t events, void *arg)
{
	struct watch *watch = arg;
	struct http_client *http = watch->http;
	int flags = 0, running;

	if (events & EPOLLIN)
		flags |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		flags |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		flags |= CURL_CSELECT_ERR;
	curl_multi_socket_action(http->multi, watch->fd.fd, flags, &running);
	check_done(http);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
		     void *socket_arg)
{
	struct http_client *http = arg;
	struct watch *watch = socket_arg;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch) {
			event_loop_unwatch(http->loop, &watch->fd);
			curl_multi_assign(http->multi, fd, NULL);
			free(watch);
		}
		return 0;
	}
	if (!watch) {
		watch = calloc(1, sizeof(*watch));
		if (!watch)
			return -1;
		watch->http = http;
		watch->fd.fd = fd;
		watch->fd.ready_h = on_socket_ready;
		watch->fd.arg = watch;
		curl_multi_assign(http->multi, fd, watch);
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	return event_loop_watch(http->loop, &watch->fd, events) ? -1 : 0;
}

static void on_timer_due(void *arg)
{
	struct http_client *http = arg;
	int running;

	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	check_done(http);
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_client *http = arg;

	(void)multi;
	if (timeout_ms < 0)
		event_loop_disarm(http->loop, &http->timer);
	else
		event_loop_arm(http->loop, &http->timer, timeout_ms);
	return 0;
}

int http_client_authorize(struct http_client *http, const char *user,
			  const char *secret)
{
	char *userpwd;

	if (asprintf(&userpwd, "%s:%s", user, secret) < 0)
		return -ENOMEM;
	wiped_free(http->userpwd);
	http->userpwd = userpwd;
	return 0;
}

static char *copy_base_url(const char *url)
{
	char *copy = strdup(url);
	size_t len = copy ? strlen(copy) : 0;

	while (len > 0 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

int http_client_new(struct http_client **ret, struct event_loop *loop,
		    const struct http_client_params *params)
{
	struct http_client *http;

	/* what it receives and sends has the passwords of jobs */
	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiped_free,
				 wiped_realloc, strdup, calloc) != CURLE_OK)
		return -EIO;
	http = calloc(1, sizeof(*http));
	if (!http)
		goto fail;
	http->loop = loop;
	http->timer.due_h = on_timer_due;
	http->timer.arg = http;
	http->base_url = copy_base_url(params->base_url);
	http->ca_file = params->ca_file ? strdup(params->ca_file) : NULL;
	http->key_pin = params->key_pin ? strdup(params->key_pin) : NULL;
	if (params->certificate_file) {
		http->certificate_file = strdup(params->certificate_file);
		http->key_file = strdup(params->key_file);
	}
	http->multi = curl_multi_init();
	http->headers =
		curl_slist_append(NULL, "Content-Type: application/json");
	http->file_headers = curl_slist_append(
		NULL, "Content-Type: application/octet-stream");
	/* send the body at once, without waiting for a 100 */
	if (http->headers)
		curl_slist_append(http->headers, "Expect:");
	if (!http->base_url || (params->ca_file && !http->ca_file) ||
	    (params->key_pin && !http->key_pin) ||
	    (params->certificate_file &&
	     (!http->certificate_file || !http->key_file)) ||
	    !http->multi || !http->headers || !http->file_headers)
		goto fail;
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	*ret = http;
	return 0;
fail:
	http_client_free(http);
	return -ENOMEM;
}

struct http_client *http_client_free(struct http_client *http)
{
	if (http) {
		if (http->multi)
			curl_multi_cleanup(http->multi);
		event_loop_disarm(http->loop, &http->timer);
		curl_slist_free_all(http->headers);
		curl_slist_free_all(http->file_headers);
		wiped_free(http->userpwd);
		free(http->base_url);
		free(http->ca_file);
		free(http->key_pin);
		free(http->certificate_file);
		free(http->key_file);
		free(http);
	}
	curl_global_cleanup();
	return NULL;
}

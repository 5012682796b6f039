#include "control/cli/client/remote.h"

#include "base/buf.h"
#include "base/certificate.h"
#include "base/loopback.h"
#include "base/str.h"
#include "control/wire/json.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define API_PATH         "/api/v2"
#define ANSWER_BYTES_MAX (64u << 20)
#define BODY_BYTES_MAX   (1u << 20)
#define HEADER_BYTES     200
#define PATH_BYTES       1024
#define URL_BYTES        2048
#define TIMEOUT_S        30L
#define FILE_TIMEOUT_S   600L

struct remote {
	CURL *easy;
	char *key;
	char url[URL_BYTES]; /* with API_PATH */
	long status;         /* of the last response; 0: none */
	bool is_unknown;     /* the last certificate was not accepted */
	int stop_fd;         /* -1: none */
};

/* What is sent. */
struct request {
	const char *method;
	const char *path;
	const char *if_match;   /* NULL: none */
	const char *key;        /* Idempotency-Key; NULL: none */
	const char *media_type; /* NULL: a form */
	const void *data;       /* NULL: no body */
	size_t len;
};

static int check(const struct remote_params *p,
		 char reason[static REMOTE_REASON_BYTES])
{
	const char *url = p->url;

	reason[0] = '\0';
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		str_print(reason, REMOTE_REASON_BYTES,
			  "%s is no URL such as https://offhook.example.net",
			  url);
	else if (!strchr(p->key, ':'))
		str_print(reason, REMOTE_REASON_BYTES,
			  "the key must be PUBLIC:SECRET");
	else if (strlen(url) > URL_BYTES - 20)
		str_print(reason, REMOTE_REASON_BYTES, "the URL is too long");
	else if (p->fingerprint && !key_pin_valid(p->fingerprint))
		str_print(reason, REMOTE_REASON_BYTES,
			  "%s is no fingerprint as `offhook-controller "
			  "fingerprint` prints it",
			  p->fingerprint);
	else if (!p->plain_http && loopback_url_exposed(url))
		str_print(reason, REMOTE_REASON_BYTES,
			  "%s: the key would be sent over plain HTTP to "
			  "another host; use https://, or set "
			  "OFFHOOK_PLAIN_HTTP=1",
			  url);
	return reason[0] ? -EINVAL : 0;
}

/* How the controller is known. */
static void set_trust(CURL *easy, const struct remote_params *p)
{
	if (p->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, p->ca_file);
	if (!p->fingerprint)
		return;
	curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, p->fingerprint);
	if (!p->ca_file) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

int remote_new(struct remote **ret, const struct remote_params *params,
	       char reason[static REMOTE_REASON_BYTES])
{
	const char *url = params->url;
	size_t len = strlen(url);
	struct remote *r;

	if (check(params, reason))
		return -EINVAL;
	while (len && url[len - 1] == '/')
		len--;
	r = calloc(1, sizeof(*r));
	if (!r || curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(r);
		return -ENOMEM;
	}
	str_print(r->url, sizeof(r->url), "%.*s" API_PATH, (int)len, url);
	r->stop_fd = -1;
	r->key = strdup(params->key);
	r->easy = curl_easy_init();
	if (!r->key || !r->easy) {
		remote_free(r);
		return -ENOMEM;
	}
	set_trust(r->easy, params);
	curl_easy_setopt(r->easy, CURLOPT_USERPWD, r->key);
	curl_easy_setopt(r->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, TIMEOUT_S);
	curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r->easy, CURLOPT_USERAGENT,
			 "offhook/" OFFHOOK_VERSION);
	*ret = r;
	return 0;
}

struct remote *remote_free(struct remote *r)
{
	if (r) {
		curl_easy_cleanup(r->easy);
		if (r->key)
			explicit_bzero(r->key, strlen(r->key));
		free(r->key);
		free(r);
		curl_global_cleanup();
	}
	return NULL;
}

static size_t discard(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)arg;
	return size * count;
}

/* The certificate of the last connection. @return NULL: there was none */
static const char *peer_certificate(CURL *easy)
{
	static const char label[] = "Cert:";
	struct curl_certinfo *info = NULL;

	if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK ||
	    !info || info->num_of_certs < 1)
		return NULL;
	for (struct curl_slist *s = info->certinfo[0]; s; s = s->next)
		if (strncmp(s->data, label, sizeof(label) - 1) == 0)
			return s->data + sizeof(label) - 1;
	return NULL;
}

int remote_fingerprint(char ret[static KEY_PIN_BYTES], const char *url,
		       char reason[static REMOTE_REASON_BYTES])
{
	struct certificate_facts facts;
	const char *pem;
	CURLcode code;
	CURL *easy = curl_easy_init();
	int err = -EIO;

	if (!easy) {
		str_print(reason, REMOTE_REASON_BYTES, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, TIMEOUT_S);
	curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
	curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	code = curl_easy_perform(easy);
	pem = peer_certificate(easy);
	if (pem)
		err = certificate_facts(&facts, pem);
	if (err)
		str_print(reason, REMOTE_REASON_BYTES, "%s: %s", url,
			  code ? curl_easy_strerror(code)
			       : "its certificate cannot be read");
	else
		str_copy(ret, KEY_PIN_BYTES, facts.key_pin);
	curl_easy_cleanup(easy);
	return err;
}

bool remote_is_unknown(const struct remote *r)
{
	return r->is_unknown;
}

void remote_answer_release(struct remote_answer *a)
{
	json_decref(a->body);
	*a = (struct remote_answer){.status = 0};
}

/* The body of an answer. */
struct taken {
	struct buf text;
	bool too_long;
};

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
	struct taken *taken = arg;
	int err = buf_add(&taken->text, data, size * count);

	taken->too_long = err == -EMSGSIZE;
	return err ? 0 : size * count;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
	static const char name[] = "etag:";
	struct remote_answer *a = arg;
	size_t len = size * count, from = sizeof(name) - 1;

	if (len > from && strncasecmp(data, name, from) == 0) {
		while (from < len && isspace((unsigned char)data[from]))
			from++;
		while (len > from && isspace((unsigned char)data[len - 1]))
			len--;
		str_print(a->etag, sizeof(a->etag), "%.*s", (int)(len - from),
			  data + from);
	}
	return size * count;
}

/* Encode fields as application/x-www-form-urlencoded: name=value&... */
static int encode(CURL *easy, json_t *fields, struct buf *body)
{
	const char *name;
	json_t *value;
	int err = 0;

	json_object_foreach(fields, name, value)
	{
		const char *text = json_string_value(value);
		char *left = curl_easy_escape(easy, name, 0);
		char *right = curl_easy_escape(easy, text,
					       (int)json_string_length(value));

		if (!err)
			err = left && right ? buf_print(body, "%s%s=%s",
							body->used ? "&" : "",
							left, right)
					    : -ENOMEM;
		curl_free(left);
		curl_free(right);
	}
	return err ? err : buf_print(body, "%s", "");
}

/* Write the reason of an API error: its `errors` entries, else its `detail`. */
static void explain(const struct remote_answer *a,
		    char reason[static REMOTE_REASON_BYTES])
{
	json_t *error, *errors = json_object_get(a->body, "errors");
	const char *detail =
		json_string_value(json_object_get(a->body, "detail"));
	size_t i;
	int used = 0;

	json_array_foreach(errors, i, error)
	{
		const char *pointer =
			json_string_value(json_object_get(error, "pointer"));
		int len;

		if (used >= REMOTE_REASON_BYTES - 1)
			break;
		len = str_print(
			reason + used, REMOTE_REASON_BYTES - (size_t)used,
			"%s%s%s%s", used ? "\n" : "",
			/* of a member "/name", of a parameter "name" */
			pointer ? pointer + (pointer[0] == '/') : "",
			pointer && pointer[0] ? ": " : "",
			json_string_value(json_object_get(error, "detail")));
		used = len < 0 ? REMOTE_REASON_BYTES : used + len;
	}
	if (!used)
		str_print(reason, REMOTE_REASON_BYTES,
			  "the controller answered %ld: %s", a->status,
			  detail ? detail : "nothing that is understood");
}

static int read_answer(struct remote *r, const struct buf *text,
		       struct remote_answer *a,
		       char reason[static REMOTE_REASON_BYTES])
{
	a->status = r->status;
	if (text->used)
		a->body = json_loadb(text->data, text->used, 0, NULL);
	if (a->status >= 200 && a->status < 300 && (a->body || !text->used))
		return 0;
	explain(a, reason);
	return a->status >= 300 ? -EINVAL : -EIO;
}

/* Called by curl about once a second. @return 1: give up the request */
static int is_stopped(void *arg, curl_off_t down_total, curl_off_t down,
		      curl_off_t up_total, curl_off_t up)
{
	const struct remote *r = arg;
	struct pollfd stop = {.fd = r->stop_fd, .events = POLLIN};

	(void)down_total;
	(void)down;
	(void)up_total;
	(void)up;
	return poll(&stop, 1, 0) > 0;
}

void remote_stop_on(struct remote *r, int fd)
{
	r->stop_fd = fd;
	curl_easy_setopt(r->easy, CURLOPT_XFERINFOFUNCTION, is_stopped);
	curl_easy_setopt(r->easy, CURLOPT_XFERINFODATA, r);
	curl_easy_setopt(r->easy, CURLOPT_NOPROGRESS, fd < 0 ? 1L : 0L);
}

/* Send the request that is set up, and read its response. */
static int perform(struct remote *r, struct remote_answer *a,
		   char reason[static REMOTE_REASON_BYTES])
{
	char error[CURL_ERROR_SIZE] = "";
	CURLcode code;

	curl_easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(r->easy, CURLOPT_HEADERDATA, a);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, error);
	r->status = 0;
	code = curl_easy_perform(r->easy);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, NULL);
	r->is_unknown = code == CURLE_PEER_FAILED_VERIFICATION;
	if (!code)
		curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->status);
	if (!code)
		return 0;
	str_print(
		reason, REMOTE_REASON_BYTES, "%s: %s%s", r->url,
		error[0] ? error : curl_easy_strerror(code),
		code == CURLE_SSL_PINNEDPUBKEYNOTMATCH
			? "; its certificate was replaced, or this is another "
			  "host: compare `offhook-controller fingerprint`"
			: "");
	return code == CURLE_ABORTED_BY_CALLBACK ? -EINTR : -EIO;
}

/* Add a header field, if it has a value. @return 0; -ENOMEM */
static int add_header(struct curl_slist **headers, const char *name,
		      const char *value)
{
	struct curl_slist *longer;
	char header[HEADER_BYTES];

	if (!value)
		return 0;
	str_print(header, sizeof(header), "%s: %s", name, value);
	longer = curl_slist_append(*headers, header);
	if (!longer)
		return -ENOMEM;
	*headers = longer;
	return 0;
}

static int transfer(struct remote *r, const struct request *q,
		    struct remote_answer *a,
		    char reason[static REMOTE_REASON_BYTES])
{
	struct curl_slist *headers = NULL;
	struct taken taken = {.too_long = false};
	int err;

	if (add_header(&headers, "If-Match", q->if_match) ||
	    add_header(&headers, "Content-Type", q->media_type) ||
	    add_header(&headers, "Idempotency-Key", q->key)) {
		curl_slist_free_all(headers);
		return -ENOMEM;
	}
	buf_init(&taken.text, ANSWER_BYTES_MAX);
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, q->data);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)q->len);
	if (!q->data)
		curl_easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, &taken);
	err = perform(r, a, reason);
	if (taken.too_long) {
		curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->status);
		str_print(reason, REMOTE_REASON_BYTES,
			  "the answer is longer than %u MiB",
			  ANSWER_BYTES_MAX >> 20);
		err = -EMSGSIZE;
	}
	if (!err)
		err = read_answer(r, &taken.text, a, reason);
	curl_slist_free_all(headers);
	buf_release(&taken.text);
	return err;
}

/* Make a URL. Paths below /run/ are the controller's pages, all others the API.
 * @return -ENAMETOOLONG */
static int url_of(const struct remote *r, const char *path,
		  char url[static URL_BYTES + PATH_BYTES])
{
	size_t api = strncmp(path, "/run/", 5) == 0 ? strlen(API_PATH) : 0;

	return str_print(url, URL_BYTES + PATH_BYTES, "%.*s%s",
			 (int)(strlen(r->url) - api), r->url, path);
}

static int request(struct remote *r, const struct request *q,
		   struct remote_answer *ret,
		   char reason[static REMOTE_REASON_BYTES])
{
	struct remote_answer answer = {.status = 0};
	char url[URL_BYTES + PATH_BYTES];
	int err;

	reason[0] = '\0';
	if (url_of(r, q->path, url) < 0) {
		str_print(reason, REMOTE_REASON_BYTES, "the path is too long");
		return -EINVAL;
	}
	curl_easy_setopt(r->easy, CURLOPT_URL, url);
	curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, q->method);
	err = transfer(r, q, &answer, reason);
	if (err) {
		if (!reason[0])
			str_print(reason, REMOTE_REASON_BYTES, "%s",
				  strerror(-err));
		remote_answer_release(&answer);
		return err;
	}
	*ret = answer;
	return 0;
}

/* @param q  without a body */
static int request_form(struct remote *r, struct request *q, json_t *fields,
			struct remote_answer *ret,
			char reason[static REMOTE_REASON_BYTES])
{
	struct buf body;
	int err = 0;

	buf_init(&body, BODY_BYTES_MAX);
	if (fields)
		err = encode(r->easy, fields, &body);
	q->data = body.data;
	q->len = body.used;
	if (!err)
		err = request(r, q, ret, reason);
	else
		str_print(reason, REMOTE_REASON_BYTES, "%s",
			  err == -EMSGSIZE ? "the request is larger than 1 MiB"
					   : strerror(-err));
	buf_release(&body);
	return err;
}

int remote_call(struct remote *r, const char *method, const char *path,
		json_t *fields, const char *if_match, struct remote_answer *ret,
		char reason[static REMOTE_REASON_BYTES])
{
	struct request q = {
		.method = method, .path = path, .if_match = if_match};

	return request_form(r, &q, fields, ret, reason);
}

int remote_start(struct remote *r, const char *path, json_t *fields,
		 const char *key, struct remote_answer *ret,
		 char reason[static REMOTE_REASON_BYTES])
{
	struct request q = {.method = "POST", .path = path, .key = key};

	return request_form(r, &q, fields, ret, reason);
}

int remote_call_json(struct remote *r, const char *method, const char *path,
		     const json_t *body, const char *if_match,
		     struct remote_answer *ret,
		     char reason[static REMOTE_REASON_BYTES])
{
	struct request q = {
		.method = method, .path = path, .if_match = if_match};
	char *text = NULL;
	int err;

	if (body) {
		text = json_dumps(body, JSON_COMPACT | JSON_DECIMAL);
		if (!text) {
			str_print(reason, REMOTE_REASON_BYTES, "%s",
				  strerror(ENOMEM));
			return -ENOMEM;
		}
		q.media_type = "application/json";
		q.data = text;
		q.len = strlen(text);
	}
	err = request(r, &q, ret, reason);
	if (text)
		explicit_bzero(text, q.len); /* it may hold a password */
	free(text);
	return err;
}

long remote_status(const struct remote *r)
{
	return r->status;
}

bool remote_is_passing(const struct remote *r)
{
	long status = remote_status(r);

	return status == 0 || status == 429 || status == 502 || status == 503 ||
	       status == 504;
}

long remote_retry_after(const struct remote *r)
{
	curl_off_t seconds = 0;

	if (!r->status)
		return 0;
	curl_easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &seconds);
	return (long)seconds;
}

bool remote_was_sent(const struct remote *r)
{
	long bytes = 0;

	curl_easy_getinfo(r->easy, CURLINFO_REQUEST_SIZE, &bytes);
	return bytes > 0;
}

int remote_escape(struct remote *r, const char *text, char *dst, size_t size)
{
	char *escaped = curl_easy_escape(r->easy, text, 0);
	int err = -ENOMEM;

	if (escaped)
		err = str_copy(dst, size, escaped);
	curl_free(escaped);
	return err;
}

/* Receives a body: the file, or the text of an error response. */
struct saving {
	CURL *easy;
	FILE *file;
	struct taken taken;
};

static bool is_success(CURL *easy)
{
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static size_t take_file(char *data, size_t size, size_t count, void *arg)
{
	struct saving *s = arg;

	if (!is_success(s->easy))
		return take_body(data, size, count, &s->taken);
	return fwrite(data, 1, size * count, s->file);
}

int remote_save(struct remote *r, const char *path, FILE *file,
		char reason[static REMOTE_REASON_BYTES])
{
	struct saving saving = {.easy = r->easy, .file = file};
	struct remote_answer answer = {.status = 0};
	char url[URL_BYTES + PATH_BYTES];
	int err;

	if (url_of(r, path, url) < 0) {
		str_print(reason, REMOTE_REASON_BYTES, "the path is too long");
		return -EINVAL;
	}
	buf_init(&saving.taken.text, BODY_BYTES_MAX);
	curl_easy_setopt(r->easy, CURLOPT_URL, url);
	curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, "GET");
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take_file);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, &saving);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, FILE_TIMEOUT_S);
	err = perform(r, &answer, reason);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, TIMEOUT_S);
	if (!err && !is_success(r->easy))
		err = read_answer(r, &saving.taken.text, &answer, reason);
	remote_answer_release(&answer);
	buf_release(&saving.taken.text);
	return err;
}

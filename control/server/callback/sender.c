#include "control/server/callback/callback.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/callback/address.h"
#include "control/server/controller.h"
#include "control/server/store/store.h"
#include "control/server/store/store_callback.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Transfers at a time; one receiver that hangs holds up one of them. */
#define TRANSFERS_MAX 16

/* An answer is read so far: more of it ends the transfer. */
#define ANSWER_BYTES_MAX 65536

#define HEADER_BYTES   300
#define BACKOFF_MAX_MS 600000

struct transfer {
	struct callback_sender *sender;
	CURL *easy; /* NULL: free */
	struct curl_slist *headers;
	struct callback_claim claim;
	int64_t started_ns;
	char address[CALLBACK_ADDRESS_BYTES];
	bool allowed; /* an address may be connected to */
	bool refused; /* one may not */
	char response[CALLBACK_RESPONSE_BYTES];
	size_t response_len;
	size_t answer_len;
	char error[CURL_ERROR_SIZE];
};

struct callback_sender {
	/* constant after start */
	const struct controller_conf *conf;
	struct netlist allow;
	struct store *store;
	CURLM *multi;
	pthread_t thread;

	atomic_bool stop; /* relaxed: a wake-up follows */
	struct transfer transfers[TRANSFERS_MAX]; /* thread */
};

/* ---- one transfer ---- */

static void note_address(struct transfer *t, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
	} else {
		memcpy(&in, address, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	}
	str_print(t->address, sizeof(t->address), "%s", text);
}

/* The very address that is connected to is looked at: what the name meant
 * earlier, or means to others, does not matter. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose,
				 struct curl_sockaddr *address)
{
	struct transfer *t = arg;

	if (purpose != CURLSOCKTYPE_IPCXN ||
	    (address->family != AF_INET && address->family != AF_INET6))
		return CURL_SOCKET_BAD;
	if (!callback_address_allowed(&address->addr, &t->sender->allow)) {
		if (!t->allowed)
			note_address(t, &address->addr);
		t->refused = true;
		return CURL_SOCKET_BAD;
	}
	note_address(t, &address->addr);
	t->allowed = true;
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
		      address->protocol);
}

/* Kept as ASCII: what comes back is shown, and may be anything. */
static size_t take_answer(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * count;

	for (size_t i = 0; i < len && t->response_len < sizeof(t->response) - 1;
	     i++) {
		char c = data[i];
		bool shown = (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t';

		t->response[t->response_len++] = shown ? c : '?';
	}
	t->answer_len += len;
	return t->answer_len > ANSWER_BYTES_MAX ? 0 : len;
}

static int add_header(struct transfer *t, const char *text)
{
	struct curl_slist *list = curl_slist_append(t->headers, text);

	if (!list)
		return -ENOMEM;
	t->headers = list;
	return 0;
}

/* X-Offhook-Signature: sha256=HMAC(secret, body) in hex */
static int add_signature(struct transfer *t, const char *body,
			 const char *secret)
{
	uint8_t mac[crypto_auth_hmacsha256_BYTES];
	char hex[2 * sizeof(mac) + 1], header[HEADER_BYTES];
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, (const uint8_t *)secret,
				    strlen(secret));
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)body,
				      strlen(body));
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	sodium_bin2hex(hex, sizeof(hex), mac, sizeof(mac));
	str_print(header, sizeof(header), "X-Offhook-Signature: sha256=%s",
		  hex);
	return add_header(t, header);
}

static int add_headers(struct transfer *t, const char *body)
{
	const char *type = json_string_value(
		json_object_get(t->claim.request, "content_type"));
	const char *secret =
		json_string_value(json_object_get(t->claim.request, "secret"));
	char header[HEADER_BYTES];
	int err;

	str_print(header, sizeof(header), "Content-Type: %.200s",
		  type ? type : "application/json");
	err = add_header(t, header);
	str_print(header, sizeof(header), "X-Offhook-Delivery: %lld-%lld",
		  (long long)t->claim.id, (long long)t->claim.number);
	if (!err)
		err = add_header(t, header);
	/* no 100 Continue: it would cost a second with many receivers */
	if (!err)
		err = add_header(t, "Expect:");
	if (!err && secret && secret[0])
		err = add_signature(t, body, secret);
	return err;
}

static void set_options(struct transfer *t, const char *body)
{
	CURL *easy = t->easy;
	long timeout = (long)t->sender->conf->callback_timeout_s;

	curl_easy_setopt(easy, CURLOPT_URL, t->claim.url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, t->claim.method);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)strlen(body));
	curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(easy, CURLOPT_USERAGENT,
			 "offhook-controller/" OFFHOOK_VERSION);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, timeout);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* a proxy would connect where we may not */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	if (t->sender->conf->callback_ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO,
				 t->sender->conf->callback_ca_file);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, t);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
}

static void release(struct transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	json_decref(t->claim.request);
	*t = (struct transfer){.sender = t->sender};
}

/* Full jitter: anything from 0 up to a bound that doubles. */
static int64_t backoff_ms(const struct controller_conf *conf, int64_t number)
{
	int64_t bound = INT64_C(1000) * conf->callback_retry_s;

	for (int64_t i = 1; i < number && bound < BACKOFF_MAX_MS; i++)
		bound *= 2;
	if (bound > BACKOFF_MAX_MS)
		bound = BACKOFF_MAX_MS;
	return (int64_t)randombytes_uniform((uint32_t)bound + 1);
}

static void finish(struct transfer *t, const char *error, long status,
		   bool final)
{
	int64_t now = store_now_ms();
	struct callback_result r = {
		.ended_at = now,
		.duration_ms = (clock_mono_ns() - t->started_ns) / NS_PER_MS,
		.http_status = status,
		.final = final,
		.next_at = now + backoff_ms(t->sender->conf, t->claim.number),
	};
	int err;

	(void)str_copy(r.address, sizeof(r.address), t->address);
	str_print(r.error, sizeof(r.error), "%s", error);
	(void)str_copy(r.response, sizeof(r.response), t->response);
	err = store_callback_end(t->sender->store, &t->claim, &r);
	if (err)
		log_error("callback=%lld: the result of try %lld could not be "
			  "kept: %s",
			  (long long)t->claim.id, (long long)t->claim.number,
			  strerror(-err));
	if (error[0])
		log_warning("callback=%lld: try %lld failed: %s",
			    (long long)t->claim.id, (long long)t->claim.number,
			    error);
	else
		log_info("callback=%lld: delivered with try %lld",
			 (long long)t->claim.id, (long long)t->claim.number);
	release(t);
}

static void ended(struct transfer *t, CURLcode code)
{
	char error[CALLBACK_ERROR_BYTES] = "";
	bool refused = t->refused && !t->allowed;
	const char *address = NULL;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &address);
	if (address && address[0]) /* of several that were tried */
		str_print(t->address, sizeof(t->address), "%s", address);
	if (refused)
		str_print(error, sizeof(error),
			  "%s is a private, loopback or other special address; "
			  "callback_allow of the configuration does not have "
			  "it",
			  t->address);
	/* a long answer to a request that was taken changes nothing */
	else if (code && !(status >= 200 && status < 300 &&
			   t->answer_len > ANSWER_BYTES_MAX))
		str_print(error, sizeof(error), "%s",
			  t->error[0] ? t->error : curl_easy_strerror(code));
	else if (status >= 300 && status < 400)
		str_print(error, sizeof(error),
			  "was answered %ld: redirects are not followed",
			  status);
	else if (status < 200 || status >= 300)
		str_print(error, sizeof(error), "was answered %ld", status);
	finish(t, error, status, refused);
}

/* ---- the thread ---- */

static struct transfer *free_transfer(struct callback_sender *s)
{
	for (size_t i = 0; i < TRANSFERS_MAX; i++)
		if (!s->transfers[i].easy)
			return &s->transfers[i];
	return NULL;
}

static void begin(struct transfer *t)
{
	const char *body =
		json_string_value(json_object_get(t->claim.request, "body"));

	t->started_ns = clock_mono_ns();
	t->easy = curl_easy_init();
	if (!body) {
		finish(t,
		       "it cannot be read: the key file is another one than "
		       "when it was written",
		       0, true);
		return;
	}
	if (!t->easy || add_headers(t, body)) {
		finish(t, "out of memory", 0, false);
		return;
	}
	set_options(t, body);
	if (curl_multi_add_handle(t->sender->multi, t->easy))
		finish(t, "out of memory", 0, false);
}

static void claim_due(struct callback_sender *s)
{
	int64_t held_ms = INT64_C(1000) * (s->conf->callback_timeout_s + 5);
	struct transfer *t;
	int err = 1;

	while (err > 0 && (t = free_transfer(s))) {
		int64_t now = store_now_ms();

		err = store_callback_claim(s->store, now, now + held_ms,
					   &t->claim);
		if (err > 0)
			begin(t);
	}
	if (err < 0)
		log_error("callbacks could not be read: %s", strerror(-err));
}

static void collect(struct callback_sender *s)
{
	struct transfer *t;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(s->multi, &left))) {
		CURLcode code = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
		curl_multi_remove_handle(s->multi, t->easy);
		ended(t, code);
	}
}

static void *sender_thread(void *arg)
{
	struct callback_sender *s = arg;
	int running;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		claim_due(s);
		curl_multi_perform(s->multi, &running);
		collect(s);
		curl_multi_poll(s->multi, NULL, 0, 500, NULL);
	}
	for (size_t i = 0; i < TRANSFERS_MAX; i++) {
		struct transfer *t = &s->transfers[i];

		if (!t->easy)
			continue;
		curl_multi_remove_handle(s->multi, t->easy);
		finish(t, "the controller was stopped during this try", 0,
		       false);
	}
	return NULL;
}

int callback_sender_start(struct callback_sender **ret,
			  struct controller *controller)
{
	struct callback_sender *s;
	int err = -ENOMEM;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s)
		goto out;
	s->conf = controller->conf;
	for (size_t i = 0; i < TRANSFERS_MAX; i++)
		s->transfers[i].sender = s;
	s->multi = curl_multi_init();
	if (!s->multi)
		goto out;
	err = netlist_parse(&s->allow, s->conf->callback_allow);
	if (!err)
		err = store_new(&s->store, controller->database);
	if (!err)
		err = -pthread_create(&s->thread, NULL, sender_thread, s);
out:
	if (err) {
		if (s) {
			store_free(s->store);
			curl_multi_cleanup(s->multi);
		}
		free(s);
		curl_global_cleanup();
		return err;
	}
	*ret = s;
	return 0;
}

struct callback_sender *callback_sender_stop(struct callback_sender *s)
{
	if (!s)
		return NULL;
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	curl_multi_wakeup(s->multi);
	pthread_join(s->thread, NULL);
	curl_multi_cleanup(s->multi);
	store_free(s->store);
	free(s);
	curl_global_cleanup();
	return NULL;
}

void callback_sender_poke(struct callback_sender *s)
{
	if (s)
		curl_multi_wakeup(s->multi);
}

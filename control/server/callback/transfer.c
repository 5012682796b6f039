#include "control/server/callback/transfer.h"

#include "base/str.h"
#include "conf/controller_conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

/* Ceiling of a response body; a longer one ends the transfer. */
#define ANSWER_BYTES_MAX 65536

#define HEADER_BYTES 300

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

/* Check the address that is being connected to: an earlier resolution of the
 * name may have given another one. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose,
				 struct curl_sockaddr *address)
{
	struct transfer *t = arg;

	if (purpose != CURLSOCKTYPE_IPCXN ||
	    (address->family != AF_INET && address->family != AF_INET6))
		return CURL_SOCKET_BAD;
	if (!callback_address_allowed(&address->addr, t->allow)) {
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

/* Store the response as ASCII: it may be anything and is shown to users. */
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
	/* no Expect: 100-continue: with many receivers it costs a second */
	if (!err)
		err = add_header(t, "Expect:");
	if (!err && secret && secret[0])
		err = add_signature(t, body, secret);
	return err;
}

static void set_options(struct transfer *t, const char *body)
{
	CURL *easy = t->easy;
	long timeout = (long)t->conf->callback_timeout_s;

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
	/* a proxy could connect to refused addresses */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	if (t->conf->callback_ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO,
				 t->conf->callback_ca_file);
	/* libcurl would use the authorities it has read for a day */
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, t);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
}

int transfer_prepare(struct transfer *t, const char *body)
{
	t->easy = curl_easy_init();
	if (!t->easy || add_headers(t, body))
		return -ENOMEM;
	set_options(t, body);
	return 0;
}

void transfer_ended(struct transfer *t, CURLcode code,
		    struct transfer_outcome *ret)
{
	struct transfer_outcome o = {.final = t->refused && !t->allowed};
	const char *address = NULL;
	bool taken;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &o.status);
	curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &address);
	if (address && address[0]) /* of several that were tried */
		str_print(t->address, sizeof(t->address), "%s", address);
	taken = o.status >= 200 && o.status < 300;
	if (o.final)
		str_print(o.error, sizeof(o.error),
			  "%s is a private, loopback or other special address; "
			  "callback_allow of the configuration does not have "
			  "it",
			  t->address);
	/* a long answer does not matter if the request was accepted */
	else if (code && !(taken && t->answer_len > ANSWER_BYTES_MAX))
		str_print(o.error, sizeof(o.error), "%s",
			  t->error[0] ? t->error : curl_easy_strerror(code));
	else if (o.status >= 300 && o.status < 400)
		str_print(o.error, sizeof(o.error),
			  "was answered %ld: redirects are not followed",
			  o.status);
	else if (!taken)
		str_print(o.error, sizeof(o.error), "was answered %ld",
			  o.status);
	*ret = o;
}

void transfer_release(struct transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	json_decref(t->claim.request);
	*t = (struct transfer){.conf = t->conf, .allow = t->allow};
}

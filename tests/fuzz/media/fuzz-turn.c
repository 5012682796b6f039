/*
 * A TURN or STUN server that answers a client what it likes, by UDP or over a TCP
 * connection whose bytes arrive in any pieces (turn_host.h). The first octet of an input
 * says what the client is (MODE_*). Then come actions, an octet each (modulo ACTION_COUNT)
 * with arguments; see the functions. After an input the server is silent: the client ends.
 *
 * The checks read answers with stun_message.c, too; that this reads what was written is
 * checked where an answer is written. TLS is left out: it is OpenSSL's.
 */
#include "base/big_endian.h"
#include "base/clock.h"
#include "media/nat/stun_message.h"
#include "media/nat/turn.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/media/input.h"
#include "turn_host.h"
#include "turn_requests.h"

#include <openssl/evp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODE_STUN     1
#define MODE_STREAM   2 /* TURN over TCP */
#define MODE_IPV6     4
#define MODE_NAMELESS 8  /* no user name is configured */
#define MODE_LONG     16 /* the longest user name and password */
#define MODE_REFUSED  32 /* the server takes no TCP connection */

#define CHALLENGES_MAX  4 /* in a row that are answered */
#define LIFETIME_MAX_NS (86400 * NS_PER_S)
#define KEY_BYTES       16

enum action {
	PASS_TIME,
	ANSWER,
	ANSWER_RAW,
	SEND_RAW,
	SEND_DATA,
	RECEIVE,
	TAKE,
	BREAK,
	BIND,
	PERMIT,
	SEND_TO_PEER,
	END,
	ACTION_COUNT,
};

/* A channel that the client asked for. */
struct channel {
	struct media_addr peer;
	uint16_t number;
	bool confirmed; /* by the server */
};

struct world {
	struct input in;
	uint8_t mode;
	struct turn *t;
	int64_t now_ns;
	char username[TURN_USER_BYTES], password[TURN_USER_BYTES];
	bool later; /* the thread of the connection is busy */
	size_t sends;
	struct requests requests;
	bool keyed; /* its last request had a MESSAGE-INTEGRITY, with this key: */
	uint8_t key[KEY_BYTES];
	size_t channel_count; /* at `version` */
	struct channel channels[TURN_PEERS_MAX];
	unsigned version;
	size_t peer_count;
	struct media_addr peers[TURN_PEERS_MAX];
};

static struct media_addr addr_of(uint8_t n)
{
	struct media_addr a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a.ss;

	memset(&a, 0, sizeof(a));
	if (n & 0x80) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(n);
		in6->sin6_addr = in6addr_loopback;
		in6->sin6_addr.s6_addr[15] = n & 0x1f;
		a.len = sizeof(*in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(n);
		in->sin_addr.s_addr = htonl(0xc0000200u + (n & 0x1f));
		a.len = sizeof(*in);
	}
	return a;
}

/* ---- what the client sends ---- */

/* RFC 8489 9.2.2 */
static void key_make(uint8_t key[static KEY_BYTES], const struct world *w,
		     const char *realm)
{
	char text[2 * TURN_USER_BYTES + STUN_TEXT_BYTES + 2];
	unsigned bytes = 0;

	(void)snprintf(text, sizeof(text), "%s:%s:%s", w->username, realm,
		       w->password);
	check(EVP_Digest(text, strlen(text), key, &bytes, EVP_md5(), NULL) ==
		      1 &&
	      bytes == KEY_BYTES);
}

/* Each request of the client is one that a server understands. */
static void send_h(const uint8_t *data, size_t bytes, void *arg)
{
	struct world *w = arg;
	struct stun_message m;

	check(bytes <= STUN_MESSAGE_BYTES && bytes % 4 == 0);
	check(turn_state(w->t) != TURN_FAILED);
	check(stun_message_open(&m, data, bytes) == 0);
	check(m.class == STUN_MESSAGE_REQUEST && stun_message_fingerprint(&m));
	check((m.method == STUN_MESSAGE_BINDING) == (w->mode & MODE_STUN));
	w->keyed = m.username != NULL;
	if (w->keyed) {
		check(strcmp(m.username, w->username) == 0 && m.realm &&
		      m.nonce);
		key_make(w->key, w, m.realm);
		check(stun_message_verify(&m, w->key, sizeof(w->key)));
	}
	w->sends++;
	requests_note(&w->requests, &m, data, bytes, w->now_ns);
	stun_message_close(&m);
	if (w->mode & MODE_STREAM)
		host_datagram(data, bytes, w->later);
}

/* ---- what it makes of an answer ---- */

/* The channels change with the version only, and are what was asked for. */
static void check_channels(struct world *w)
{
	unsigned version = turn_version(w->t);
	struct channel now[TURN_PEERS_MAX];
	size_t count = 0;
	uint16_t number;
	struct media_addr peer;

	memset(now, 0, sizeof(now));
	while ((number = turn_channel_at(w->t, count, &peer))) {
		check(count < TURN_PEERS_MAX && number >= TURN_CHANNEL_MIN &&
		      number <= TURN_CHANNEL_MAX);
		for (size_t i = 0; i < count; i++)
			check(now[i].number != number &&
			      !media_addr_equal(&now[i].peer, &peer));
		for (size_t i = 0; i < w->channel_count; i++) {
			if (w->channels[i].number != number)
				continue;
			check(media_addr_equal(&w->channels[i].peer, &peer));
			now[count].confirmed = w->channels[i].confirmed;
		}
		now[count].peer = peer;
		now[count].number = number;
		check(turn_channel(w->t, &peer) ==
		      (now[count].confirmed ? number : 0));
		count++;
	}
	check(count >= w->channel_count);
	if (version == w->version) {
		check(count == w->channel_count);
		for (size_t i = 0; i < count; i++)
			check(now[i].number == w->channels[i].number);
	}
	check(version >= w->version);
	w->version = version;
	w->channel_count = count;
	memcpy(w->channels, now, sizeof(now));
}

static void check_state(const struct world *w, enum turn_state before)
{
	enum turn_state state = turn_state(w->t);
	const char *reason = turn_reason(w->t);

	check(before != TURN_FAILED || state == TURN_FAILED);
	check(before != TURN_READY || state != TURN_ASKING);
	check((reason[0] != '\0') == (state == TURN_FAILED));
	for (; *reason; reason++)
		check(*reason >= ' ' && *reason <= '~');
	if (state == TURN_READY)
		check(media_addr_valid(turn_mapped(w->t)) &&
		      ((w->mode & MODE_STUN) ||
		       media_addr_valid(turn_relayed(w->t))));
}

/* @return the request that a message answers; NULL: it is to be ignored */
static struct request *request_of(struct world *w, const struct stun_message *m)
{
	struct request *r = requests_find(&w->requests, m->id);

	if (!r || r->over || r->method != m->method ||
	    turn_state(w->t) == TURN_FAILED ||
	    (m->class != STUN_MESSAGE_SUCCESS &&
	     m->class != STUN_MESSAGE_ERROR))
		return NULL;
	/* once the server has challenged the client, not without integrity */
	if (m->class == STUN_MESSAGE_SUCCESS && w->keyed &&
	    !stun_message_verify(m, w->key, sizeof(w->key)))
		return NULL;
	return r;
}

static void check_success(struct world *w, const struct stun_message *m,
			  const struct request *r, enum turn_state before)
{
	enum turn_state state = turn_state(w->t);

	if (m->method == STUN_MESSAGE_ALLOCATE ||
	    m->method == STUN_MESSAGE_BINDING)
		check(before == TURN_ASKING && state != TURN_ASKING);
	else
		check(before == TURN_READY);
	if (before == TURN_ASKING && state == TURN_READY)
		check(media_addr_equal(turn_mapped(w->t), &m->mapped) &&
		      (w->mode & MODE_STUN ||
		       media_addr_equal(turn_relayed(w->t), &m->relayed)));
	for (size_t i = 0; i < w->channel_count; i++) {
		if (m->method == STUN_MESSAGE_CHANNEL &&
		    media_addr_equal(&w->channels[i].peer, &r->peer))
			w->channels[i].confirmed = true;
	}
}

/* An error: the client tries again, or fails; without a permission it goes on.
 * @param sends  requests that were sent since */
static void check_error(struct world *w, const struct stun_message *m,
			unsigned challenges, size_t sends)
{
	bool failed = turn_state(w->t) == TURN_FAILED;
	struct request *next = &w->requests.at[w->requests.count - 1];

	if (sends > 0) {
		check(sends == 1 && !failed && next->method == m->method);
		check(m->error == 401 || m->error == 438);
		next->challenges = challenges + 1;
		check(next->challenges <= CHALLENGES_MAX);
	} else if (!failed) {
		check(m->method == STUN_MESSAGE_PERMISSION);
		requests_find(&w->requests, m->id)->refused = true;
	}
}

/* A message of the server, from memory of its size. */
static void client_input(struct world *w, const uint8_t *data, size_t bytes)
{
	enum turn_state before = turn_state(w->t);
	struct request *r = NULL;
	size_t sends = w->sends;
	unsigned challenges = 0;
	struct stun_message m;
	uint8_t *copy = malloc(bytes);
	bool parsed;

	check(copy || bytes == 0);
	if (bytes > 0)
		memcpy(copy, data, bytes);
	parsed = stun_message_open(&m, copy, bytes) == 0;
	if (parsed)
		r = request_of(w, &m);
	if (r) {
		r->over = true;
		challenges = r->challenges;
	}
	turn_input(w->t, copy, bytes, w->now_ns);
	check_state(w, before);
	if (!r)
		check(turn_state(w->t) == before && w->sends == sends &&
		      turn_version(w->t) == w->version);
	else if (m.class == STUN_MESSAGE_SUCCESS)
		check_success(w, &m, requests_find(&w->requests, m.id), before);
	else
		check_error(w, &m, challenges, w->sends - sends);
	check_channels(w);
	if (parsed)
		stun_message_close(&m);
	free(copy);
}

/* What has arrived on the connection. */
static void frames_take(struct world *w)
{
	const uint8_t *data;
	size_t bytes;

	while ((bytes = host_frame(&data)) > 0) {
		struct turn_frame f;

		if (turn_frame_parse(&f, data, bytes, bytes))
			continue;
		check(f.offset + f.bytes <= bytes);
		if (f.kind == TURN_FRAME_CONTROL)
			client_input(w, data, bytes);
	}
}

static void server_send(struct world *w, const uint8_t *data, size_t bytes)
{
	if (w->mode & MODE_STREAM)
		host_send(data, bytes);
	else
		client_input(w, data, bytes);
}

/* ---- actions ---- */

/* Argument: how long, in 20 ms, 500 ms, 30 s or 20 min. Then what is due happens once. */
static void pass_time(struct world *w)
{
	static const int64_t units[] = {20 * NS_PER_MS, 500 * NS_PER_MS,
					30 * NS_PER_S, 1200 * NS_PER_S};
	uint8_t much = take(&w->in);
	enum turn_state before = turn_state(w->t);

	w->now_ns += (much % 64) * units[much / 64];
	if (w->mode & MODE_STREAM && host_reason())
		turn_lost(w->t, host_reason());
	turn_tick(w->t, w->now_ns);
	check_state(w, before);
	check(before == turn_state(w->t) || turn_state(w->t) == TURN_FAILED);
	if (turn_state(w->t) != TURN_FAILED)
		requests_check_repeated(&w->requests, w->now_ns);
	check_channels(w);
}

/* @return a request, counted from the newest one; NULL: there was none yet */
static struct request *request_take(struct world *w)
{
	uint8_t n = take(&w->in);

	if (w->requests.count == 0)
		return NULL;
	return &w->requests.at[w->requests.count - 1 - n % w->requests.count];
}

static const char *text_of(uint8_t n)
{
	static const char *const texts[] = {NULL, "test", "another one", ""};
	static char longest[128], too_long[STUN_TEXT_BYTES];

	if (n < 4)
		return texts[n];
	/* RFC 8489 14.9 and 14.10: fewer than 128 characters */
	memset(longest, 'x', sizeof(longest) - 1);
	memset(too_long, 'x', sizeof(too_long) - 1);
	return n < 6 ? longest : too_long;
}

/* Is a message read as it was written? */
static void check_read(const struct stun_draft *d, const uint8_t *data,
		       size_t bytes)
{
	struct stun_message m;

	check(stun_message_open(&m, data, bytes) == 0);
	check(m.method == d->method && m.class == d->class);
	check(memcmp(m.id, d->id, sizeof(m.id)) == 0);
	check(!d->realm == !m.realm && !d->nonce == !m.nonce);
	check(!d->realm || strcmp(d->realm, m.realm) == 0);
	check(!d->nonce || strcmp(d->nonce, m.nonce) == 0);
	check(m.error == d->error);
	check(!d->error || strcmp(d->reason, m.reason) == 0);
	check(m.has_lifetime == (d->lifetime_s != NULL) &&
	      (!d->lifetime_s || m.lifetime_s == *d->lifetime_s));
	check(d->mapped ? media_addr_equal(&m.mapped, d->mapped)
			: m.mapped.len == 0);
	check(d->relayed ? media_addr_equal(&m.relayed, d->relayed)
			 : m.relayed.len == 0);
	check(stun_message_fingerprint(&m) == d->fingerprint);
	check(stun_message_verify(&m, d->key, d->key_bytes) ==
	      (d->key != NULL));
	stun_message_close(&m);
}

/* Answer a request. Arguments: which, error (0: none), texts (realm, nonce above it, 64: no
 * integrity, 128: a wrong key), mapped and relayed address, lifetime (modulo 8), and what
 * is wrong with it: 1 transaction, 2 method, 4 class, 8 a bit of it. */
static void answer(struct world *w)
{
	static const uint16_t errors[] = {0,   401, 438, 437, 300, 400,
					  403, 420, 440, 441, 442, 443,
					  446, 486, 487, 500, 508, 699};
	static const uint32_t lifetimes[] = {0,     600,   1,          60,
					     86400, 86401, UINT32_MAX, 0};
	const struct request *r = request_take(w);
	uint8_t error = take(&w->in) % (sizeof(errors) / sizeof(errors[0]));
	uint8_t texts = take(&w->in);
	uint8_t mapped_n = take(&w->in), relayed_n = take(&w->in);
	struct media_addr mapped = addr_of(mapped_n);
	struct media_addr relayed = addr_of(relayed_n);
	uint8_t lifetime = take(&w->in) % 8, wrong = take(&w->in);
	uint8_t key[KEY_BYTES], id[STUN_TRANSACTION_BYTES] = {0};
	struct stun_draft d = {
		.class = error ? STUN_MESSAGE_ERROR : STUN_MESSAGE_SUCCESS,
		.id = id,
		.error = errors[error],
		.reason = "Why\n\x7f\xff",
		.realm = text_of(texts % 8),
		.nonce = text_of(texts / 8 % 8),
		.mapped = mapped_n % 64 ? &mapped : NULL,
		.relayed = relayed_n % 64 ? &relayed : NULL,
		.lifetime_s = lifetime < 7 ? &lifetimes[lifetime] : NULL,
		.key = w->keyed && !(texts & 64) ? key : NULL,
		.key_bytes = sizeof(key),
		.fingerprint = texts & 64,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	if (!r)
		return;
	memcpy(id, r->id, sizeof(id));
	memcpy(key, w->key, sizeof(key));
	d.method = wrong & 2 ? STUN_MESSAGE_REFRESH
			     : (enum stun_message_method)r->method;
	if (wrong & 4)
		d.class = wrong & 16 ? STUN_MESSAGE_REQUEST
				     : STUN_MESSAGE_INDICATION;
	id[11] ^= wrong & 1;
	key[0] ^= texts >> 7;
	if (stun_message_write(data, &bytes, &d))
		return;
	check_read(&d, data, bytes);
	if (wrong & 8)
		data[wrong % bytes] ^= (uint8_t)(1 << (wrong >> 5));
	server_send(w, data, bytes);
}

/* Answer a request with attributes that stand in the input. Octets that follow: the request;
 * 1 for an error response; how many bytes the attributes have; these bytes. */
static void answer_raw(struct world *w)
{
	const struct request *r = request_take(w);
	bool error = take(&w->in) & 1;
	size_t bytes = take(&w->in);
	uint8_t data[20 + 255] = {0};

	if (bytes > w->in.left)
		bytes = w->in.left;
	if (r) {
		/* the bits of the class are between those of the method */
		be16_put(data, r->method | (error ? 0x0110u : 0x0100u));
		be16_put(data + 2, bytes);
		be32_put(data + 4, 0x2112a442);
		memcpy(data + 8, r->id, sizeof(r->id));
		memcpy(data + 20, w->in.data, bytes);
		server_send(w, data, 20 + bytes);
	}
	w->in.data += bytes;
	w->in.left -= bytes;
}

/* The server sends bytes of the input as they are. Octets that follow: how many; these
 * bytes. */
static void send_raw(struct world *w)
{
	size_t bytes = take(&w->in);

	if (bytes > w->in.left)
		bytes = w->in.left;
	server_send(w, w->in.data, bytes);
	w->in.data += bytes;
	w->in.left -= bytes;
}

/* A peer's datagram. Arguments: peer, kind (0: ChannelData, 1: Data indication), size in
 * steps of 257. */
static void send_data(struct world *w)
{
	static uint8_t data[65536 + TURN_INDICATION_BYTES];
	static const uint8_t payload[65535];
	struct media_addr peer = addr_of(take(&w->in));
	uint8_t kind = take(&w->in);
	size_t bytes = take(&w->in) * 257u;

	if (kind & 1) {
		bytes = turn_frame_send(data, sizeof(data), &peer, payload,
					bytes);
		data[1] = 0x17; /* Data instead of Send */
	} else {
		turn_frame_channel(data, TURN_CHANNEL_MIN + kind / 64, bytes);
		memset(data + TURN_CHANNEL_BYTES, kind, bytes);
		bytes = TURN_CHANNEL_BYTES + (bytes + 3) / 4 * 4;
	}
	if (bytes > 0)
		server_send(w, data, bytes);
}

/* Read one octet that stands for a size: up to 127 it is the size itself, larger values
 * stand for larger sizes. */
static size_t size_take(struct world *w)
{
	size_t bytes = take(&w->in);

	return bytes < 128 ? bytes : bytes == 255 ? SIZE_MAX : bytes * 130;
}

/* We send to a peer. Arguments: size in steps of 33, the thread is busy. */
static void send_to_peer(struct world *w)
{
	static const uint8_t data[255 * 33];
	size_t bytes = take(&w->in) * 33u;
	bool later = take(&w->in) & 1;

	if (w->mode & MODE_STREAM)
		host_datagram(data, bytes < 8192 ? bytes : 8192, later);
}

static bool same_host(const struct media_addr *a, const struct media_addr *b)
{
	struct media_addr at = *a;

	if (a->ss.ss_family != b->ss.ss_family)
		return false;
	media_addr_set_port(&at, media_addr_port(b));
	return media_addr_equal(&at, b);
}

/* @return what turn_bind() or turn_permit() must say about a peer that is new */
static int peer_expect(struct world *w, const struct media_addr *peer)
{
	if (w->mode & MODE_STUN)
		return -EINVAL;
	if (w->peer_count == TURN_PEERS_MAX)
		return -ENOSPC;
	if (turn_relayed(w->t)->len > 0 &&
	    turn_relayed(w->t)->ss.ss_family != peer->ss.ss_family)
		return -EINVAL;
	w->peers[w->peer_count++] = *peer;
	return 0;
}

/* Argument: peer. */
static void bind_peer(struct world *w)
{
	struct media_addr peer = addr_of(take(&w->in)), last;
	int expected = 1;
	size_t n = 0;

	for (size_t i = 0; i < w->channel_count; i++) {
		if (media_addr_equal(&w->channels[i].peer, &peer))
			expected = 0;
	}
	if (expected)
		expected = peer_expect(w, &peer);
	check(turn_bind(w->t, &peer) == expected);
	check_channels(w);
	if (expected)
		return;
	while (turn_channel_at(w->t, n, &last))
		n++;
	check(n == w->channel_count && media_addr_equal(&last, &peer));
}

/* Argument: peer. */
static void permit_peer(struct world *w)
{
	struct media_addr peer = addr_of(take(&w->in));
	int expected = 1;

	for (size_t i = 0; i < w->peer_count; i++) {
		if (same_host(&w->peers[i], &peer))
			expected = 0;
	}
	if (expected)
		expected = peer_expect(w, &peer);
	check(turn_permit(w->t, &peer) == expected);
	check_channels(w);
}

/* The client releases its allocation, if it has one. */
static void end(struct world *w)
{
	size_t sends = w->sends;

	w->requests.ends = true;
	turn_end(w->t);
	w->requests.ends = false;
	check(w->sends - sends ==
	      (turn_state(w->t) == TURN_READY && !(w->mode & MODE_STUN)));
}

/* What happens to the connection, if there is one. */
static void act_on_stream(struct world *w, enum action action)
{
	size_t bytes = size_take(w);

	if (!(w->mode & MODE_STREAM))
		return;
	if (action == RECEIVE)
		host_arrive(bytes, false);
	else if (action == TAKE)
		host_take(bytes);
	else if (bytes & 4)
		host_arrive(SIZE_MAX, true);
	else
		host_break(bytes & 1 ? ECONNRESET : 0);
	frames_take(w);
}

static void act(struct world *w)
{
	enum action action = (enum action)(take(&w->in) % ACTION_COUNT);

	switch (action) {
	case PASS_TIME:
		pass_time(w);
		break;
	case ANSWER:
		answer(w);
		break;
	case ANSWER_RAW:
		answer_raw(w);
		break;
	case SEND_RAW:
		send_raw(w);
		break;
	case SEND_DATA:
		send_data(w);
		break;
	case RECEIVE:
	case TAKE:
	case BREAK:
		act_on_stream(w, action);
		break;
	case BIND:
		bind_peer(w);
		break;
	case PERMIT:
		permit_peer(w);
		break;
	case SEND_TO_PEER:
		send_to_peer(w);
		break;
	case END:
	case ACTION_COUNT:
	default:
		end(w);
		break;
	}
}

/* A server that says nothing more is given up; only an address that a STUN server has
 * told stays. */
static void check_end(struct world *w)
{
	enum turn_state before = turn_state(w->t);

	w->now_ns += LIFETIME_MAX_NS;
	for (int i = 0; i < 40; i++) {
		w->now_ns += TURN_RTO_NS;
		turn_tick(w->t, w->now_ns);
		if (turn_state(w->t) != TURN_FAILED)
			requests_check_repeated(&w->requests, w->now_ns);
	}
	check(turn_state(w->t) == (w->mode & MODE_STUN && before == TURN_READY
					   ? TURN_READY
					   : TURN_FAILED));
}

static void world_begin(struct world *w)
{
	struct turn_params params = {.send = send_h, .arg = w};
	size_t longest = sizeof(w->username) - 1;

	host_begin();
	w->mode = take(&w->in);
	if (w->mode & MODE_STUN)
		w->mode &= MODE_STUN; /* it has neither users nor streams */
	if (!(w->mode & (MODE_STUN | MODE_NAMELESS))) {
		memset(w->username, 'u', w->mode & MODE_LONG ? longest : 5);
		memset(w->password, 'p', w->mode & MODE_LONG ? longest : 6);
	}
	params.stun = w->mode & MODE_STUN;
	params.reliable = w->mode & MODE_STREAM;
	params.ipv6 = w->mode & MODE_IPV6;
	params.username = params.stun ? NULL : w->username;
	params.password = params.stun ? NULL : w->password;
	w->requests.reliable = params.reliable;
	w->requests.ipv6 = params.ipv6;
	w->now_ns = NS_PER_S;
	check(turn_new(&w->t, &params) == 0);
	if (w->mode & MODE_STREAM)
		host_open(w->mode & MODE_REFUSED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	w.in = (struct input){data, size};
	world_begin(&w);
	while (w.in.left > 0)
		act(&w);
	w.later = true; /* as a session ends: Refresh, then close */
	end(&w);
	if (w.mode & MODE_STREAM)
		host_close();
	check_end(&w);
	turn_free(w.t);
	return 0;
}

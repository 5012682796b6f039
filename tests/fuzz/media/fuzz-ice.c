/*
 * STUN messages to an ICE agent: the raw input, and messages authenticated with
 * the right passwords. The agent must stay within its tables and report what
 * was selected.
 */
#include "media/nat/ice.h"
#include "media/nat/stun_message.h"
#include "tests/fuzz/media/input.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char peer_pwd[] = "the password of the peer";

/* The last request that was sent: a response has its transaction ID. */
struct sent {
	uint8_t id[STUN_TRANSACTION_BYTES];
	struct ice_path path;
};

static void send_h(const struct ice_path *path, const uint8_t *data,
		   size_t bytes, void *arg)
{
	struct sent *sent = arg;

	if (bytes > STUN_MESSAGE_BYTES || path->component < 1 ||
	    path->component > MEDIA_ICE_COMPONENTS || path->peer.len == 0)
		abort();
	sent->path = *path;
	memcpy(sent->id, data + 8, sizeof(sent->id));
}

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
		a.len = sizeof(*in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(n);
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a.len = sizeof(*in);
	}
	return a;
}

static void written(struct ice *ice, struct input *in, struct sent *sent,
		    int64_t now_ns)
{
	uint8_t flags = take(in);
	uint8_t kind = take(in);
	uint32_t priority = (uint32_t)take(in) << 24 | kind;
	uint64_t tie_breaker = take(in) ? UINT64_MAX : 0;
	struct ice_path from = {
		.component = (uint8_t)((flags & 1) + 1),
		.relayed = flags & 2,
		.peer = addr_of(take(in)),
	};
	struct media_addr mapped = addr_of(take(in));
	bool answers = kind & 3;
	char name[MEDIA_ICE_UFRAG_BYTES + 8];
	struct stun_draft draft = {
		.method = STUN_MESSAGE_BINDING,
		.class = (enum stun_message_class)(kind & 3),
		.id = answers ? sent->id : (const uint8_t *)"identifier..",
		.key = answers ? peer_pwd : ice_local(ice)->pwd,
		.fingerprint = true,
		.username = name,
		.priority = flags & 4 ? &priority : NULL,
		.controlling = flags & 8 ? &tie_breaker : NULL,
		.controlled = flags & 16 ? &tie_breaker : NULL,
		.use_candidate = flags & 32,
		.mapped = &mapped,
		.error = (kind & 3) == STUN_MESSAGE_ERROR
				 ? (kind & 4 ? 487u : 300u + take(in))
				 : 0,
		.reason = "why",
	};
	uint8_t message[STUN_MESSAGE_BYTES];
	size_t bytes;

	if (answers && !(flags & 64))
		from = sent->path;
	draft.key_bytes = strlen(draft.key);
	strcpy(name, ice_local(ice)->ufrag);
	strcat(name, ":peer");
	if (stun_message_write(message, &bytes, &draft) == 0)
		ice_input(ice, &from, message, bytes, now_ns);
}

static void raw(struct ice *ice, struct input *in, int64_t now_ns)
{
	const struct ice_path from = {.component = 1, .peer = addr_of(1)};
	size_t bytes = take(in);

	if (bytes > in->left)
		bytes = in->left;
	ice_input(ice, &from, in->data, bytes, now_ns);
	in->data += bytes;
	in->left -= bytes;
}

static void begin(struct ice *ice, struct input *in, int64_t now_ns)
{
	struct media_ice peer = {.ufrag = "peer"};
	uint8_t how = take(in);

	memcpy(peer.pwd, peer_pwd, sizeof(peer_pwd));
	peer.ufrag[3] = how & 8 ? 'x' : 'r';
	peer.lite = how & 4;
	peer.candidate_count = (how >> 4) % (MEDIA_CANDIDATES_MAX + 1);
	for (size_t i = 0; i < peer.candidate_count; i++)
		peer.candidates[i] = (struct media_candidate){
			.type = (enum media_candidate_type)(i % 4),
			.component = (uint8_t)(i % 2 + 1),
			.priority = (uint32_t)i << 20,
			.addr = addr_of(take(in)),
		};
	(void)ice_start(ice, &peer, (how & 1) + 1u, how & 2, now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct sent sent = {.path = {.component = 1, .peer = addr_of(7)}};
	const struct ice_params params = {
		.lite = take(&in) & 1, .send = send_h, .arg = &sent};
	struct ice_selected pair;
	int64_t now_ns = 1;
	struct ice *ice;

	if (ice_new(&ice, &params))
		return 0;
	for (uint8_t i = 0; i < 4; i++) {
		const struct media_candidate c = {
			.type = i < 2 ? MEDIA_CANDIDATE_HOST
				      : MEDIA_CANDIDATE_RELAY,
			.component = (uint8_t)(i % 2 + 1),
			.addr = addr_of((uint8_t)(100 + i)),
		};

		(void)ice_candidate_add(ice, &c);
	}
	while (in.left > 0) {
		switch (take(&in) & 3) {
		case 0:
			begin(ice, &in, now_ns);
			break;
		case 1:
			raw(ice, &in, now_ns);
			break;
		case 2:
			written(ice, &in, &sent, now_ns);
			break;
		default:
			now_ns += (int64_t)(take(&in) + 1) * 20000000;
			ice_tick(ice, now_ns);
			break;
		}
	}
	for (uint8_t k = 0; k < 4; k++) {
		if (ice_selected(ice, k, &pair) &&
		    (pair.remote.component != k || pair.remote.addr.len == 0))
			abort();
	}
	ice_free(ice);
	return 0;
}

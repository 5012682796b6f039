#include "peer.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char peer_sdp[] = "v=0\r\no=peer 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"
			"c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
			"m=audio 40000 RTP/AVP 8 0\r\na=rtpmap:8 PCMA/8000\r\n"
			"a=rtpmap:0 PCMU/8000\r\na=ptime:30\r\n";

const char peer_sdp_g729[] = "v=0\r\no=peer 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"
			     "c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
			     "m=audio 40000 RTP/AVP 18\r\n";

__attribute__((format(printf, 2, 3))) static bool peer_fail(struct peer *peer,
							    const char *fmt,
							    ...)
{
	va_list args;

	if (peer->fail[0])
		return false;
	va_start(args, fmt);
	vsnprintf(peer->fail, sizeof(peer->fail), fmt, args);
	va_end(args);
	return false;
}

void peer_open(struct peer *peer)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);

	memset(peer, 0, sizeof(*peer));
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	peer->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (peer->fd < 0 ||
	    bind(peer->fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    getsockname(peer->fd, (struct sockaddr *)&sin, &len) < 0)
		abort();
	peer->port = ntohs(sin.sin_port);
	snprintf(peer->tag, sizeof(peer->tag), "p%u", peer->port);
	snprintf(peer->callid, sizeof(peer->callid), "call-%u@peer",
		 peer->port);
	peer->cseq = 1;
}

void peer_close(struct peer *peer)
{
	close(peer->fd);
}

void peer_aim(struct peer *peer, uint16_t port)
{
	memset(&peer->from, 0, sizeof(peer->from));
	peer->from.sin_family = AF_INET;
	peer->from.sin_port = htons(port);
	peer->from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool receive(struct peer *peer, int64_t until_ms)
{
	struct pollfd pfd = {.fd = peer->fd, .events = POLLIN};
	socklen_t len = sizeof(peer->from);
	int64_t left = until_ms - now_ms();
	ssize_t n;

	if (left < 0 || poll(&pfd, 1, (int)left) <= 0)
		return false;
	n = recvfrom(peer->fd, peer->in, sizeof(peer->in) - 1, 0,
		     (struct sockaddr *)&peer->from, &len);
	if (n < 0)
		return false;
	peer->in[n] = '\0';
	return true;
}

bool peer_expect(struct peer *peer, const char *start)
{
	int64_t until = now_ms() + PEER_WAIT_MS;
	char skipped[64] = "nothing";

	if (peer->fail[0])
		return false;
	while (receive(peer, until)) {
		if (strncmp(peer->in, start, strlen(start)) == 0)
			return true;
		snprintf(skipped, sizeof(skipped), "%.*s",
			 (int)strcspn(peer->in, "\r"), peer->in);
	}
	return peer_fail(peer, "expected '%s', last was '%s'", start, skipped);
}

bool peer_silence(struct peer *peer, const char *start, int wait_ms)
{
	int64_t until = now_ms() + wait_ms;

	while (!peer->fail[0] && receive(peer, until)) {
		if (strncmp(peer->in, start, strlen(start)) == 0)
			return peer_fail(peer, "'%s' was not expected", start);
	}
	return !peer->fail[0];
}

bool peer_header(struct peer *peer, const char *name, char *dst, size_t size)
{
	size_t len = strlen(name);
	const char *line = peer->in;

	dst[0] = '\0';
	while ((line = strstr(line, "\r\n"))) {
		line += 2;
		if (line[0] == '\r')
			break;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
			line += len + 1;
			line += strspn(line, " ");
			snprintf(dst, size, "%.*s", (int)strcspn(line, "\r"),
				 line);
			return true;
		}
	}
	return peer_fail(peer, "no header %s in '%.60s'", name, peer->in);
}

bool peer_has(struct peer *peer, const char *text)
{
	if (peer->fail[0] || strstr(peer->in, text))
		return !peer->fail[0];
	return peer_fail(peer, "'%s' is not in '%.60s'", text, peer->in);
}

bool peer_has_not(struct peer *peer, const char *text)
{
	if (peer->fail[0] || !strstr(peer->in, text))
		return !peer->fail[0];
	return peer_fail(peer, "'%s' is in '%.60s'", text, peer->in);
}

bool peer_send_raw(struct peer *peer, const char *text, size_t len)
{
	if (peer->fail[0])
		return false;
	if (sendto(peer->fd, text, len, 0, (struct sockaddr *)&peer->from,
		   sizeof(peer->from)) != (ssize_t)len)
		return peer_fail(peer, "sendto failed");
	return true;
}

static size_t body_add(char *text, size_t size, const char *extra,
		       const char *body)
{
	const char *type =
		!body ? ""
		: strncmp(body, "--b\r\n", 5) == 0
			? "Content-Type: multipart/mixed;boundary=b\r\n"
			: "Content-Type: application/sdp\r\n";

	return (size_t)snprintf(text, size, "%s%sContent-Length: %zu\r\n\r\n%s",
				extra ? extra : "", type,
				body ? strlen(body) : 0, body ? body : "");
}

bool peer_reply(struct peer *peer, int code, const char *reason,
		const char *extra, const char *body)
{
	char via[512], from[512], to[512], callid[256], cseq[64];
	char text[8192];
	size_t used;

	if (!peer_header(peer, "Via", via, sizeof(via)) ||
	    !peer_header(peer, "From", from, sizeof(from)) ||
	    !peer_header(peer, "To", to, sizeof(to)) ||
	    !peer_header(peer, "Call-ID", callid, sizeof(callid)) ||
	    !peer_header(peer, "CSeq", cseq, sizeof(cseq)))
		return false;
	used = (size_t)snprintf(
		text, sizeof(text),
		"SIP/2.0 %d %s\r\nVia: %s\r\nFrom: %s\r\nTo: %s%s%s\r\n"
		"Call-ID: %s\r\nCSeq: %s\r\n",
		code, reason, via, from, to,
		strstr(to, "tag=") || code == 100 ? "" : ";tag=",
		strstr(to, "tag=") || code == 100 ? "" : peer->tag, callid,
		cseq);
	if (code / 100 <= 2 && strstr(cseq, "INVITE"))
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "Contact: <sip:peer@127.0.0.1:%u>\r\n",
					 peer->port);
	used += body_add(text + used, sizeof(text) - used, extra, body);
	return peer_send_raw(peer, text, used);
}

bool peer_request(struct peer *peer, const char *method, const char *extra,
		  const char *body)
{
	bool ack = strcmp(method, "ACK") == 0;
	bool cancel = strcmp(method, "CANCEL") == 0;
	char text[8192];
	size_t used;

	if (!ack && !cancel)
		peer->cseq++;
	if (strcmp(method, "INVITE") == 0)
		peer->invite_branch = peer->cseq;
	used = (size_t)snprintf(
		text, sizeof(text),
		"%s %s SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:%u;"
		"branch=z9hG4bK%s%u%s;rport\r\nMax-Forwards: 70\r\n"
		"From: <sip:peer@127.0.0.1>;tag=%s\r\nTo: %s\r\n"
		"Call-ID: %s\r\nCSeq: %u %s\r\n"
		"Contact: <sip:peer@127.0.0.1:%u>\r\n",
		method, peer->target, peer->port, peer->tag,
		cancel ? peer->invite_branch : peer->cseq, ack ? "a" : "",
		peer->tag, peer->remote_to, peer->callid,
		ack || cancel ? peer->invite_branch : peer->cseq, method,
		peer->port);
	used += body_add(text + used, sizeof(text) - used, extra, body);
	return peer_send_raw(peer, text, used);
}

static bool uri_of(char *dst, size_t size, const char *value)
{
	const char *start = strchr(value, '<');
	const char *end = start ? strchr(start, '>') : NULL;

	if (!end)
		return false;
	snprintf(dst, size, "%.*s", (int)(end - start - 1), start + 1);
	return true;
}

bool peer_dialog_from_response(struct peer *peer)
{
	char contact[512];

	if (!peer_header(peer, "To", peer->remote_to,
			 sizeof(peer->remote_to)) ||
	    !peer_header(peer, "Contact", contact, sizeof(contact)))
		return false;
	return uri_of(peer->target, sizeof(peer->target), contact) ||
	       peer_fail(peer, "Contact '%s'", contact);
}

bool peer_tag_from_response(struct peer *peer)
{
	return peer_header(peer, "To", peer->remote_to,
			   sizeof(peer->remote_to));
}

bool peer_dialog_from_request(struct peer *peer)
{
	char contact[512];

	if (!peer_header(peer, "From", peer->remote_to,
			 sizeof(peer->remote_to)) ||
	    !peer_header(peer, "Call-ID", peer->callid, sizeof(peer->callid)) ||
	    !peer_header(peer, "Contact", contact, sizeof(contact)))
		return false;
	return uri_of(peer->target, sizeof(peer->target), contact) ||
	       peer_fail(peer, "Contact '%s'", contact);
}

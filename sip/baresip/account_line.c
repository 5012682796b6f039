/* The line of an account in baresip's file "accounts". */
#include "sip/baresip/internal.h"

#include "base/codec_names.h"

#include <stdio.h>
#include <string.h>

/* Not allowed in parameters of an account, as baresip has no quoting. */
#define PARAM_STOPS " \t\r\n;<>\""

static const char *encryption_name(enum media_encryption e)
{
	switch (e) {
	case MEDIA_ENCRYPTION_SDES:
		return "srtp";
	case MEDIA_ENCRYPTION_SDES_MANDATORY:
		return "srtp-mand";
	case MEDIA_ENCRYPTION_DTLS:
		return "dtls_srtp";
	case MEDIA_ENCRYPTION_NONE:
		break;
	}
	return NULL;
}

/* baresip names a codec by encoding, sampling rate and channels. */
static int codec_print(struct buf *b, const char *name)
{
	const struct codec_name *codec = codec_name_find(name);

	if (!codec)
		return -EINVAL;
	return buf_print(b, "%s/%u/%u", codec->encoding, codec->sample_hz,
			 codec->channels);
}

static int media_print(struct buf *b, const struct sip_account_media *m)
{
	static const char *const otherwise[] = {"PCMU", "PCMA"};
	const char *const *codecs = m->codec_count ? m->codecs : otherwise;
	size_t count = m->codec_count ? m->codec_count : 2;
	const char *encryption = encryption_name(m->encryption);
	int err = buf_print(b, ";audio_codecs=");

	for (size_t i = 0; !err && i < count; i++) {
		err = buf_print(b, "%s", i ? "," : "");
		if (!err)
			err = codec_print(b, codecs[i]);
	}
	if (!err && m->ptime_ms)
		err = buf_print(b, ";ptime=%u", m->ptime_ms);
	if (!err && encryption)
		err = buf_print(b, ";mediaenc=%s", encryption);
	return err;
}

/* baresip has one server: a TURN server also tells our own address. */
static const struct media_addr *nat_server(const struct media_nat_params *n)
{
	bool turn = n->mode == MEDIA_NAT_TURN ||
		    (n->mode == MEDIA_NAT_ICE && n->turn_server.len > 0);

	return turn ? &n->turn_server : &n->stun_server;
}

static bool nat_wants_turn(const struct media_nat_params *n)
{
	return n->mode != MEDIA_NAT_NONE && nat_server(n) == &n->turn_server;
}

static int nat_print(struct buf *b, const struct media_nat_params *n)
{
	static const char *const names[] = {
		[MEDIA_NAT_STUN] = "stun",
		[MEDIA_NAT_TURN] = "turn",
		[MEDIA_NAT_ICE] = "ice",
	};
	const struct media_addr *server = nat_server(n);
	bool turn = nat_wants_turn(n);
	char text[INET6_ADDRSTRLEN + 16];
	struct sa sa;
	int err;

	if (n->mode == MEDIA_NAT_NONE)
		return 0;
	err = buf_print(b, ";medianat=%s", names[n->mode]);
	if (err || server->len == 0)
		return err;
	if (sa_set_sa(&sa, (const struct sockaddr *)&server->ss) ||
	    re_snprintf(text, sizeof(text), "%J", &sa) < 0)
		return -EINVAL;
	return buf_print(b, ";stunserver=\"%s:%s\"", turn ? "turn" : "stun",
			 text);
}

int baresip_account_refuse(const struct sip_account_params *p, const char *what)
{
	if (p->reason)
		snprintf(p->reason, SIP_REASON_BYTES, "client baresip %s",
			 what);
	return -EINVAL;
}

static bool fits(const char *text)
{
	return !text || !strpbrk(text, PARAM_STOPS);
}

static int check_nat(const struct sip_account_params *p)
{
	const struct media_nat_params *n = &p->media->nat;

	if (!nat_wants_turn(n))
		return 0;
	if (!n->username || !n->username[0] || !n->password || !n->password[0])
		return baresip_account_refuse(
			p, "needs a user name and a password at the TURN "
			   "server: turn_credential_pool");
	if (!fits(n->username) || !fits(n->password))
		return baresip_account_refuse(
			p, "takes no user name or password at the TURN "
			   "server with a blank, a semicolon, a quote or "
			   "<>");
	return 0;
}

int baresip_line_check(const struct sip_account_params *p)
{
	if (p->username[0] == '\0' ||
	    strspn(p->username,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
		   "UVWXYZ0123456789-_.!~*'()+$") != strlen(p->username))
		return baresip_account_refuse(
			p, "takes user names of letters, digits and "
			   "-_.!~*'()+$ only");
	if (!fits(p->password) || !fits(p->auth_username))
		return baresip_account_refuse(
			p, "takes no password or authentication name "
			   "with a blank, a semicolon, a quote or <>");
	if (p->display_name && strpbrk(p->display_name, "\"\\<>\r\n"))
		return baresip_account_refuse(
			p, "takes no display name with quotes or <>");
	if (!fits(p->domain) || !fits(p->outbound_proxy) ||
	    !fits(p->target.host))
		return baresip_account_refuse(
			p, "takes no such domain, proxy or host");
	if (p->target.transport == SIP_TRANSPORT_TLS)
		return baresip_account_refuse(
			p, "does not verify certificates: transport tls "
			   "is for the native client");
	if (p->header_count > 0)
		return baresip_account_refuse(p, "sends no custom headers");
	return p->media ? check_nat(p) : 0;
}

static int target_print(struct buf *b, const struct sip_account_params *p)
{
	const char *transport =
		p->target.transport == SIP_TRANSPORT_TCP ? "tcp" : "udp";
	bool v6 = strchr(p->target.host, ':') && p->target.host[0] != '[';
	int err;

	if (p->outbound_proxy && p->outbound_proxy[0])
		return buf_print(b, ";outbound=\"%s%s\"",
				 strncmp(p->outbound_proxy, "sip:", 4) == 0
					 ? ""
					 : "sip:",
				 p->outbound_proxy);
	if (p->direct)
		return 0;
	err = buf_print(b, ";outbound=\"sip:%s%s%s", v6 ? "[" : "",
			p->target.host, v6 ? "]" : "");
	if (!err && p->target.port)
		err = buf_print(b, ":%u", p->target.port);
	return err ? err : buf_print(b, ";transport=%s\"", transport);
}

/* Write the parameters after "<sip:user@domain>". */
static int params_print(struct buf *b, const struct sip_account_params *p)
{
	static const struct sip_account_media none;
	const struct sip_account_media *m = p->media ? p->media : &none;
	bool turn = nat_wants_turn(&m->nat);
	/* without them baresip uses the account's */
	int err = buf_print(b,
			    ";answermode=manual;call_transfer=no;mwi=no"
			    ";stunuser=%s;stunpass=%s",
			    turn ? m->nat.username : "",
			    turn ? m->nat.password : "");

	if (!err && p->auth_username && p->auth_username[0])
		err = buf_print(b, ";auth_user=%s", p->auth_username);
	if (!err)
		err = buf_print(b, ";auth_pass=%s",
				p->password ? p->password : "");
	if (!err)
		err = target_print(b, p);
	if (!err)
		err = media_print(b, m);
	return err ? err : nat_print(b, &m->nat);
}

int baresip_line_set(struct baresip_account *a,
		     const struct sip_account_params *p)
{
	bool v6;
	struct buf b;
	int err;

	err = str_copy(a->domain, sizeof(a->domain),
		       p->domain ? p->domain : p->target.host);
	if (err)
		return err;
	v6 = strchr(a->domain, ':') && a->domain[0] != '[' &&
	     strchr(a->domain, ':') != strrchr(a->domain, ':');
	if (str_print(a->aor, sizeof(a->aor), v6 ? "sip:%s@[%s]" : "sip:%s@%s",
		      p->username, a->domain) < 0)
		return -ENAMETOOLONG;
	buf_init(&b, BARESIP_ACCOUNT_BYTES - 1);
	err = 0;
	if (p->display_name && p->display_name[0])
		err = buf_print(&b, "\"%s\" ", p->display_name);
	if (!err)
		err = buf_print(&b, "<%s>", a->aor);
	if (!err)
		err = params_print(&b, p);
	if (!err)
		err = str_copy(a->params, sizeof(a->params), b.data);
	if (b.data)
		explicit_bzero(b.data, b.allocated);
	buf_release(&b);
	return err;
}

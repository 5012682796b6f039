#include "control/wire/action_members.h"

#include <errno.h>
#include <string.h>

/* The SRTP suites of media/params.h, which cites their sources. */
static const char *const suites[] = {"AES_CM_128_HMAC_SHA1_80",
				     "AES_CM_128_HMAC_SHA1_32",
				     "AES_256_CM_HMAC_SHA1_80",
				     "AES_256_CM_HMAC_SHA1_32",
				     "AEAD_AES_128_GCM",
				     "AEAD_AES_256_GCM",
				     NULL};

static int suites_decode(struct decoder *d, json_t *object,
			 struct wire_action *a)
{
	json_t *array;
	int err = decode_array(d, object, "srtp_suites", WIRE_SRTP_SUITES_MAX,
			       &array);

	if (err)
		return err;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *name = json_string_value(json_array_get(array, i));
		size_t k;

		if (!name || !decode_word(suites, name, &k))
			return decoder_refuse_member(
				d, "srtp_suites",
				"there is no SRTP crypto suite \"%.30s\"",
				name ? name : "");
		for (size_t n = 0; n < a->srtp_suite_count; n++) {
			if (a->srtp_suites[n] == suites[k])
				return decoder_refuse_member(d, "srtp_suites",
							     "names %s twice",
							     suites[k]);
		}
		a->srtp_suites[a->srtp_suite_count++] = suites[k];
	}
	return 0;
}

/* Decode srtp_suites; media_encryption is decoded before. */
static int mux_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	json_t *value = json_object_get(object, "rtcp_mux");
	bool mux = false;

	if (!value || json_is_null(value)) {
		a->rtcp_mux = a->encryption == WIRE_ENCRYPTION_DTLS
				      ? WIRE_MUX_OFFER
				      : WIRE_MUX_TAKE;
		return 0;
	}
	if (decode_bool(d, object, "rtcp_mux", &mux))
		return -EINVAL;
	a->rtcp_mux = mux ? WIRE_MUX_OFFER : WIRE_MUX_REFUSE;
	return 0;
}

int wire_security_decode(struct decoder *d, json_t *object,
			 struct wire_action *a)
{
	static const char *const words[] = {"none",           "",     "sdes",
					    "sdes-mandatory", "dtls", NULL};
	static const enum wire_encryption values[] = {
		WIRE_ENCRYPTION_NONE, WIRE_ENCRYPTION_NONE,
		WIRE_ENCRYPTION_SDES, WIRE_ENCRYPTION_SDES_MANDATORY,
		WIRE_ENCRYPTION_DTLS};
	const char *text =
		json_string_value(json_object_get(object, "media_encryption"));
	json_t *value = json_object_get(object, "media_encryption");
	size_t k;

	if (value && !json_is_null(value)) {
		if (!text || !decode_word(words, text, &k))
			return decoder_refuse_member(
				d, "media_encryption",
				"must be none, sdes, sdes-mandatory or dtls");
		a->encryption = values[k];
	}
	if (mux_decode(d, object, a))
		return -EINVAL;
	return suites_decode(d, object, a);
}

/* DTLS-SRTP names no suites in SDP, the handshake selects one (RFC 5764 section
 * 4.1.2, RFC 7714 section 14.2); AES-256-CM has no protection profile. */
int wire_security_check(struct decoder *d, const struct wire_action *a)
{
	/* STUN and DTLS have no SSRC that tells whose they are */
	if (a->media_shared && a->nat != WIRE_NAT_NONE)
		return decoder_refuse_member(
			d, "media_path",
			"shared sockets are for calls without media_nat");
	if (a->media_shared && a->encryption == WIRE_ENCRYPTION_DTLS)
		return decoder_refuse_member(
			d, "media_path",
			"shared sockets are for calls without dtls");
	if (a->encryption != WIRE_ENCRYPTION_DTLS || a->srtp_suite_count == 0)
		return 0;
	for (size_t i = 0; i < a->srtp_suite_count; i++) {
		if (strncmp(a->srtp_suites[i], "AES_256_CM", 10) != 0)
			return 0;
	}
	return decoder_refuse_member(d, "srtp_suites",
				     "DTLS-SRTP has no profile for AES_256_CM: "
				     "name another one, too, or none");
}

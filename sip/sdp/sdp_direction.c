#include "sip/sdp/sdp_direction.h"

static const char *const direction_names[] = {
	[MEDIA_SENDRECV] = "sendrecv",
	[MEDIA_SENDONLY] = "sendonly",
	[MEDIA_RECVONLY] = "recvonly",
	[MEDIA_INACTIVE] = "inactive",
};

bool sdp_sends(enum media_direction direction)
{
	return direction == MEDIA_SENDRECV || direction == MEDIA_SENDONLY;
}

bool sdp_receives(enum media_direction direction)
{
	return direction == MEDIA_SENDRECV || direction == MEDIA_RECVONLY;
}

enum media_direction sdp_direction(bool sends, bool receives)
{
	if (sends)
		return receives ? MEDIA_SENDRECV : MEDIA_SENDONLY;
	return receives ? MEDIA_RECVONLY : MEDIA_INACTIVE;
}

const char *sdp_direction_name(enum media_direction direction)
{
	return direction_names[direction];
}

bool sdp_direction_parse(enum media_direction *ret, struct span attribute)
{
	for (unsigned i = MEDIA_SENDRECV; i <= MEDIA_INACTIVE; i++) {
		if (span_is(attribute, direction_names[i])) {
			*ret = (enum media_direction)i;
			return true;
		}
	}
	return false;
}

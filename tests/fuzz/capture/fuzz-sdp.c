/* Any bytes as a SIP message with SDP. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/endpoints.h"
#include "capture/sdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void learn(const struct sdp_media *media, void *arg)
{
	struct endpoints *e = arg;
	const struct rtp_payload_map *map;

	if (media->port == 0 || media->map.count > RTP_PAYLOADS_MAX)
		abort();
	endpoints_learn(e, media);
	map = endpoints_map(e, &media->address, media->port);
	if (!map || map->count < media->map.count)
		abort();
	for (size_t i = 0; i < map->count; i++) {
		if (map->entries[i].pt > 127 ||
		    memchr(map->entries[i].codec, 0, 16) == NULL)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct endpoints e;

	if (size < 1)
		return 0;
	endpoints_init(&e);
	sdp_is_sip(data + 1, size - 1);
	sdp_scan((const char *)data + 1, size - 1, data[0] & 1, learn, &e);
	endpoints_release(&e);
	return 0;
}

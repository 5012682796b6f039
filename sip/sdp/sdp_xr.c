#include "sip/sdp/sdp_xr.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "media/params.h"

/* The flags of stat-summary; without flags all are meant. */
static unsigned summary_flags(struct span s)
{
	unsigned flags = 0;

	if (s.p == s.end)
		return MEDIA_XR_SUMMARY;
	while (s.p < s.end) {
		struct span flag = span_until(&s, ',');

		if (span_is(flag, "loss"))
			flags |= MEDIA_XR_LOSS;
		else if (span_is(flag, "dup"))
			flags |= MEDIA_XR_DUPLICATES;
		else if (span_is(flag, "jitt"))
			flags |= MEDIA_XR_JITTER;
	}
	return flags;
}

unsigned sdp_xr_parse(struct span s)
{
	unsigned xr = 0;

	for (;;) {
		struct span word = span_word(&s);
		struct span name = span_until(&word, '=');

		if (name.p == name.end)
			return xr;
		if (span_is(name, "rcvr-rtt"))
			xr |= MEDIA_XR_RTT;
		else if (span_is(name, "stat-summary"))
			xr |= summary_flags(word);
		else if (span_is(name, "voip-metrics"))
			xr |= MEDIA_XR_VOIP;
	}
}

int sdp_xr_write(struct buf *b, unsigned xr)
{
	static const struct {
		unsigned flag;
		const char *text;
	} items[] = {
		{MEDIA_XR_RTT, "rcvr-rtt=all"},  {MEDIA_XR_LOSS, "loss"},
		{MEDIA_XR_DUPLICATES, "dup"},    {MEDIA_XR_JITTER, "jitt"},
		{MEDIA_XR_VOIP, "voip-metrics"},
	};
	const char *blank = "";
	bool in_summary = false;
	int err = 0;

	if (!xr)
		return 0;
	err = buf_texts(b, "a=rtcp-xr:", NULL);
	for (size_t i = 0; !err && i < sizeof(items) / sizeof(items[0]); i++) {
		bool flag = items[i].flag & MEDIA_XR_SUMMARY;

		if (!(xr & items[i].flag))
			continue;
		if (flag && in_summary)
			blank = ",";
		err = buf_texts(b, blank, NULL);
		if (!err && flag && !in_summary)
			err = buf_texts(b, "stat-summary=", NULL);
		if (!err)
			err = buf_texts(b, items[i].text, NULL);
		in_summary = flag;
		blank = " ";
	}
	return err ? err : buf_texts(b, "\r\n", NULL);
}

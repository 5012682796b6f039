#include "media/security/srtp_source.h"

#include <string.h>

#define SEQ_HALF 0x8000

struct srtp_source *srtp_source_find(struct srtp_sources *list, uint32_t ssrc)
{
	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		if (list->at[i].used && list->at[i].ssrc == ssrc)
			return &list->at[i];
	}
	return NULL;
}

struct srtp_source *srtp_source_place(struct srtp_sources *list)
{
	struct srtp_source *found = &list->at[0];

	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		struct srtp_source *s = &list->at[i];

		if (!s->used)
			return s;
		if (s->touched < found->touched)
			found = s;
	}
	return found;
}

struct srtp_source *srtp_source_take(struct srtp_sources *list, uint32_t ssrc)
{
	struct srtp_source *found = srtp_source_place(list);

	memset(found, 0, sizeof(*found));
	found->used = true;
	found->ssrc = ssrc;
	return found;
}

void srtp_sources_continue(struct srtp_sources *list,
			   const struct srtp_sources *before)
{
	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		const struct srtp_source *from = &before->at[i];
		struct srtp_source *to = &list->at[i];

		memset(to, 0, sizeof(*to));
		to->used = from->used;
		to->ssrc = from->ssrc;
		to->index = from->index;
		to->has_index = from->has_index;
		to->continued = from->has_index;
		to->rtcp_sent = from->rtcp_sent;
	}
	list->uses = 0;
}

uint64_t srtp_source_index(const struct srtp_source *s, uint16_t seq)
{
	uint64_t roc;
	uint16_t highest;

	if (!s || !s->has_index)
		return seq;
	roc = s->index >> 16;
	highest = (uint16_t)s->index;
	if (highest < SEQ_HALF) {
		if (seq > highest && seq - highest > SEQ_HALF && roc > 0)
			roc--;
	} else if (highest - SEQ_HALF > seq) {
		roc++;
	}
	return roc << 16 | seq;
}

bool srtp_window_seen(const struct srtp_window *w, uint64_t index)
{
	if (!w->any || index > w->highest)
		return false;
	if (w->highest - index >= SRTP_WINDOW)
		return true;
	return w->seen[index / 64 % SRTP_WINDOW_WORDS] >> (index % 64) & 1;
}

void srtp_window_add(struct srtp_window *w, uint64_t index)
{
	if (!w->any || index > w->highest) {
		uint64_t step = w->any ? index - w->highest : SRTP_WINDOW;

		if (step >= SRTP_WINDOW)
			memset(w->seen, 0, sizeof(w->seen));
		else
			for (uint64_t i = w->highest + 1; i < index; i++)
				w->seen[i / 64 % SRTP_WINDOW_WORDS] &=
					~(UINT64_C(1) << (i % 64));
		w->any = true;
		w->highest = index;
	}
	w->seen[index / 64 % SRTP_WINDOW_WORDS] |= UINT64_C(1) << (index % 64);
}

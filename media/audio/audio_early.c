#include "media/audio/audio_early.h"

#include <stdlib.h>
#include <string.h>

struct audio_early_item *audio_early_take(struct audio_early *e)
{
	struct audio_early_item *item = e->first;

	if (!item)
		return NULL;
	e->first = item->next;
	if (!e->first)
		e->last = NULL;
	e->count--;
	return item;
}

void audio_early_keep(struct audio_early *e, const struct payload *head,
		      const uint8_t *data)
{
	struct audio_early_item *item = malloc(sizeof(*item) + head->bytes);

	if (!item)
		return;
	if (e->count == AUDIO_EARLY_MAX)
		free(audio_early_take(e));
	item->next = NULL;
	item->head = *head;
	memcpy(item->data, data, head->bytes);
	if (e->last)
		e->last->next = item;
	else
		e->first = item;
	e->last = item;
	e->count++;
}

void audio_early_release(struct audio_early *e)
{
	while (e->first)
		free(audio_early_take(e));
}

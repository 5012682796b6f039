#include "capture/spool.h"

#include <errno.h>
#include <stdlib.h>

void spool_init(struct spool *s, size_t record_bytes, uint64_t max)
{
	*s = (struct spool){.record_bytes = record_bytes, .max = max};
}

void spool_release(struct spool *s)
{
	if (s->file)
		fclose(s->file);
	*s = (struct spool){0};
}

static off_t position(const struct spool *s, uint64_t number)
{
	return (off_t)(number * (s->record_bytes + sizeof(uint64_t)));
}

void spool_add(struct spool *s, struct spool_chain *chain, const void *record)
{
	if (!s->file && s->count < s->max)
		s->file = tmpfile();
	if (!s->file || s->count >= s->max ||
	    fwrite(&chain->last, sizeof(chain->last), 1, s->file) != 1 ||
	    fwrite(record, s->record_bytes, 1, s->file) != 1) {
		/* what was written of it is in the way of the next one */
		s->max = s->count;
		s->left_out++;
		return;
	}
	chain->last = ++s->count;
	chain->count++;
}

static int read_at(struct spool *s, uint64_t number, uint64_t *ret_before,
		   void *record)
{
	if (fseeko(s->file, position(s, number), SEEK_SET) ||
	    fread(ret_before, sizeof(*ret_before), 1, s->file) != 1)
		return -EIO;
	if (record && fread(record, s->record_bytes, 1, s->file) != 1)
		return -EIO;
	return 0;
}

int spool_walk(struct spool *s, const struct spool_chain *chain,
	       spool_h *handler, void *arg)
{
	uint64_t *number;
	uint64_t at = chain->last;
	uint64_t before;
	void *record;
	int err = 0;

	if (chain->count == 0)
		return 0;
	number = malloc(chain->count * sizeof(*number));
	record = malloc(s->record_bytes);
	if (!number || !record)
		err = -ENOMEM;
	/* backwards along the chain, then forwards */
	for (uint64_t i = chain->count; !err && i-- > 0;) {
		number[i] = at - 1;
		err = at > 0 ? read_at(s, at - 1, &at, NULL) : -EIO;
	}
	for (uint64_t i = 0; !err && i < chain->count; i++) {
		err = read_at(s, number[i], &before, record);
		if (!err)
			err = handler(record, arg);
	}
	free(number);
	free(record);
	return err;
}

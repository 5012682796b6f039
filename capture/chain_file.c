#include "capture/chain_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void chain_file_init(struct chain_file *s, size_t record_bytes, uint64_t max)
{
	*s = (struct chain_file){.record_bytes = record_bytes, .max = max};
}

void chain_file_release(struct chain_file *s)
{
	if (s->file)
		fclose(s->file);
	*s = (struct chain_file){0};
}

void chain_file_add(struct chain_file *s, struct chain *chain,
		    const void *record)
{
	if (!s->file && s->count < s->max)
		s->file = tmpfile();
	if (!s->file || s->count >= s->max ||
	    fwrite(&chain->last, sizeof(chain->last), 1, s->file) != 1 ||
	    fwrite(record, s->record_bytes, 1, s->file) != 1) {
		/* a partly written record may lie at the end: append no more */
		s->max = s->count;
		s->left_out++;
		return;
	}
	chain->last = ++s->count;
	chain->count++;
}

/* pread() instead of fseek(): that discards the FILE's buffer and fills all of it
 * for each record. */
static int read_at(const struct chain_file *s, uint64_t number, size_t at,
		   void *ret, size_t bytes)
{
	const size_t whole = sizeof(uint64_t) + s->record_bytes;
	ssize_t got = pread(fileno(s->file), ret, bytes,
			    (off_t)(number * whole + at));

	return got == (ssize_t)bytes ? 0 : -EIO;
}

int chain_file_walk(struct chain_file *s, const struct chain *chain,
		    chain_file_h *handler, void *arg)
{
	uint64_t *number;
	uint64_t at = chain->last;
	void *record;
	int err = 0;

	if (chain->count == 0)
		return 0;
	if (fflush(s->file))
		return -EIO;
	number = malloc(chain->count * sizeof(*number));
	record = malloc(s->record_bytes);
	if (!number || !record)
		err = -ENOMEM;
	/* backwards along the chain, then forwards */
	for (uint64_t i = chain->count; !err && i-- > 0;) {
		number[i] = at - 1;
		err = at > 0 ? read_at(s, at - 1, 0, &at, sizeof(at)) : -EIO;
	}
	for (uint64_t i = 0; !err && i < chain->count; i++) {
		err = read_at(s, number[i], sizeof(uint64_t), record,
			      s->record_bytes);
		if (!err)
			err = handler(record, arg);
	}
	free(number);
	free(record);
	return err;
}

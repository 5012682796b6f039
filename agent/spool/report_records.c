#include "agent/spool/report_records.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/wire/event.h"
#include "control/wire/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Interval of the flaws about what was left out, so that a crash loses little of the
 * count. */
#define TELL_NS (10 * NS_PER_S)

static int keep(struct report_records *r, enum record_kind kind, json_t *items);

static int keep_half(struct report_records *r, enum record_kind kind,
		     json_t *items, size_t from, size_t to)
{
	json_t *half = json_array();
	int err = half ? 0 : -ENOMEM;

	for (size_t i = from; i < to && err == 0; i++)
		err = json_array_append(half, json_array_get(items, i))
			      ? -ENOMEM
			      : 0;
	if (err == 0)
		err = keep(r, kind, half);
	json_decref(half);
	return err;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* @return 0, also where there is no room or the text is too long (counted);
 * -errno */
static int append(struct report_records *r, enum record_kind kind,
		  const char *text, size_t len, size_t count)
{
	int err = spool_append(r->spool, kind, text, len);

	if (err == -EDQUOT && kind == RECORD_STATS)
		r->dropped += count;
	else if (is_full(err))
		r->disk_full += count;
	else if (err == -EMSGSIZE)
		r->too_long += count;
	else
		return err;
	return 0;
}

/* @return as append() */
static int keep(struct report_records *r, enum record_kind kind, json_t *items)
{
	size_t count = json_array_size(items);
	char *text = json_dumps(items, JSON_COMPACT | JSON_EXACT);
	int err;

	if (!text)
		return -ENOMEM;
	if (strlen(text) > REPORT_UPLOAD_BYTES && count > 1) {
		free(text);
		err = keep_half(r, kind, items, 0, count / 2);
		return err ? err : keep_half(r, kind, items, count / 2, count);
	}
	err = append(r, kind, text, strlen(text), count);
	free(text);
	return err;
}

/* Where the flaw has no room the count stays, for the next time.
 * @return 0, also without room; -errno */
static int tell(struct report_records *r, const char *name, uint64_t *count,
		const char *why)
{
	struct wire_time when = {.wall_us = clock_wall_ns() / NS_PER_US,
				 .mono_ns = clock_mono_ns()};
	json_t *events;
	char *text;
	int err;

	if (!*count)
		return 0;
	events = json_pack("[o]", wire_event_flaw(when, name, *count, why));
	text = events ? json_dumps(events, JSON_COMPACT) : NULL;
	json_decref(events);
	if (!text)
		return -ENOMEM;
	r->told_ns = when.mono_ns;
	err = spool_append(r->spool, RECORD_EVENTS, text, strlen(text));
	free(text);
	if (err == 0)
		*count = 0;
	return is_full(err) ? 0 : err;
}

/* Report what was left out since the last time. @return as append() */
static int tell_left_out(struct report_records *r)
{
	int err = tell(r, "spool_overflow", &r->dropped,
		       "data points dropped: the spool of the agent was full");
	int later = tell(r, "record_too_long", &r->too_long,
			 "items dropped: each is longer than the 1 MiB that "
			 "one upload holds");
	int last = tell(r, "disk_full", &r->disk_full,
			"data points, events or SIP messages dropped: the disk "
			"of the agent was full");

	err = err ? err : later;
	return err ? err : last;
}

int report_records_items(struct report_records *r, enum record_kind kind,
			 json_t *items, const char *text, size_t len)
{
	size_t count = json_array_size(items);
	int err;

	if (count == 0)
		return 0;
	if (text && len <= REPORT_UPLOAD_BYTES)
		err = append(r, kind, text, len, count);
	else
		err = keep(r, kind, items);
	if (err == 0 && (r->dropped || r->too_long || r->disk_full) &&
	    (!r->told_ns || clock_mono_ns() - r->told_ns >= TELL_NS))
		err = tell_left_out(r);
	if (err && !r->err)
		r->err = err;
	return err;
}

int report_records_lost(struct report_records *r, const char *name,
			const char *why)
{
	struct wire_time when = {.wall_us = clock_wall_ns() / NS_PER_US,
				 .mono_ns = clock_mono_ns()};
	json_t *events =
		json_pack("[o]", wire_event_artifact_lost(when, name, why));
	int err = events ? keep(r, RECORD_EVENTS, events) : -ENOMEM;

	json_decref(events);
	return err;
}

void report_records_untold(struct report_records *r, char *error, size_t size)
{
	const int err = r->spool ? tell_left_out(r) : 0;
	const uint64_t count = r->dropped + r->too_long + r->disk_full;

	if (r->spool && count && !error[0])
		str_print(error, size,
			  "the %s of the agent was full: %" PRIu64
			  " data points, events or SIP messages were dropped",
			  err ? "spool" : "disk", count);
}

int report_records_finish(struct report_records *r, const char *outcome,
			  const char *reason)
{
	json_t *finish =
		json_pack("{s:s,s:s}", "outcome", outcome, "reason", reason);
	char *text = finish ? json_dumps(finish, JSON_COMPACT) : NULL;
	int err = text ? spool_append_finish(r->spool, text) : -ENOMEM;

	free(text);
	json_decref(finish);
	return err;
}

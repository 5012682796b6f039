/* The file of the packets that the job's calls sent and received. */
#include "agent/engine/engine_internal.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CAPTURE_NAME "rtp.pcap"
/* As much as a recording (media/audio/audio_record.h): 800,000 packets without
 * payload. */
#define CAPTURE_BYTES_MAX (48u << 20)

static bool wanted(const struct wire_job *job)
{
	for (size_t i = 0; i < job->step_count; i++) {
		const struct wire_step *step = &job->steps[i];

		for (size_t k = 0; k < step->action_count; k++) {
			if (step->actions[k].rtp_capture)
				return true;
		}
	}
	return false;
}

static void lost(struct engine *e, int err)
{
	report_event(e->report,
		     wire_event_artifact_lost(
			     report_time(e->report, clock_mono_ns()),
			     CAPTURE_NAME,
			     err == -ENOTSUP ? "nobody takes artifacts"
					     : strerror(-err)));
}

void engine_capture_begin(struct engine *e, struct media_capture_params *ret)
{
	int err;

	*ret = (struct media_capture_params){0};
	if (!wanted(e->job))
		return;
	err = report_artifact_path(e->report, CAPTURE_NAME, e->capture_path,
				   sizeof(e->capture_path));
	if (err) {
		lost(e, err);
		return;
	}
	ret->path = e->capture_path;
	ret->wall_offset_ns = report_wall_offset_ns(e->report);
	ret->bytes_max = CAPTURE_BYTES_MAX;
}

static void cut_report(struct engine *e, const struct media_captured *c)
{
	unsigned long long unwritten = c->unwritten, dropped = c->dropped;
	char text[160];

	if (unwritten)
		snprintf(text, sizeof(text),
			 "it has reached its %u MiB after %llu packets, and "
			 "%llu later ones are missing",
			 CAPTURE_BYTES_MAX >> 20,
			 (unsigned long long)c->packets, unwritten + dropped);
	else
		snprintf(text, sizeof(text),
			 "%llu packets are missing: the queue to its writer "
			 "was full",
			 dropped);
	report_event(e->report, wire_event_artifact_cut(
					report_time(e->report, clock_mono_ns()),
					CAPTURE_NAME, text));
}

void engine_capture_end(struct engine *e)
{
	struct media_captured captured;
	int err = e->media ? media_engine_capture_end(e->media, &captured)
			   : -ENOENT;

	if (err)
		return; /* none was wanted, or it was lost at the beginning */
	err = captured.err;
	/* without calls there is nothing to hand over */
	if (!err && captured.packets == 0)
		return;
	if (!err)
		err = report_artifact(e->report, CAPTURE_NAME);
	if (err)
		lost(e, err);
	else if (captured.unwritten || captured.dropped)
		cut_report(e, &captured);
	log_info("run=%s role=%s %llu packets are in " CAPTURE_NAME,
		 e->job->session_id, e->job->role,
		 (unsigned long long)captured.packets);
}

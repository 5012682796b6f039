#include "control/server/report/quality.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "control/rescore/packets.h"
#include "control/rescore/rescore.h"
#include "control/rescore/run_streams.h"
#include "control/server/report/download.h"
#include "control/server/report/report_data.h"
#include "control/server/request/request.h"
#include "control/server/store/store_run.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the query ---- */

/* @return NULL: it is not there */
static const char *parameter(const struct request *req, const char *name)
{
	json_t *query = request_query(req), *pair;
	size_t i;

	json_array_foreach(query, i, pair)
	{
		if (strcmp(json_string_value(json_array_get(pair, 0)), name) ==
		    0)
			return json_string_value(json_array_get(pair, 1));
	}
	return NULL;
}

static void refuse(struct reply *rep, const char *name, const char *reason)
{
	if (reply_status(rep) != 422)
		reply_problem(rep, 422, "the query parameter '%s': %s", name,
			      reason);
	reply_pointer(rep, name, "%s", reason);
}

/* @return the parameter is there, and a number in this range */
static bool read_number(const struct request *req, struct reply *rep,
			const char *name, double min, double max, double *ret)
{
	const char *text = parameter(req, name);
	char reason[RESCORE_REASON_BYTES];
	double x;

	if (!text)
		return false;
	if (!str_to_double(text, &x) && x >= min && x <= max) {
		*ret = x;
		return true;
	}
	str_print(reason, sizeof(reason), "is a number, %g to %g", min, max);
	refuse(rep, name, reason);
	return false;
}

/* @return false: the reply is a 422 */
static bool read_options(const struct request *req, struct reply *rep,
			 struct rescore_options *o)
{
	const char *buffers = parameter(req, "jitter_buffer");
	const char *codec = parameter(req, "codec");
	char reason[RESCORE_REASON_BYTES];

	rescore_options_init(o);
	o->capture.streams_max = QUALITY_STREAMS_MAX;
	if (buffers && rescore_options_buffers(o, buffers, reason))
		refuse(rep, "jitter_buffer", reason);
	if (codec && rescore_options_codec(o, codec))
		refuse(rep, "codec", "there are no values of this codec");
	read_number(req, rep, "least", 1.0, RESCORE_LEAST_MAX, &o->least_mos);
	o->has_network = read_number(req, rep, "network_delay", 0.0,
				     RESCORE_NETWORK_MAX_MS, &o->network_ms);
	return reply_status(rep) == 0;
}

/* ---- the run ---- */

/* Read the packets of a run. @return 0; negative errno */
static int read_packets(struct request *req, const json_t *run,
			const struct capture_options *options,
			struct packets *ret)
{
	FILE *file;
	int err = download_packets_file(req, run, &file);

	if (err)
		return err;
	if (fflush(file) || lseek(fileno(file), 0, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		err = packets_read(ret, fileno(file), options);
	fclose(file);
	return err;
}

/* The run's own figures of its streams. @return 0; negative errno */
static int read_streams(struct request *req, const json_t *run, json_t **ret)
{
	json_t *report = NULL;
	struct buf text;
	int err;

	buf_init(&text, REPORT_DATA_BYTES);
	err = report_data(request_store(req), request_conf(req),
			  text_of(run, "session_id"), NULL, &text);
	if (!err) {
		report =
			json_loadb((const char *)text.data, text.used, 0, NULL);
		*ret = report ? run_streams_new(report) : NULL;
		err = *ret ? 0 : -ENOMEM;
	}
	json_decref(report);
	buf_release(&text);
	return err;
}

static int rescore_run(struct request *req, const json_t *run,
		       const struct rescore_options *options, json_t **ret)
{
	struct packets *packets = calloc(1, sizeof(*packets));
	struct rescore r = {.options = options, .packets = packets, .run = run};
	json_t *streams = NULL;
	int err = packets ? 0 : -ENOMEM;

	if (!err)
		err = read_packets(req, run, &options->capture, packets);
	if (!err)
		err = read_streams(req, run, &streams);
	if (!err) {
		r.streams = streams;
		*ret = rescore_json(&r);
		err = *ret ? 0 : -ENOMEM;
	}
	if (packets)
		packets_release(packets);
	free(packets);
	json_decref(streams);
	return err;
}

static bool is_finished(const json_t *run)
{
	return json_integer_value(json_object_get(run, "is_finished")) != 0;
}

void run_quality(struct request *req, struct reply *rep)
{
	struct rescore_options options;
	json_t *run = NULL, *found = NULL;
	int err;

	if (!read_options(req, rep, &options))
		return;
	err = store_run_get(request_store(req), request_param(req, 0), &run);
	if (err) {
		reply_store_error(rep, err, "run");
	} else if (!is_finished(run)) {
		reply_problem(rep, 409,
			      "the run is in progress: its packets are there "
			      "when it is over");
	} else if ((err = rescore_run(req, run, &options, &found))) {
		log_error("packets of run %s: %s", text_of(run, "session_id"),
			  strerror(-err));
		reply_unavailable(
			rep, REPLY_RETRY_S,
			"the packets of the run could not be read: %s",
			strerror(-err));
	} else {
		reply_json(rep, 200, found);
	}
	json_decref(run);
}

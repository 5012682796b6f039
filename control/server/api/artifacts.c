#include "control/server/api/artifacts.h"

#include "base/log.h"
#include "control/server/api/file_reply.h"
#include "control/server/api/page.h"
#include "control/server/api/resource.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store_artifact.h"
#include "control/server/store/store_run.h"
#include "control/wire/artifact.h"

#include <errno.h>
#include <string.h>

void run_artifacts(struct request *req, struct reply *rep)
{
	json_t *run, *rows;
	struct page page;
	int64_t total;
	int err;

	if (!page_read(req, &page, rep))
		return;
	err = store_run_get(request_store(req), request_param(req, 0), &run);
	if (err == 0) {
		err = store_artifact_list(
			request_store(req),
			json_integer_value(json_object_get(run, "id")), &page,
			&rows, &total);
		json_decref(run);
	}
	if (err)
		reply_store_error(rep, err, "run");
	else
		page_reply(req, rep, "artifacts", rows, &page, total);
}

static void send_artifact(struct request *req, struct reply *rep,
			  const char *session_id,
			  const struct artifact_found *found)
{
	const char *name = request_param(req, 2);
	char path[CONF_PATH_BYTES];
	int err = artifact_file_path(path, request_conf(req), session_id,
				     found->file);

	if (err == 0)
		err = reply_file(rep, path, name, found->sha256,
				 wire_artifact_type(name));
	if (err == 0)
		return;
	log_error("%s: artifact %s: %s", session_id, name, strerror(-err));
	reply_problem(rep, 500, "the file of the artifact is lost");
}

void run_artifact_content(struct request *req, struct reply *rep)
{
	struct artifact_found found;
	json_t *run;
	int err =
		store_run_get(request_store(req), request_param(req, 0), &run);

	if (err) {
		reply_store_error(rep, err, "run");
		return;
	}
	err = store_artifact_find(
		request_store(req),
		json_integer_value(json_object_get(run, "id")),
		request_param(req, 1), request_param(req, 2), &found);
	if (err)
		reply_store_error(rep, err, "artifact");
	else
		send_artifact(
			req, rep,
			json_string_value(json_object_get(run, "session_id")),
			&found);
	json_decref(run);
}

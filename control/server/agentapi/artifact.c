#include "control/wire/artifact.h"
#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/agentapi/common.h"
#include "control/server/request/upload.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store_artifact.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

/* @param of_file  the file was not written; else it is an error of the store */
static void refuse(struct request *req, struct reply *rep, int err,
		   bool of_file)
{
	if (!of_file && err != -EFBIG) {
		agent_refuse(rep, err);
		return;
	}
	switch (err) {
	case -EFBIG:
		reply_problem(
			rep, 413,
			"the run has %d artifacts, or they are larger "
			"than %llu bytes together (artifact_limit)",
			ARTIFACTS_PER_RUN,
			(unsigned long long)request_conf(req)->artifact_limit);
		break;
	case -ENOSPC:
	case -EDQUOT:
		reply_file_error(rep, err);
		break;
	default:
		agent_refuse(rep, err);
		break;
	}
}

/* Write the file, then its row.
 * @param of_file  becomes true if the file could not be written
 * @return 1 replaced; 0 new; -errno */
static int keep(struct request *req, struct artifact *a, const void *data,
		bool *of_file)
{
	const struct controller_conf *conf = request_conf(req);
	const struct lease_times times = agent_times(req);
	char session_id[UUID_TEXT_BYTES], old_file[UUID_TEXT_BYTES];
	int err =
		store_artifact_check(request_store(req), a, &times, session_id);

	if (err == 0) {
		err = artifact_file_write(conf, session_id, a->file, data,
					  (size_t)a->size);
		*of_file = err != 0;
	}
	if (err)
		return err;
	err = store_artifact_put(request_store(req), a, &times, old_file);
	if (err < 0)
		artifact_file_delete(conf, session_id, a->file);
	else if (err > 0)
		artifact_file_delete(conf, session_id, old_file);
	return err;
}

static void hash(const void *data, size_t len,
		 char hex[static APPIMAGE_HASH_BYTES])
{
	unsigned char bytes[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(bytes, data, len);
	sodium_bin2hex(hex, APPIMAGE_HASH_BYTES, bytes, sizeof(bytes));
}

void agent_lease_artifact(struct request *req, struct reply *rep)
{
	const void *data = request_upload(req) ? request_upload(req)->data : "";
	size_t len = request_upload(req) ? request_upload(req)->len : 0;
	char sha256[APPIMAGE_HASH_BYTES], file[UUID_TEXT_BYTES];
	struct artifact a = {
		.agent_id = request_agent_id(req),
		.lease_id = agent_lease(req, rep),
		.name = request_param(req, 1),
		.size = (int64_t)len,
		.sha256 = sha256,
		.file = file,
		.run_limit_bytes = (int64_t)request_conf(req)->artifact_limit,
	};
	bool of_file = false;
	int err;

	if (!a.lease_id)
		return;
	if (!wire_artifact_name_valid(a.name)) {
		reply_problem(rep, 422,
			      "the name of an artifact has 1 to %d letters, "
			      "digits, dots, dashes and underscores, begins "
			      "with a letter or digit and does not end in %s",
			      WIRE_ARTIFACT_NAME_BYTES - 1, WIRE_ARTIFACT_PART);
		reply_pointer(rep, "name", "is no name of an artifact");
		return;
	}
	if (request_upload(req) &&
	    strcasecmp(request_upload(req)->media_type,
		       "application/octet-stream") != 0) {
		reply_problem(rep, 415,
			      "the body must be application/octet-stream");
		return;
	}
	hash(data, len, sha256);
	uuid_make(file);
	err = keep(req, &a, data, &of_file);
	if (err < 0) {
		log_warning("lease=%s: artifact %s was not kept: %s",
			    a.lease_id, a.name, strerror(-err));
		refuse(req, rep, err, of_file);
		return;
	}
	reply_json(rep, err ? 200 : 201,
		   json_pack("{s:s, s:I, s:s}", "name", a.name, "size",
			     (json_int_t)len, "sha256", sha256));
}

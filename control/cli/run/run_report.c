#include "control/cli/run/run_report.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/wire/text.h"

#include <string.h>

#define PATH_BYTES 200
#define ID_MAX     100

int run_report_run(struct client *c, const char *id, json_t **ret)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	size_t len = id ? strspn(id, "abcdefghijklmnopqrstuvwxyz"
				     "0123456789-")
			: 0;
	int status;

	if (!len || len > ID_MAX || id[len])
		return client_usage("which run? its number or session id, as "
				    "of `offhook run list`");
	str_print(path, sizeof(path), "/runs/%s", id);
	status = client_call(c, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	*ret = json_incref(json_object_get(a.body, "run"));
	remote_answer_release(&a);
	return *ret ? 0
		    : client_refused(c, "the answer of the controller has no "
					"run");
}

int run_report_read(struct client *c, const char *id, json_t **ret)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	json_t *run = NULL;
	int status = run_report_run(c, id, &run);

	if (status)
		return status;
	str_print(path, sizeof(path), "/run/details/%s/data",
		  text_of(run, "session_id"));
	status = client_call(c, "GET", path, NULL, NULL, &a);
	if (!status) {
		/* its own run has no number */
		json_object_set(a.body, "run", run);
		*ret = json_incref(a.body);
		remote_answer_release(&a);
	}
	json_decref(run);
	return status;
}

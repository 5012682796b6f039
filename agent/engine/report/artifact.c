#include "control/wire/artifact.h"
#include "agent/engine/engine_internal.h"
#include "base/str.h"

#include <errno.h>

int artifact_path(const struct engine *e, const char *name, char *dst,
		  size_t size)
{
	if (!e->settings.artifact_dir[0])
		return -ENOTSUP;
	if (!wire_artifact_name_valid(name))
		return -EINVAL;
	return str_print(dst, size, "%s/%s" WIRE_ARTIFACT_PART,
			 e->settings.artifact_dir, name) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

int artifact_give(struct engine *e, const char *name)
{
	json_t *message;
	int err;

	if (!e->settings.artifact_dir[0])
		return -ENOTSUP;
	if (!wire_artifact_name_valid(name))
		return -EINVAL;
	message = json_pack("{s:s, s:s}", "type", "artifact", "name", name);
	err = message ? wire_channel_send(e->channel, message) : -ENOMEM;
	json_decref(message);
	return err;
}

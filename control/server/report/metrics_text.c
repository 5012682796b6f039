#include "control/server/report/metrics_text.h"

int metrics_text_head(struct buf *b, const char *name, const char *type,
		      const char *help)
{
	return buf_print(b, "# HELP offhook_%s %s\n# TYPE offhook_%s %s\n",
			 name, help, name, type);
}

int metrics_text_label(struct buf *b, const char *name, const char *value)
{
	int err = buf_print(b, "%s=\"", name);

	for (; !err && *value; value++) {
		if (*value == '"' || *value == '\\')
			err = buf_add(b, "\\", 1);
		if (!err)
			err = *value == '\n' ? buf_add(b, "\\n", 2)
					     : buf_add(b, value, 1);
	}
	return err ? err : buf_add(b, "\"", 1);
}

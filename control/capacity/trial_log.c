#include "control/capacity/trial_log.h"

#include <errno.h>
#include <string.h>

int trial_log_init(struct trial_log *l, const struct search_params *params)
{
	int err;

	*l = (struct trial_log){.search = NULL};
	err = search_new(&l->search, params);
	if (err)
		return err;
	l->runs = json_array();
	l->causes = json_array();
	return l->runs && l->causes ? 0 : -ENOMEM;
}

void trial_log_release(struct trial_log *l)
{
	search_free(l->search);
	json_decref(l->runs);
	json_decref(l->causes);
	*l = (struct trial_log){.search = NULL};
}

static unsigned cause_number(struct trial_log *l, const char *text)
{
	size_t count = json_array_size(l->causes);

	for (size_t i = 0; i < count; i++)
		if (strcmp(json_string_value(json_array_get(l->causes, i)),
			   text) == 0)
			return (unsigned)i;
	if (!text[0] || json_array_append_new(l->causes, json_string(text)))
		return SEARCH_CAUSE_NONE;
	return (unsigned)count;
}

int trial_log_add(struct trial_log *l, double load,
		  const struct trial_verdict *v, const char *session_id,
		  const char *report_url)
{
	const struct search_trial trial = {
		.load = load,
		.outcome = v->outcome,
		.cause = v->outcome == SEARCH_FAILED
				 ? cause_number(l, v->condition)
				 : SEARCH_CAUSE_NONE,
	};

	if (json_array_append_new(l->runs, json_pack("{s:s, s:s, s:s?}",
						     "sentence", v->sentence,
						     "session_id", session_id,
						     "report_url", report_url)))
		return -ENOMEM;
	return search_add(l->search, &trial);
}

#include "control/server/judge/judge.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int judge_set(const struct judge_input *in,
		     const struct condition_set *set, json_t *verdicts)
{
	int err = 0;

	for (size_t i = 0; !err && i < set->count; i++)
		err = set->type->judge(in, &set->conditions[i], verdicts);
	if (!err && set->type->judge_set)
		err = set->type->judge_set(in, set, verdicts);
	return err;
}

/* Joins sentences up to the ceiling, then counts. */
struct sentences {
	struct buf text;
	size_t left_out;
	int err;
};

static void sentence_add(struct sentences *s, const char *text)
{
	/* Room for "; and N more" stays. */
	if (s->left_out ||
	    s->text.used + strlen(text) + 2 > JUDGE_DESCRIPTION_BYTES - 40) {
		s->left_out++;
		return;
	}
	if (!s->err)
		s->err = buf_print(&s->text, "%s%s", s->text.used ? "; " : "",
				   text);
	if (!s->err)
		str_utf8_repair(s->text.data);
}

static int sentences_end(struct sentences *s, char **ret)
{
	if (!s->err && s->left_out)
		s->err = buf_print(&s->text, "; and %zu more", s->left_out);
	if (!s->err && !s->text.used) {
		*ret = strdup("");
		s->err = *ret ? 0 : -ENOMEM;
	} else if (!s->err) {
		*ret = s->text.data;
		buf_init(&s->text, 0);
	}
	buf_release(&s->text);
	return s->err;
}

/* A tester that lost packets itself has measured nothing. */
static void add_flaws(struct sentences *s, const struct judge_input *in)
{
	const struct flaw_record *flaws = RECORDS(in, flaws, flaw_record);
	const struct role_record *roles = RECORDS(in, roles, role_record);

	for (size_t i = 0; i < in->flaws.count; i++) {
		char text[2 * JUDGE_REASON_BYTES];

		str_print(text, sizeof(text),
			  "%s: the tester itself was at fault: %.60s %" PRId64
			  " (%.200s)",
			  flaws[i].role, flaws[i].name, flaws[i].count,
			  flaws[i].text);
		sentence_add(s, text);
	}
	for (size_t i = 0; i < in->roles.count; i++) {
		char text[JUDGE_REASON_BYTES];

		if (roles[i].has_evidence)
			continue;
		str_print(text, sizeof(text),
			  "%s: the agent gave no evidence that it was not at "
			  "fault itself (packets dropped or sent late)",
			  roles[i].role);
		sentence_add(s, text);
	}
}

static void add_failures(struct sentences *s, const json_t *verdicts)
{
	const json_t *verdict;
	size_t i;

	json_array_foreach(verdicts, i, verdict)
	{
		const char *text =
			json_string_value(json_object_get(verdict, "sentence"));

		if (json_is_true(json_object_get(verdict, "passed")))
			continue;
		sentence_add(s, text ? text : "a condition failed");
	}
}

int judge_run(struct judge_result *ret, struct judge_input *in,
	      const struct judge_conditions *conditions)
{
	struct sentences sentences = {0};
	enum judge_status status = JUDGE_PASSED;
	json_t *verdicts = json_array();
	char *description = NULL;
	int err;

	buf_init(&sentences.text, JUDGE_DESCRIPTION_BYTES);
	err = verdicts ? judge_input_link(in) : -ENOMEM;
	if (!err)
		err = builtin_judge(in, conditions, verdicts);
	for (size_t i = 0; !err && i < conditions->count; i++)
		err = judge_set(in, &conditions->sets[i], verdicts);
	if (err)
		goto out;
	add_flaws(&sentences, in);
	if (sentences.text.used)
		status = JUDGE_ERRORED;
	else
		add_failures(&sentences, verdicts);
	if (status == JUDGE_PASSED && sentences.text.used)
		status = JUDGE_FAILED;
	if (status == JUDGE_PASSED && !json_array_size(verdicts)) {
		status = JUDGE_FAILED;
		sentence_add(&sentences,
			     "the run did nothing that could be judged");
	}
	err = sentences_end(&sentences, &description);
	if (err)
		goto out;
	*ret = (struct judge_result){.status = status,
				     .verdicts = verdicts,
				     .description = description,
				     .flaws = in->flaws.count};
	return 0;
out:
	buf_release(&sentences.text);
	json_decref(verdicts);
	return err;
}

void judge_result_release(struct judge_result *r)
{
	json_decref(r->verdicts);
	free(r->description);
	*r = (struct judge_result){0};
}

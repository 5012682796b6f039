#include "control/server/api/descriptions.h"

#include "control/server/judge/describe.h"
#include "control/server/run/step_describe.h"

void descriptions_get(struct request *req, struct reply *rep)
{
	json_t *body = json_pack("{s:{s:o, s:o, s:o, s:o}}", "descriptions",
				 "limits", steps_describe_limits(), "actions",
				 steps_describe_actions(), "script_actions",
				 steps_describe_script(), "conditions",
				 judge_describe());

	(void)req;
	if (!body)
		reply_problem(rep, 500, "out of memory");
	else
		reply_json(rep, 200, body);
}

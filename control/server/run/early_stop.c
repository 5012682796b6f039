#include "control/server/run/early_stop.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/judge/judge.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/judge_input.h"
#include "control/server/run/case_input.h"
#include "control/server/store/store_lease_run.h"

#include <errno.h>

#define ENOUGH                                                              \
	"the run ended before all its calls were placed: the calls so far " \
	"decide its conditions (stop_early)"

/* @return 1 it is decided; 0; -errno */
static int look_at(struct store *store, const struct run_case *c)
{
	struct judge_conditions *conditions = NULL;
	struct judge_problem problem;
	struct judge_input *in = NULL;
	int err = judge_conditions_new(&conditions, c->conditions, &problem);

	if (!err && judge_conditions_stop_early(conditions)) {
		err = judge_input_new(&in);
		if (!err)
			err = case_input_peek(store, c, conditions, in);
		if (!err)
			err = judge_is_decided(in, conditions);
	}
	judge_input_free(in);
	judge_conditions_free(conditions);
	/* one that cannot be judged is left to the end */
	return err == -EINVAL || err == -EMSGSIZE ? 0 : err;
}

static int look_at_all(struct store *store)
{
	int64_t id = 0;
	int moved = 0, err;
	struct run_case c;

	while ((err = store_run_to_watch(store, id, &c)) > 0) {
		id = c.id;
		err = look_at(store, &c);
		if (err > 0)
			err = store_run_enough(store, id, ENOUGH);
		if (err > 0)
			log_info("run=%s its calls are enough", c.session_id);
		run_case_release(&c);
		if (err < 0)
			break;
		moved |= err > 0;
	}
	return err < 0 ? err : moved;
}

int early_stop_look(struct early_stop *e, struct store *store)
{
	int64_t begun_ns = clock_mono_ns(), took_ns;
	int moved;

	if (begun_ns < e->next_ns)
		return 0;
	moved = look_at_all(store);
	took_ns = clock_mono_ns() - begun_ns;
	e->next_ns = begun_ns + EARLY_STOP_SHARE * took_ns;
	return moved;
}

/**
 * The facts of a run that are compared with another run's.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_FACTS_H
#define OFFHOOK_SERVER_DIFFERENCE_FACTS_H

#include <jansson.h>

/* Ceilings of one run; what is above them is not compared. */
#define DIFFERENCE_MESSAGES_MAX 20000
#define DIFFERENCE_EVENTS_MAX   50000

/** The facts of one run, collected record by record: its messages before its
 * events. */
struct difference_run;

int difference_run_new(struct difference_run **ret);
struct difference_run *difference_run_free(struct difference_run *run);

/** Set the verdicts of its conditions. @param verdicts  array; any reference is
 * kept */
void difference_run_set_verdicts(struct difference_run *run, json_t *verdicts);

/**
 * Add the spec of a role (docs/internals/wire.md): its parameters with
 * overrides.
 * @return 0; -ENOMEM
 */
int difference_run_add_spec(struct difference_run *run, json_t *spec);

/** Add an agent of a role. @return 0; -ENOMEM */
int difference_run_add_agent(struct difference_run *run, const char *role,
			     const char *name);

/**
 * Add an event (docs/internals/wire.md, Events); kinds without figures are
 * ignored.
 * @return 0; -ENOMEM
 */
int difference_run_add_event(struct difference_run *run, const char *role,
			     json_t *event);

/**
 * Add a SIP message (docs/internals/wire.md, SIP messages), in the order of
 * time.
 * @return 0; -ENOMEM
 */
int difference_run_add_message(struct difference_run *run, const char *role,
			       json_t *message);

#endif

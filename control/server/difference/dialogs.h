/**
 * SIP messages of a run as tallies and samples: the shapes of dialogs, header
 * fields, session descriptions, repeated messages, times between messages.
 * Thread: the owner of the run.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_DIALOGS_H
#define OFFHOOK_SERVER_DIFFERENCE_DIALOGS_H

struct difference_run;

/** Make the dialogs of a run into tallies and samples. @return 0; -ENOMEM */
int dialogs_count(struct difference_run *run);

#endif

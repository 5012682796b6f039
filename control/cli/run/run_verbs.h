/**
 * `offhook run`: runs, what was measured in them, their messages and files.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_VERBS_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_VERBS_H

struct client;

/** argv[0] is the verb. @return exit status */
int run_list_main(struct client *c, int argc, char **argv);
int run_show_main(struct client *c, int argc, char **argv);
int run_watch_main(struct client *c, int argc, char **argv);
int run_stop_main(struct client *c, int argc, char **argv);
int run_delete_main(struct client *c, int argc, char **argv);
int run_keep_main(struct client *c, int argc, char **argv);
int run_stats_main(struct client *c, int argc, char **argv);
int run_ladder_main(struct client *c, int argc, char **argv);
int run_download_main(struct client *c, int argc, char **argv);
int run_compare_main(struct client *c, int argc, char **argv);

#endif

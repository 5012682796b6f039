/**
 * `offhook capacity-search`: capacity searches that the controller stores and
 * carries out (docs/reference/capacity.md). list, create and delete are those of
 * records (record_verbs.h).
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_SEARCH_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_SEARCH_H

struct client;

/** Each takes the arguments of the command line, [0] is the verb. @return exit
 * status: 0 done; of watch, if the search ended with a result as narrow as was
 * asked; 1 of watch, if the lowest load fails */
int capacity_search_show(struct client *c, int argc, char **argv);
int capacity_search_watch(struct client *c, int argc, char **argv);
int capacity_search_stop(struct client *c, int argc, char **argv);

#endif

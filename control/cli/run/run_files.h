/**
 * Downloading the files of a run. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_FILES_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_FILES_H

#include <jansson.h>
#include <stdbool.h>

struct client;

/**
 * Download the artifacts of a run as FOLDER/ROLE-NAME. The folder is made.
 * @param run      number or session id, safe in a path
 * @param replace  files that exist; else the first one is refused
 * @param saved    array that receives the names of the files
 * @return 0; exit status, the complaint was printed
 */
int run_files_artifacts(struct client *c, const char *run, const char *folder,
			bool replace, json_t *saved);

/** Download SIP messages, packets and statistics as FOLDER/sip.txt, sip.pcap,
 * packets.pcapng, stats.csv.
 * @param session  session id of the run */
int run_files_recorded(struct client *c, const char *session,
		       const char *folder, bool replace, json_t *saved);

/** Download the reports of a finished run as FOLDER/junit.xml, report.markdown and
 * report.html. */
int run_files_reports(struct client *c, const char *session, const char *folder,
		      bool replace, json_t *saved);

#endif

/**
 * Downloads of a run's records for other programs: /run/details/ID/sip.txt,
 * sip.pcap, packets.pcapng and stats.csv (docs/reference/report.md).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_REPORT_DOWNLOAD_H
#define OFFHOOK_SERVER_REPORT_DOWNLOAD_H

#include "control/server/request/request.h"

#include <jansson.h>
#include <stdio.h>

/* api_handler */
void download_sip_text(struct request *req, struct reply *rep);
void download_sip_pcap(struct request *req, struct reply *rep);
void download_packets(struct request *req, struct reply *rep);
void download_stats_csv(struct request *req, struct reply *rep);

/** Write packets.pcapng of a run into an unnamed file.
 * @param run  of store_run_get()
 * @param ret  to be closed by the caller; its descriptor can be read, too
 * @return 0; negative errno */
int download_packets_file(struct request *req, const json_t *run, FILE **ret);

#endif

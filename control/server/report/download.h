/**
 * Downloads of a run's records for other programs: /run/details/ID/sip.txt,
 * sip.pcap, packets.pcapng and stats.csv (docs/reference/report.md).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_REPORT_DOWNLOAD_H
#define OFFHOOK_SERVER_REPORT_DOWNLOAD_H

#include "control/server/request/request.h"

/* api_handler */
void download_sip_text(struct request *req, struct reply *rep);
void download_sip_pcap(struct request *req, struct reply *rep);
void download_packets(struct request *req, struct reply *rep);
void download_stats_csv(struct request *req, struct reply *rep);

#endif

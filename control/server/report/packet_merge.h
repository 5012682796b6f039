/**
 * The packets that the agents of a run captured (files rtp.pcap among its
 * artifacts), merged by time. The files are an agent's: a damaged one ends there.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_REPORT_PACKET_MERGE_H
#define OFFHOOK_SERVER_REPORT_PACKET_MERGE_H

#include "base/packet_file.h"

#include <stdint.h>

#define PACKET_MERGE_NAME "rtp.pcap"

struct packet_merge;

/** @return 0; -ENOMEM */
int packet_merge_new(struct packet_merge **ret);
/** Close the files. @param m  may be NULL @return NULL */
struct packet_merge *packet_merge_free(struct packet_merge *m);

/** Add the file of a role. @return 0; -ENOMEM; -errno of opening it */
int packet_merge_add(struct packet_merge *m, const char *role,
		     const char *path);

/** Gets a packet. @param data  record->captured bytes @return 0; else stop */
typedef int(packet_merge_h)(const char *role,
			    const struct packet_file_record *record,
			    const void *data, void *arg);

/** Hand out the packets up to a time, in order of time as far as each file is.
 * @return 0; the handler's */
int packet_merge_until(struct packet_merge *m, int64_t unix_ns,
		       packet_merge_h *handler, void *arg);

#endif

/**
 * Time zones by their IANA names, from the system's compiled files (tzdata),
 * without the process-wide TZ of libc. Times are seconds since 1970; a local
 * time is what a wall clock shows, counted as if it were UTC.
 * Source: RFC 8536 (TZif, versions 2 to 4), POSIX.1-2017 8.3 (TZ)
 * Thread: any; a zone is constant once made.
 */
#ifndef OFFHOOK_SERVER_SCHEDULE_ZONE_H
#define OFFHOOK_SERVER_SCHEDULE_ZONE_H

#include <stddef.h>
#include <stdint.h>

#define ZONE_NAME_BYTES 64

struct zone;

/**
 * Load a zone, such as "Europe/Berlin". "UTC" needs no file.
 * @return 0; -EINVAL not the form of a zone name; -ENOENT no such zone;
 * -EBADMSG its file cannot be understood; -ENOMEM; -EIO
 */
int zone_load(struct zone **ret, const char *name);

/** Make a zone of the bytes of a TZif file. @return 0; -EBADMSG; -ENOMEM */
int zone_parse(struct zone **ret, const uint8_t *bytes, size_t len);

/** Accepts NULL. @return NULL */
struct zone *zone_free(struct zone *z);

/** Get the UTC offset at an instant, in seconds east. */
int32_t zone_offset(const struct zone *z, int64_t utc_s);

/**
 * Find the instants at which the wall clock shows a time, in order.
 * @return 1; 2: the clock was put back over it; 0: the clock was put forward
 *         over it, and ret[0] is the instant of that
 */
unsigned zone_instants(const struct zone *z, int64_t local_s, int64_t ret[2]);

#endif

/**
 * The clock of runs, leases and polls. It goes on evenly when the host's wall clock is
 * set or the host was suspended: no lease ends by that, and none of a lost agent lives
 * on. It is the wall clock when the process starts, and takes it over again while no
 * run is in progress. With PostgreSQL it is the database's clock instead, read every 10 s:
 * so that all controllers have one.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_STORE_LEASE_CLOCK_H
#define OFFHOOK_SERVER_STORE_LEASE_CLOCK_H

#include <stdint.h>

struct store;

/** The time, ms since 1970. */
int64_t lease_clock_ms(void);

/** How far it may be from the database's clock, us; 0: it is that of the only controller. */
int64_t lease_clock_error_us(void);

/**
 * Take over the clock that it follows if that was set by a second or more since, and move what the
 * agents' polls have left in the database with it.
 * @param set_ms  by how much it was set; 0: it was not, or runs are in progress
 * @return 0; -EIO; -EBUSY
 */
int lease_clock_follow(struct store *s, int64_t *set_ms);

/**
 * At the start: the clock may have been set back while no controller ran. Times in
 * the future would keep polls from being noted and leases from ending.
 * @param lease_ms  duration of a lease
 * @return 0; -EIO; -EBUSY
 */
int lease_clock_start(struct store *s, int64_t lease_ms);

#endif

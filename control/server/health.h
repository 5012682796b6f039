/**
 * Whether the running controller answers, for the health check of a container
 * (offhook-controller --check-health).
 */
#ifndef OFFHOOK_SERVER_HEALTH_H
#define OFFHOOK_SERVER_HEALTH_H

struct controller_conf;

/**
 * Ask the controller with this configuration for /healthz, and print one line that
 * says what it answered. Takes at most 5 s.
 * @return 0; -EINVAL port is 0; -EIO no answer, or not 200
 */
int health_check(const struct controller_conf *conf);

#endif

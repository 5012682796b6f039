#include "control/server/service.h"

#include "base/clock.h"

#ifdef HAVE_SYSTEMD
#include <inttypes.h>
#include <systemd/sd-daemon.h>
#endif

void service_ready(void)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, "READY=1");
#endif
}

void service_reloading(void)
{
#ifdef HAVE_SYSTEMD
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		   clock_mono_ns() / 1000);
#endif
}

int64_t service_watchdog_ms(void)
{
#ifdef HAVE_SYSTEMD
	uint64_t usec = 0;

	/* twice per interval */
	if (sd_watchdog_enabled(0, &usec) > 0 && usec >= 2000)
		return (int64_t)(usec / 2000);
#endif
	return 0;
}

void service_alive(void)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, "WATCHDOG=1");
#endif
}

void service_stopping(void)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, "STOPPING=1");
#endif
}

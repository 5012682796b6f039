#include "control/server/service.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

void service_ready(void)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, "READY=1");
#endif
}

void service_stopping(void)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, "STOPPING=1");
#endif
}

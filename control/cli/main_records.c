/* offhook-records: the commands of offhook that use a controller. It is started
 * by offhook. */
#include "base/core_dump.h"
#include "control/cli/remote_commands.h"

int main(int argc, char **argv)
{
	core_dump_disable();
	return remote_commands_main(argc, argv);
}

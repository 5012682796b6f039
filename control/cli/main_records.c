/* offhook-records: the commands of offhook that use a controller. It is started
 * by offhook. */
#include "control/cli/remote_commands.h"

int main(int argc, char **argv)
{
	return remote_commands_main(argc, argv);
}

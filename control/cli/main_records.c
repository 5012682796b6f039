/* offhook-records: the commands of offhook for records of a controller. It is
 * started by offhook. */
#include "control/cli/records.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc > 1 && records_command(argv[1]))
		return records_main(argc - 1, argv + 1);
	fputs("offhook-records is a part of offhook: see offhook --help\n",
	      stderr);
	return 2;
}

/* wire_calibration_decode() takes its input from an agent over the network. */
#include "control/wire/calibration.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *object = json_loadb((const char *)data, size,
				    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	struct wire_calibration c;

	if (wire_calibration_decode(&c, object, NULL) == 0) {
		json_t *again = wire_calibration_encode(&c);

		if (!again || wire_calibration_decode(&c, again, NULL) != 0)
			abort();
		json_decref(again);
	}
	json_decref(object);
	return 0;
}

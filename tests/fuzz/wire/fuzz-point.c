/* wire_point_decode() and wire_sketch_add() take their input from an agent over the network. */
#include "control/wire/point.h"
#include "control/wire/sketch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[WIRE_REASON_BYTES];
	json_t *object = json_loadb((const char *)data, size, 0, NULL);
	static struct sketch sketch;
	struct wire_point point;

	if (object && wire_point_decode(&point, object, reason) == 0) {
		json_t *again = wire_point_encode(&point);

		if (!again || wire_point_decode(&point, again, reason) != 0)
			abort();
		json_decref(again);
		wire_sketch_add(&sketch, point.sketch);
	}
	json_decref(object);
	return 0;
}

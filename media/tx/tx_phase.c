#include "media/tx/tx_phase.h"

/* 10 ms packets also use the phase half a period later. */
static uint8_t second_of(uint8_t at)
{
	return (uint8_t)((at + TX_PHASES / 2) % TX_PHASES);
}

int64_t tx_phase_take(struct tx_phases *p, struct tx_phase *phase,
		      int64_t start_ns, uint16_t ptime_ms)
{
	int64_t place = (start_ns + TX_PHASE_NS - 1) / TX_PHASE_NS;
	uint8_t at = (uint8_t)(place % TX_PHASES);

	/* at least one phase is no fuller than the average */
	while (p->packets[at] * TX_PHASES > p->total) {
		place++;
		at = (uint8_t)(place % TX_PHASES);
	}
	phase->taken = true;
	phase->at = at;
	phase->twice = ptime_ms % 20 == 10;
	p->packets[at]++;
	p->total++;
	if (phase->twice) {
		p->packets[second_of(at)]++;
		p->total++;
	}
	return place * TX_PHASE_NS;
}

void tx_phase_leave(struct tx_phases *p, struct tx_phase *phase)
{
	if (!phase->taken)
		return;
	phase->taken = false;
	p->packets[phase->at]--;
	p->total--;
	if (phase->twice) {
		p->packets[second_of(phase->at)]--;
		p->total--;
	}
}

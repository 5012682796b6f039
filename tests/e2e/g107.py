"""The E-model for G.711 with loss, a second implementation.

ITU-T G.107 (06/2015): R = Ro - Is - Id - Ie,eff with all defaults is 93.2062; Ie,eff by
(7-29) with Ie 0 and Bpl 25.1 (G.113 Appendix I, G.711 with PLC); R to MOS by Annex B.
"""
R_DEFAULT = 93.2062
BPL_G711 = 25.1


def mos(r):
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


def r_with_loss(ppl, burst_ratio=1.0):
    """R at a packet loss of ppl percent."""
    return R_DEFAULT - 95.0 * ppl / (ppl / burst_ratio + BPL_G711)


def burst_ratio(lost_map):
    """G.107 7.5: mean burst length divided by that of random loss, 1 to 8."""
    lost = sum(lost_map)
    if lost == 0:
        return 1.0
    runs = sum(1 for i, x in enumerate(lost_map)
               if x and (i == 0 or not lost_map[i - 1]))
    ratio = lost / runs * (1 - lost / len(lost_map))
    return min(max(ratio, 1.0), 8.0)

"""Points in the database of a controller (control/server/store/point_block.h), written a second time."""
import collections
import itertools
import struct

VALUES = ("stddev", "min", "median", "avg", "p75", "p90", "p95", "max")
Point = collections.namedtuple("Point", "run_id series_id role dir measure lease_id t n min max avg median p75 p90 p95 "
                                        "stddev sketch")
_uploads = itertools.count(1 << 41)


def _varint(value):
    text = b""
    while value >= 0x80:
        text += bytes([value & 0x7f | 0x80])
        value >>= 7
    return text + bytes([value])


def _encode(t, before, n, values, sketch):
    which, text, last = 0, b"", bytes(8)
    for i, name in enumerate(VALUES):
        bits = struct.pack("<d", values[name])
        if bits != last:
            which, text, last = which | 1 << i, text + bits, bits
    difference = t - before
    coded = _varint(difference << 1 if difference >= 0 else -difference * 2 - 1) + _varint(n) + bytes([which]) + text
    return coded + (b"\0" if sketch is None else _varint(len(sketch.encode()) + 1) + sketch.encode())


def block(series, points):
    """A block of one series. @param points  (t, n, min, max, avg, median, p75, p90, p95, stddev, sketch or None)"""
    parts, before = [], 0
    for t, n, *values, sketch in points:
        named = dict(zip(("min", "max", "avg", "median", "p75", "p90", "p95", "stddev"), map(float, values)))
        parts.append(_encode(t, before, n, named, sketch))
        before = t
    text = b"".join(parts)
    return b"\1" + _varint(series) + _varint(len(points)) + _varint(len(text)) + text


def add(db, run, series, lease, points):
    """Store points of a series as a block, as an upload would."""
    db.execute("INSERT INTO point_block (run_id, series_id, lease_id, seq, block) VALUES (?, ?, ?, ?, ?)",
               (run, series, lease, next(_uploads), block(series, points)))


def add_copies(db, run, series, lease, points, count):
    """Store the same block so many times, quickly: of uploads that say the same."""
    db.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO point_block "
               "(run_id, series_id, lease_id, seq, block) SELECT ?, ?, ?, i, ? FROM n",
               (count, run, series, lease, block(series, points)))


class _Bytes:
    def __init__(self, text):
        self.text, self.at = text, 0

    def take(self, count):
        assert self.at + count <= len(self.text)
        self.at += count
        return self.text[self.at - count:self.at]

    def varint(self):
        value = 0
        for shift in itertools.count(0, 7):
            byte, = self.take(1)
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value


def decode(text):
    """@return [(series, t, n, {value: number}, sketch or None)] of a block"""
    b, found = _Bytes(text), []
    assert b.take(1) == b"\1"
    while b.at < len(text):
        series, count, size = b.varint(), b.varint(), b.varint()
        t, end = 0, b.at + size
        for _ in range(count):
            coded, n, which, last, values = b.varint(), b.varint(), b.take(1)[0], bytes(8), {}
            t += coded >> 1 if coded % 2 == 0 else -(coded >> 1) - 1
            for i, name in enumerate(VALUES):
                last = b.take(8) if which >> i & 1 else last
                values[name], = struct.unpack("<d", last)
            size = b.varint()
            found.append((series, t, n, values, b.take(size - 1).decode() if size else None))
        assert b.at == end
    return found


def collect(blocks, series):
    """@param blocks  (run, lease, block) in the order of their uploads
    @param series  {id: (role, dir, measure)}
    @return the points, of a lease, series and time the first one"""
    found = {}
    for run, lease, text in blocks:
        for number, t, n, values, sketch in decode(bytes(text)):
            point = Point(run, number, *series[number], lease, t, n, sketch=sketch, **values)
            found.setdefault((number, lease, t), point)
    return list(found.values())


def read(db, run=None, session=None):
    """@return the points of a run, or of all"""
    one = "" if run is None and session is None else " AND r.id = ?" if run is not None else " AND r.session_id = ?"
    values = () if not one else (run if run is not None else session,)
    blocks = db.execute("SELECT b.run_id, b.lease_id, b.block FROM point_block b JOIN run r ON r.id = b.run_id WHERE 1 = 1"
                        f"{one} ORDER BY b.seq", values).fetchall()
    series = db.execute("SELECT s.id, s.role, s.dir, s.measure FROM series s JOIN run r ON r.id = s.run_id WHERE 1 = 1"
                        f"{one}", values).fetchall()
    return collect(blocks, {number: names for number, *names in series})

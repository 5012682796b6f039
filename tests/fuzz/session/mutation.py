"""Mutations of messages that consist of a start line, header fields and a body: SIP and HTTP.

All choices are made by the random generator that is given, so that a seed repeats them."""
import re

NUMBERS = ["0", "1", "-1", "70", "255", "256", "65535", "65536", "2147483647", "2147483648", "4294967295",
           "4294967296", "18446744073709551616", "00000000000000000000000000001", "1e9", "0x10", "1.5", ""]
NASTY = ["", " ", ",", ";", "\"", "\"\\", "<", "<>", "<sip:", "*", "%", "%00", "%zz", "\0", "\t", "\r", "\n", "a" * 300,
         "a" * 5000, ";" * 200, ",," * 100, "=", "\xff\xfe", "é", "()", "[::1", "[::]", "sip:", "sips:a@b", "tel:+1",
         "..", "../../etc/passwd", "{{n}}", "%s%n", "null", "true", "'"]


class Mutator:
    """rate: the probability that a message is mutated; lines: header lines to put in"""

    def __init__(self, rng, rate, lines=(), starts=()):
        self.rng, self.rate = rng, rate
        self._lines, self._starts = list(lines), list(starts)

    def happens(self, probability):
        return self.rng.random() < probability

    def message(self, data):
        """@return the message, or a mutated one"""
        if not self.happens(self.rate):
            return data
        for _ in range(self.rng.choice((1, 1, 1, 2, 3, 8))):
            change = self.rng.choice((self._head, self._head, self._head, self._body, self._body, self._start,
                                      self._bytes))
            data = change(data)
        return data[:65000]

    def copies(self):
        """How often a message is sent: 0 is a lost one."""
        return self.rng.choice((0, 2, 2, 3)) if self.happens(self.rate / 4) else 1

    # ---- values ----

    def value(self, text):
        """Another one in place of a header field's value or a line of a body"""
        found = list(re.finditer(r"\d+", text))
        change = self.rng.randrange(7)
        if change <= 1 and found:
            at = self.rng.choice(found)
            return text[:at.start()] + self.rng.choice(NUMBERS) + text[at.end():]
        if change == 2:
            return self.rng.choice(NASTY)
        if change == 3:
            return text[:self.rng.randrange(len(text) + 1)]
        at = self.rng.randrange(len(text) + 1)
        if change == 4:
            return text[:at] + self.rng.choice(NASTY) + text[at:]
        if change == 5:
            return text + self.rng.choice((", ", ";", " ", "")) + text
        parts = re.split(r"([;,=@:?&<> ])", text)
        del parts[self.rng.randrange(len(parts))]
        return "".join(parts)

    # ---- parts of a message ----

    def _head(self, data):
        head, gap, body = data.partition(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").split("\r\n")
        if not lines:
            return data
        at = self.rng.randrange(len(lines))
        name, colon, value = lines[at].partition(":")
        change = self.rng.randrange(9)
        if change == 0:
            del lines[at]
        elif change == 1:
            lines.insert(self.rng.randrange(len(lines) + 1), lines[at])
        elif change == 2 and self._lines:
            lines.insert(at, self.rng.choice(self._lines))
        elif change == 3:
            self.rng.shuffle(lines)
        elif change == 4:
            lines[at] = self.rng.choice((name.upper() + colon + value, name + " :" + value, name + value,
                                         name + ":\r\n " + value, name[:1] + colon + value, name + colon))
        elif change == 5 and len(lines) > 1:
            other = self.rng.choice(lines).partition(":")[2]
            lines[at] = name + colon + other
        else:
            lines[at] = name + colon + " " + self.value(value.strip())
        return "\r\n".join([start, *lines]).encode("latin-1", "replace") + gap + body

    def _start(self, data):
        line, end, rest = data.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if self._starts and self.happens(0.5):
            words[0 if self.happens(0.5) else -1] = self.rng.choice(self._starts)
        else:
            at = self.rng.randrange(len(words))
            words[at] = self.value(words[at])
        return " ".join(words).encode("latin-1", "replace") + end + rest

    def _body(self, data):
        head, gap, body = data.partition(b"\r\n\r\n")
        lines = body.decode("latin-1").split("\r\n")
        at = self.rng.randrange(len(lines))
        change = self.rng.randrange(6)
        if change == 0:
            del lines[at]
        elif change == 1:
            lines[at:at] = [lines[at]] * self.rng.choice((1, 2, 40, 700))
        elif change == 2:
            self.rng.shuffle(lines)
        else:
            name, equals, value = lines[at].partition("=")
            lines[at] = name + equals + self.value(value) if equals else self.value(lines[at])
        body = "\r\n".join(lines).encode("latin-1", "replace")
        if self.happens(0.85):  # otherwise the length is wrong
            head = re.sub(rb"(?i)(\r\nContent-Length:) *\d+", rb"\1 %d" % len(body), head)
        return head + gap + body

    def _bytes(self, data):
        data = bytearray(data)
        for _ in range(self.rng.choice((1, 1, 2, 5, 30))):
            at = self.rng.randrange(len(data) + 1)
            change = self.rng.randrange(5)
            if change == 0 and at < len(data):
                data[at] ^= 1 << self.rng.randrange(8)
            elif change == 1:
                data[at:at] = bytes(self.rng.randrange(256) for _ in range(self.rng.choice((1, 2, 8))))
            elif change == 2:
                del data[at:at + self.rng.choice((1, 2, 20))]
            elif change == 3:
                data[at:at] = data[at:at + self.rng.choice((1, 10, 300))]
            elif self.happens(0.2):
                del data[at:]
        return bytes(data)

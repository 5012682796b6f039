#!/usr/bin/python3
"""Write an assembler file that embeds files: embed.py OUT SYMBOL=FILE...

Each file defines SYMBOL and SYMBOL_end. SYMBOL_end is one past the last byte and
points to a 0, so that text is also a C string.
"""
import os
import sys


def main():
    out, pairs = sys.argv[1], sys.argv[2:]
    with open(out, "w", encoding="ascii") as f:
        f.write('.section .rodata\n')
        for pair in pairs:
            symbol, path = pair.split("=", 1)
            f.write(f'.global {symbol}\n.global {symbol}_end\n'
                    f'{symbol}:\n.incbin "{os.path.abspath(path)}"\n'
                    f'{symbol}_end:\n.byte 0\n')
        f.write('.section .note.GNU-stack,"",@progbits\n')


main()

"""Write cpp/text/unicode_table.cpp from the files of Unicode: python cpp/text/make_unicode_table.py FOLDER.

FOLDER has WordBreakProperty.txt, GraphemeBreakProperty.txt, SentenceBreakProperty.txt and emoji-data.txt of
one version. The table has a row (first, classes) wherever the classes of characters change; Hangul syllables
with and without a final consonant, which alternate over 11,172 characters, are told apart by arithmetic.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WORD = "Other CR LF Newline Extend ZWJ Format Regional_Indicator Katakana Hebrew_Letter ALetter Single_Quote "
WORD += "Double_Quote MidNumLet MidLetter MidNum Numeric ExtendNumLet WSegSpace"
GRAPHEME = "Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT"
SENTENCE = "Other CR LF Extend Sep Format Sp Lower Upper OLetter Numeric ATerm SContinue STerm Close"
#: The property White_Space, which never changes.
WHITE = [*range(0x9, 0xE), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
WHITE += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
ROW = re.compile(r"^([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*(\w+)", re.MULTILINE)
HANGUL = range(0xAC00, 0xD7A4)
HEAD = """\
// Made by cpp/text/make_unicode_table.py from the files of Unicode {version}; licenses/unicode.txt is theirs.
#include "text/unicode_classes.hpp"

namespace crfkit {{

const char* const kUnicodeVersion = "{version}";

// Bits: 0-4 word, 5-8 grapheme cluster, 9-12 sentence, 13 pictograph, 14 white space.
const ClassesFrom kClassesFrom[] = {{
"""


def table(folder: Path) -> list[tuple[int, int]]:
    """Return (first character, classes) wherever classes change."""
    classes = [0] * 0x110000
    for name, words, shift in (("Word", WORD, 0), ("Grapheme", GRAPHEME, 5), ("Sentence", SENTENCE, 9)):
        ids = {word: i for i, word in enumerate(words.split())}
        for first, last, word in rows(folder / f"{name}BreakProperty.txt"):
            for code in range(first, last + 1):
                classes[code] |= ids[word] << shift
    for first, last, word in rows(folder / "emoji-data.txt"):
        if word == "Extended_Pictographic":
            for code in range(first, last + 1):
                classes[code] |= 1 << 13
    for code in WHITE:
        classes[code] |= 1 << 14
    ids = {word: i for i, word in enumerate(GRAPHEME.split())}
    for code in HANGUL:
        kind = ids["LV" if (code - HANGUL.start) % 28 == 0 else "LVT"] << 5
        assert classes[code] & 0x1E0 == kind
        classes[code] ^= kind
    changes = zip(classes, [-1, *classes], strict=False)
    return [(code, after) for code, (after, before) in enumerate(changes) if after != before]


def rows(path: Path) -> list[tuple[int, int, str]]:
    """Return (first, last, word) of each line of a file of properties."""
    found = ROW.findall(path.read_text(encoding="utf-8"))
    return [(int(first, 16), int(last or first, 16), word) for first, last, word in found]


def source(folder: Path) -> str:
    """Return the text of the C++ file."""
    version = re.search(r"-([\d.]+)\.txt", (folder / "WordBreakProperty.txt").read_text(encoding="utf-8"))
    assert version is not None
    lines, line = [], ""
    for code, classes in table(folder):
        entry = f"{{{code:#x}, {classes:#x}}},"
        if len(line) + len(entry) > 118:
            lines.append(line)
            line = ""
        line += entry if not line else f" {entry}"
    body = "\n".join([*lines, line])
    tail = "\n};\nconst int kClassesFromCount = sizeof(kClassesFrom) / sizeof(kClassesFrom[0]);\n"
    head = HEAD.format(version=version[1])
    return f"// clang-format off\n{head}{body}{tail}\n}}  // namespace crfkit\n"


if __name__ == "__main__":
    target = Path(__file__).with_name("unicode_table.cpp")
    target.write_text(source(Path(sys.argv[1])), encoding="utf-8")

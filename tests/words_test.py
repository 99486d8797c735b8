#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the pages to short sentences and to links that lead somewhere.

  tests/words_test.py              checks the pages; takes a second
  tests/words_test.py --selftest   shows that each fault is found
  tests/words_test.py --headers    lists long sentences in C++ headers

A sentence has at most 30 words. It ends at a full stop, question mark or
exclamation mark before a blank and anything but a lower-case letter; colons and
semicolons do not end it. A list item, a table's cell and a paragraph begin new
sentences. Inline code counts as one word; code blocks, headings and HTML
comments do not count.
"""

import pathlib
import re
import sys
import tempfile
import typing

PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md",
         "ocannl/*.md", "ocannl/core/**/*.md"]
MOST_WORDS = 30
MOST_README_LINES = 150
MOST_BULLETS = 15  # of a version in CHANGELOG.md
# What does not parse must not pass.
FEWEST_PAGES = 22
FEWEST_SENTENCES = 1500

# A full stop after these ends no sentence.
ABBREVIATIONS = {"e.g.", "i.e.", "cf.", "vs.", "approx.", "resp.", "fig.",
                 "sec.", "eq.", "no.", "al.", "dr.", "prof.", "st."}

# Constructions that readers have to guess, and what to write.
RIDDLES = [
    (r"^(What|Who|Whoever|Whatever|That which)\b.*[^?]$", "name the subject"),
    (r"^(Those|Such|One (that|who|alone|of))\b", "name the subject"),
    (r"\b(is|are|was|were) none of\b", "write `is not one of`"),
    (r"\bwhat\b[^.]*\b(is|are) what\b", "name both things"),
    (r"(?<!\b[Tt]here )\b(is|are) no (?!longer\b|more\b|less\b|other\b)",
     "write `is not a`"),
]


class Sentence(typing.NamedTuple):
    line: int
    words: list
    text: str


class Unit(typing.NamedTuple):
    """Text without an end of its own: a paragraph, list item or cell."""
    line: int
    text: str


def cells_of(line):
    """The cells of a table's row, which `\\|` does not end."""
    row = line.strip().replace("\\|", "\1").strip("|")
    return [cell.strip().replace("\1", "|") for cell in row.split("|")]


def units_of(page):
    """Yields the units of a page in Markdown."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"),
                  page, flags=re.DOTALL)
    first, parts = 0, []
    fence = None
    indent = 0  # of the text of a list item
    blank = True
    for at, line in enumerate(text.splitlines() + [""], start=1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        item = re.match(r"(\s*)([-*+]|\d+[.)])\s+", line)
        stripped = line.strip()
        deep = len(line) - len(line.lstrip()) >= indent + 4
        starts = fence or mark or item or not stripped or \
            stripped[0] in "#|" or (blank and deep)
        if starts and parts:
            yield Unit(first, " ".join(parts))
            parts = []
        if mark:
            fence = (None if mark[1].startswith(fence) else fence) \
                if fence else mark[1]
        elif fence:
            continue
        elif stripped.startswith("|"):
            if not re.fullmatch(r"[|:\s-]+", stripped):
                yield from (Unit(at, cell) for cell in cells_of(line))
        elif stripped.startswith("#"):
            indent = 0
        elif item and not (blank and deep):
            indent = len(item[0])
            first, parts = at, [line[indent:].strip()]
        elif stripped and not (blank and deep):
            if blank and not line.startswith(" "):
                indent = 0
            first = first if parts else at
            parts.append(re.sub(r"^> ?", "", stripped))
        blank = not stripped or (blank and deep)


GLUE = "\2"  # in the place of a blank in inline code


def one_word(match):
    return GLUE.join(match[0].split())


def sentences_of(unit):
    """Yields the sentences of a unit."""
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", one_word, unit.text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-z][^<>]*>", "", text)
    words = []
    tokens = text.split()
    for token, after in zip(tokens, tokens[1:] + [""]):
        words.append(token)
        bare = token.strip("()[]\"'*_")
        ends = re.search(r"[.!?][)\]\"'*_]*$", token)
        name = bare.lower() in ABBREVIATIONS or re.fullmatch(r"[A-Z]\.", bare)
        goes_on = after.lstrip("(\"'*_[")[:1].islower()
        if after and (not ends or name or goes_on):
            continue
        counted = [word for word in words if re.search(r"\w", word)]
        if counted:
            yield Sentence(unit.line, counted, " ".join(words))
        words = []


def shown(words):
    return " ".join(words).replace(GLUE, " ")


def faults_of(sentence):
    if len(sentence.words) > MOST_WORDS:
        yield f"{len(sentence.words)} words; the limit is {MOST_WORDS}"
    if len(sentence.words) > 3:
        for pattern, advice in RIDDLES:
            if found := re.search(pattern, sentence.text):
                yield f"`{shown(found[0].split()[:4])}`: {advice}"


def errors_of_links(root, path, page):
    """Relative links of a page that lead to no file."""
    text = re.sub(r"^\s*```.*?^\s*```|`[^`\n]*`", "", page,
                  flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(\s*<?([^)\s>]+)", text)
    links += re.findall(r"^\s*\[[^\]]+\]:\s*(\S+)", text, re.MULTILINE)
    links += re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    for link in links:
        place = link.partition("#")[0]
        if not place or re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        base = root if place.startswith("/") else path.parent
        if not (base / place.lstrip("/")).exists():
            yield f"{path.relative_to(root)}: the link {link} leads to no file"


def errors_of_changelog(page):
    """Versions with too many bullets."""
    versions = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    if not versions:
        yield "CHANGELOG.md: it has no version"
    for version in versions:
        name = version.splitlines()[0].strip()
        count = len(re.findall(r"^ *[-*+] ", version, re.MULTILINE))
        if count > MOST_BULLETS:
            yield (f"CHANGELOG.md: {name} has {count} bullets; the limit is "
                   f"{MOST_BULLETS}")


def errors(root):
    """The faults of the pages, a line each, and how much was read."""
    found, sentences = [], 0
    paths = sorted({path for glob in PAGES for path in root.glob(glob)})
    for path in paths:
        name = path.relative_to(root)
        page = path.read_text(encoding="utf-8")
        for unit in units_of(page):
            for sentence in sentences_of(unit):
                sentences += 1
                found += [f"{name}:{sentence.line}: {fault}: "
                          f"{shown(sentence.text.split()[:8])} ..."
                          for fault in faults_of(sentence)]
        found += errors_of_links(root, path, page)
        if str(name) == "CHANGELOG.md":
            found += errors_of_changelog(page)
        lines = len(page.splitlines())
        if str(name) == "README.md" and lines > MOST_README_LINES:
            found.append(f"README.md: {lines} lines; the limit is "
                         f"{MOST_README_LINES}")
    if len(paths) < FEWEST_PAGES:
        found.append(f"only {len(paths)} pages")
    if sentences < FEWEST_SENTENCES:
        found.append(f"only {sentences} sentences")
    return found, f"{len(paths)} pages, {sentences} sentences"


def comments_of(header):
    """Yields the comments of a C++ header as Markdown, with their lines."""
    first, lines = 0, []
    in_item = False
    for at, line in enumerate(header.splitlines() + [""], start=1):
        match = re.match(r"\s*// ?(.*)$", line)
        if match and "SPDX" not in line:
            first = first if lines else at
            if not match[1].startswith("  "):
                in_item = re.match(r"([-*]|\d+\.) ", match[1])
            is_code = match[1].startswith("  ") and not in_item
            lines.append("" if is_code else match[1])
        elif lines:
            yield Unit(first, "\n".join(lines))
            lines = []


def list_headers(root):
    """Prints the long sentences of headers, the longest first."""
    found = []
    for path in (root / "ocannl").rglob("*.h"):
        for comment in comments_of(path.read_text(encoding="utf-8")):
            for unit in units_of(comment.text):
                line = comment.line + unit.line - 1
                found += [(len(sentence.words), path.relative_to(root), line,
                           shown(sentence.words))
                          for sentence in sentences_of(unit)
                          if len(sentence.words) > MOST_WORDS]
    for count, path, line, text in sorted(found, reverse=True):
        print(f"{count} {path}:{line}: {text}")
    print(f"{len(found)} sentences of more than {MOST_WORDS} words")


# Pairs: a page, and the number of words of each of its sentences.
SPLITS = [
    ("One two. Three four five.", [2, 3]),
    ("One two? Three! Four: five; six.", [2, 1, 3]),
    ("Tools, e.g. Bazel and i.e. GCC, build it. Next.", [8, 1]),
    ("By D. Knuth, cf. Vol. two.", [6]),
    ("It sums over n. The rest is 0.", [4, 4]),
    ("Version 0.2.0 reads `file.h`. It is 1.5 times", [4, 4]),
    ("See ocannl/core/a.h for more. `b` follows.", [4, 2]),
    ("mpirun ends. mpirun is a name, so one sentence.", [9]),
    ("Ask (why?). \"Quoted.\" (All of it.) *Emphasis.* End", [2, 1, 3, 1, 1]),
    ("`one word with. A stop` counts. ``x ` y. Z`` too.", [2, 2]),
    ("`code over\ntwo lines` is one", [3]),
    ("A [link of. four words](a/b c.md) here.", [6]),
    ("A dash - and a -> b | c do not count.", [9]),
    ("# A heading. Skipped\nText here.\n## Next\nMore", [2, 1]),
    ("First line\ngoes on.\n\nNew paragraph", [4, 2]),
    ("Intro:\n\n- an item\n  goes on. Ends\n- b c\n* d\n1. e f g\n10) h",
     [1, 4, 1, 2, 1, 3, 1]),
    ("Intro\n- a\n  - nested item\n\n    second paragraph\n\n- b",
     [1, 1, 2, 2, 1]),
    ("- a\n\n      code of an item\n\nText\n\n    code\n\n    - code\n\nEnd",
     [1, 1, 1]),
    ("Text\n    that is continued.", [4]),
    ("```\ncode here\n\n- code\n```\nAfter", [1]),
    ("~~~\n```\ncode\n~~~\nAfter\n````\n```\n````\nEnd", [1, 1]),
    ("- a\n  ```cpp\n  code\n  ```\n  after it", [1, 2]),
    ("| a b | `x \\| y` c |\n|---|:-:|\n| de. F g | |", [2, 2, 1, 2]),
    ("<p align=\"center\">Two <b>words</b>, a < b <img src=\"a b\"></p>", [4]),
    ("Before <!-- a comment.\nOf two --> after", [2]),
    ("> quoted text\n> goes on", [4]),
]

LONG = " ".join(["Word"] * MOST_WORDS)

# Pairs: a sentence without a fault, and one with a fault.
RIDDLE_PAIRS = [
    ("What does it do here?", "What runs at once is a kernel."),
    ("The rest that is left", "Those that wait are woken."),
    ("A setting is not one of these.", "A setting is none of these."),
    ("There is no tier of that name.", "The path is no file, but a link."),
    ("It is no longer there.", "They are no files of ours."),
    ("Files such as these are read.", "Such files are read first."),
]


def selftest_links(root):
    page = root / "docs/a.md"
    page.write_text("[x](b.md) [x](../README.md#top) [x](#top) `[x](no.md)`\n"
                    "[x](https://example.org/no.md) <img src=\"b.md\">\n"
                    "[y]: b.md\n```\n[x](no.md)\n```\n[x](/docs/b.md)\n")
    (root / "docs/b.md").write_text("")
    (root / "README.md").write_text("")
    assert not list(errors_of_links(root, page, page.read_text()))
    for bad in ("[x](no.md)", "![x](no.png)", "[x](no.md#top)", "[y]: no.md",
                "<img src=\"no.png\">", "[x](/docs/no.md)",
                "[a\nb](docs/b.md)"):
        assert len(list(errors_of_links(root, page, bad))) == 1, bad


def selftest():
    for page, counts in SPLITS:
        got = [len(sentence.words) for unit in units_of(page)
               for sentence in sentences_of(unit)]
        assert got == counts, (page, got)
    for page, faults in ((LONG, 0), (LONG + " more", 1),
                         (LONG + ": `a b`", 1), (LONG + ". " + LONG, 0),
                         ("| " + LONG + " | " + LONG + " |", 0),
                         ("\n- ".join(["", LONG, LONG]), 0)):
        got = [fault for unit in units_of(page)
               for sentence in sentences_of(unit)
               for fault in faults_of(sentence)]
        assert len(got) == faults, (page, got)
    for good, bad in RIDDLE_PAIRS:
        for text, faults in ((good, 0), (bad, 1)):
            sentence, = sentences_of(Unit(1, text))
            assert len(list(faults_of(sentence))) == faults, text
    units = list(units_of("# a\n\nb\nc\n\n- d\n"))
    assert [unit.line for unit in units] == [3, 6], units
    bullets = "## 1\n" + "- x\n" * MOST_BULLETS
    assert not list(errors_of_changelog(bullets * 2))
    assert len(list(errors_of_changelog(bullets + "  - x\n" + bullets))) == 1
    assert len(list(errors_of_changelog("- x\n"))) == 1
    comment, = comments_of("int a;\n// B\n//   code();\n// C.\n//\n"
                           "// - item\n//   of two.\nvoid B();\n")
    assert [(unit.line, unit.text) for unit in units_of(comment.text)] == [
        (1, "B"), (3, "C."), (5, "item of two.")]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        selftest_links(root)
        for k in range(FEWEST_PAGES):
            (root / f"docs/{k}.md").write_text("It is. " * 100)
        assert not errors(root)[0], errors(root)
        readme = root / "README.md"
        readme.write_text("x\n" * MOST_README_LINES)
        assert len(errors(root)[0]) == 1  # a sentence that is too long
        readme.write_text("Go.\n" * MOST_README_LINES)
        assert not errors(root)[0]
        readme.write_text("Go.\n" * (MOST_README_LINES + 1))
        assert len(errors(root)[0]) == 1
        readme.unlink()
        (root / "docs/0.md").unlink()
        assert len(errors(root)[0]) == 1


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    if "--headers" in sys.argv[1:]:
        return list_headers(root)
    found, counts = errors(root)
    print(counts)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

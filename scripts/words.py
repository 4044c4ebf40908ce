#!/usr/bin/env python3
"""Words and lengths of what people read: documents, help, error messages.

words.py            words that are out, anywhere; in the pages also long sentences, paragraphs and lines
words.py --figures  one row for each page: sentences, those of more than 30 words, paragraphs of more than 6 lines, lines of more than 100"""
import pathlib
import re
import subprocess
import sys

OUT = {
    "held against": "checked against, compared with",
    "hold against": "check against, compare with",
    "hold it against": "check it against",
    "anew": "again",
    "what there is": "what was measured, what exists",
    "tells": "reports, shows",
    "stands": "is",
}
SENTENCE, PARAGRAPH, LINE = 30, 6, 100


def prose(text):
    """Without code blocks, tables, headings, and the addresses of links."""
    text = re.sub(r"(?<=\n\n)(    .*\n)+", "", text)
    text = re.sub(r"^(```|---\n).*?^(```|---\n)", "", text, flags=re.S | re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return "\n".join("" if line.startswith(("|", "#", "!")) else line for line in text.split("\n"))


def figures(text):
    paragraphs = [p for p in re.split(r"\n\s*\n|\n(?=(?:- |\d+\. ))", prose(text)) if p.strip()]
    sentences = [s for p in paragraphs for s in re.split(r"(?<=[.!?:])\s+", p.strip())]
    long_lines = [line for line in prose(text).split("\n") if len(line) > LINE]
    return (
        sentences,
        [s for s in sentences if len(s.split()) > SENTENCE],
        [p for p in paragraphs if p.strip().count("\n") >= PARAGRAPH],
        long_lines,
    )


def help_text(lynx):
    listed = subprocess.run([lynx, "help", "--all"], capture_output=True, text=True).stdout
    names = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", listed, flags=re.M)
    pages = [["--help"], ["help", "--all"]] + [[*name.split(), "--help"] for name in names]
    return {f"lynxbench {' '.join(p)}": subprocess.run([lynx, *p], capture_output=True, text=True).stdout for p in pages}


def messages():
    """The texts in src, as the program prints them."""
    found = {}
    for path in sorted(pathlib.Path("src").rglob("*.c")):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        found[str(path)] = "\n".join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", code)))
    return found


def main():
    pages = {p: pathlib.Path(p).read_text() for p in subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True).stdout.split() if not p.startswith("tests/")}
    if "--figures" in sys.argv:
        for name, text in pages.items():
            sentences, *rest = figures(text)
            print(f"{name:28} {len(sentences):5} sentences, {len(rest[0]):3} long, {len(rest[1]):3} paragraphs, {len(rest[2]):3} lines")
        return 0
    wrong = 0
    for name, text in {**{n: prose(t) for n, t in pages.items()}, **help_text("build/lynxbench"), **messages()}.items():
        for word, instead in OUT.items():
            for at in re.finditer(r"(?<![-\w])" + word.replace(" ", r"\s+") + r"\b", text, flags=re.I):
                print(f"{name}: «{' '.join(text[max(0, at.start() - 30):at.end() + 30].split())}»: {word} -> {instead}")
                wrong += 1
    for name, page in pages.items():
        for what, items in zip(("a sentence of more than 30 words", "a paragraph of more than 6 lines", "a line of more than 100 characters"), figures(page)[1:]):
            for item in items:
                print(f"{name}: {what}: {' '.join(item.split())[:100]}...")
                wrong += 1
    print(f"{len(pages)} pages, the help and the messages of every command" if wrong == 0 else f"{wrong} places")
    return 1 if wrong else 0


sys.exit(main())

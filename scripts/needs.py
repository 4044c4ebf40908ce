#!/usr/bin/env python3
"""Does scripts/packages.sh install what tests and scripts import and call? Modules are found by their syntax trees; programs as the
first word that subprocess is given, and the first words of shell commands. What is looked up first (shutil.which, command -v, an
import in a try) may be missing. Prints what nobody installs, and exits with 1."""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = {"pytest": "python3-pytest", "yaml": "python3-yaml", "venv": "python3-venv"}
# Programs by package. Those of a minimal Debian (debootstrap --variant=minbase) are in "".
PROGRAMS = {
    "": """[ apt-get awk base64 basename bash cat chmod chroot chrt cmp command cp cut date dd df dirname dpkg dpkg-query du echo env expr false
        find grep head hostname id install kill ldconfig ln ls mkdir mkfifo mktemp mount mv nice nproc paste printf pwd readlink rm rmdir sed
        seq setpriv sh sha256sum sleep sort stat stdbuf sync tail tar taskset tee test timeout touch tr true umount uname uniq unshare
        wc xargs yes""",
    "gcc": "gcc cc nm objcopy readelf strip ar ld",
    "git": "git",
    "make": "make",
    "meson": "meson",
    "ninja-build": "ninja",
    "pkg-config": "pkg-config",
    "python3": "python3",
    "python3-venv": "",
    "sqlite3": "sqlite3",
    "openssl": "openssl",
    "curl": "curl",
    "socat": "socat",
    "iproute2": "ip ss tc",
    "openssh-client": "ssh-agent ssh-add ssh-keygen",
    "systemd": "systemd-analyze systemctl",
    "libxml2-utils": "xmllint",
    "procps": "pgrep pkill ps",
    "chromium": "chromium",
    "chromium-driver": "chromedriver",
    "clang": "clang clang++",
    "clang-tidy": "clang-tidy",
    "clang-format": "clang-format",
    "cppcheck": "cppcheck",
    "golang-go": "go",
}
SHELL_WORDS = set(
    "if then else elif fi for in do done while until case esac { } ! ( ) : set export exit return local shift trap cd eval exec read . source".split()
)
# What each kind of file may use.
KINDS = [
    ("test", ["tests/e2e/*.py", "scripts/test.sh", "scripts/failures.py", "scripts/own_build.py", "scripts/embed.py", "tests/fail/*.py"]),
    ("web", ["scripts/web.sh"]),
    ("check", ["scripts/check.sh", "scripts/format.sh", "scripts/tidy.sh", "scripts/fuzz.sh", "scripts/werror.sh", "scripts/layers.py",
               "scripts/tables.py", "scripts/words.py", "scripts/documents.sh", "scripts/needs.py"]),
]  # fmt: skip


def installed(kind):
    text = (ROOT / "scripts/packages.sh").read_text()
    lists = dict(re.findall(r'^(\w+)="([^"]*)"', text, re.M))
    names = lists[kind].split()
    while any(n.startswith("$") for n in names):
        names = [m for n in names for m in (lists[n[1:]].split() if n.startswith("$") else [n])]
    return set(names)


def is_optional(node, parents):
    """In a try that goes on without it."""
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.Try) and node.handlers:
            return True
    return False


def of_python(path):
    """Modules and programs."""
    tree = ast.parse(path.read_text(), str(path))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    modules, programs, looked_up = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and not is_optional(node, parents):
            modules |= {a.name.split(".")[0] for a in node.names}
        if isinstance(node, ast.ImportFrom) and node.level == 0 and not is_optional(node, parents):
            modules.add(node.module.split(".")[0])
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        first = node.args[0] if node.args else None
        if name.endswith("which") and isinstance(first, ast.Constant):
            looked_up.add(first.value)
        if re.fullmatch(r"subprocess\.(run|Popen|check_output|check_call|call)", name) and isinstance(
            first, (ast.List, ast.Tuple)
        ):
            word = first.elts[0] if first.elts else None
            if isinstance(word, ast.Constant) and isinstance(word.value, str) and "/" not in word.value:
                programs.add(word.value)
    return modules, programs - looked_up


def of_shell(path):
    text = re.sub(r"(?m)(^|\s)#.*$", "", path.read_text())
    text = re.sub(r"'[^']*'", "''", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    known = {p for names in PROGRAMS.values() for p in names.split()}
    looked_up = set(re.findall(r"command -v (\S+)", text))
    own = set(re.findall(r"(?m)^(\w+)\(\)", text))
    programs = set()
    for piece in re.split(r"[;|&\n`]|\$\(|\)", text):
        words = [w for w in piece.split() if not re.match(r"\w+=", w)]
        while words and words[0] in SHELL_WORDS:
            words = words[1:]
        if words and words[0] in known:  # of a shell's words only the names of programs can be told
            programs.add(words[0])
    return set(), programs - looked_up - own


def main():
    local = {
        p.stem
        for folder in ("tests/e2e", "tests/peers", "bench", "bench/attribution", "scripts", "examples")
        for p in (ROOT / folder).glob("*.py")
    }
    local |= {"lynxbench"}
    bad, n = [], 0
    for kind, patterns in KINDS:
        packages = installed(kind)
        there = {p for name in packages | {""} for p in PROGRAMS.get(name, "").split()}
        for path in sorted(p for pattern in patterns for p in ROOT.glob(pattern)):
            modules, programs = of_python(path) if path.suffix == ".py" else of_shell(path)
            for module in sorted(modules - set(sys.stdlib_module_names) - local):
                if MODULES.get(module) not in packages:
                    bad.append(
                        f"{path.relative_to(ROOT)}: import {module}: no package of '{kind}' in scripts/packages.sh brings it"
                    )
            for program in sorted(programs - there):
                bad.append(
                    f"{path.relative_to(ROOT)}: {program}: no package of '{kind}' in scripts/packages.sh brings it"
                )
            n += len(modules) + len(programs)
    print("\n".join(bad) or f"{n} imports and programs of tests and checks are installed by scripts/packages.sh")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

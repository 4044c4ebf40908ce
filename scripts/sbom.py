#!/usr/bin/env python3
"""What a built program consists of, as CycloneDX 1.5: sbom.py PROGRAM VERSION. Libraries by the Debian packages that hold them."""

import hashlib
import json
import os
import re
import subprocess
import sys


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """Paths of the shared libraries that it loads, links resolved."""
    found = re.findall(r"=> (/\S+)", run("ldd", program))
    return sorted({os.path.realpath(path) for path in found})


def package_of(path):
    """Name, version, and whether a package holds it."""
    for candidate in (path, path.removeprefix("/usr"), "/usr" + path):
        r = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if r.returncode == 0:
            name = r.stdout.split(": ")[0].split(",")[0]
            return tuple(run("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}", name).split("\t"))
    return None


def component(path):
    digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
    package = package_of(path)
    own = {"type": "library", "name": os.path.basename(path), "hashes": [{"alg": "SHA-256", "content": digest}]}
    if package:
        name, version, architecture = package
        own |= {"name": name, "version": version, "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}"}
        own["properties"] = [{"name": "file", "value": os.path.basename(path)}]
    return own


def main(program, version):
    own = {
        "type": "application",
        "name": "lynxbench",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(open(program, "rb").read()).hexdigest()}],
    }
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": [component(path) for path in libraries(program)],
    }
    json.dump(bom, sys.stdout, indent=1)
    print()


main(*sys.argv[1:])

"""What scripts/sbom.py writes of the program, against CycloneDX's own schema."""

import json
import os
import subprocess
import sys

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
CHECK = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read())
sys.exit(f"{wrong!r}" if wrong else 0)
"""
made = subprocess.run(
    [os.path.join(SOURCE, "scripts", "sbom.py"), os.path.join(BUILD, "lynxbench"), "0.4.0"],
    check=True,
    capture_output=True,
    text=True,
).stdout
valid = subprocess.run([os.environ["PEERS_PYTHON"], "-c", CHECK], input=made, text=True).returncode == 0
names = {c["name"] for c in json.loads(made)["components"]}
held = any(name.startswith("libssl") for name in names) and any(name.startswith("libcurl") for name in names)
failed = [what for what, good in (("the schema", valid), (f"libraries: {sorted(names)}", held)) if not good]
print(f"2 checks, {len(failed)} failed: {failed}")
sys.exit(1 if failed else 0)

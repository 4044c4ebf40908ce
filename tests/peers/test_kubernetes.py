"""The manifests in integrations/kubernetes, and the CronJob that `schedule` prints, against Kubernetes' own schemas."""

import glob
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
validate = os.path.join(os.path.dirname(os.environ["PEERS_PYTHON"]), "kubernetes-validate")

with tempfile.TemporaryDirectory() as folder:
    printed = os.path.join(folder, "cronjob.yaml")
    contract = os.path.join(SOURCE, "examples", "null.yaml")
    words = ["schedule", "add", contract, "--at", "02:00", "--print", "kubernetes"]
    with open(printed, "w") as f:
        subprocess.run([os.path.join(BUILD, "lynxbench"), *words], check=True, stdout=f)
    files = sorted(glob.glob(os.path.join(SOURCE, "integrations", "kubernetes", "*.yaml"))) + [printed]
    failed = [path for path in files if subprocess.run([validate, "--strict", path]).returncode != 0]
print(f"{len(files)} checks, {len(failed)} failed")
sys.exit(1 if failed or len(files) < 4 else 0)

"""Does a build folder belong to this tree? usage: own_build.py BUILD"""

import json
import os
import sys

with open(os.path.join(sys.argv[1], "meson-info", "meson-info.json")) as f:
    source = json.load(f)["directories"]["source"]
if os.path.realpath(source) != os.path.realpath("."):
    sys.exit(f"{sys.argv[1]} was made for {source}, and would be made there again.\nnext: rm -r {sys.argv[1]}, then the same make again")

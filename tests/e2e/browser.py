"""A real browser by WebDriver: chromedriver (Debian's chromium-driver) speaks HTTP and JSON: nothing else is needed."""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import lynx as l

TAB, ENTER = "\ue004", "\ue007"


class Browser:
    def __init__(self, width=1200, height=900):
        self.port = l.free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}", "--log-level=OFF"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += [f"--window-size={width},{height}"]
        flags += ["--no-proxy-server", "--disable-dev-shm-usage", "--disable-background-networking"]
        wanted = {"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = None
        self.session = self("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, tries=200)["sessionId"]

    def __call__(self, method, path, body=None, tries=1):
        where = f"http://127.0.0.1:{self.port}" + (f"/session/{self.session}" if self.session else "") + path
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(where, data, {"Content-Type": "application/json"}, method=method)
        for left in range(tries, 0, -1):
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return json.load(answer)["value"]
            except urllib.error.HTTPError as e:
                raise AssertionError(e.read().decode()[:1000]) from e
            except OSError:
                if left == 1:
                    raise
                time.sleep(0.1)

    def go(self, url):
        self("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def size(self, width, height):
        """Of what is shown, which may be less than a window can be."""
        device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": device})

    def dark(self, on):
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": scheme}})

    def printed(self):
        return base64.b64decode(self("POST", "/print", {"page": {"width": 21.0, "height": 29.7}, "background": False}))

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self("GET", "/screenshot")))

    def complaints(self):
        """What the browser wrote to its console: errors of scripts, and of what a policy did not let it load."""
        return [e for e in self("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]

    def asked_for(self):
        """Every address that it asked for since the last time."""
        events = [json.loads(e["message"])["message"] for e in self("POST", "/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def close(self):
        try:
            self("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(10)


def missing():
    """What is not here; None: all is. The set-up of `make test-long` brings it."""
    if shutil.which("chromedriver") is None or shutil.which("chromium") is None:
        return "chromium and chromium-driver are not installed"
    return None if os.path.exists(axe_path()) else "axe-core is not there (scripts/web.sh brings it)"


def axe_path():
    return os.path.join(os.environ["BUILD"], "web", "axe.min.js")

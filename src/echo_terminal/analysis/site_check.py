"""Open every page of the site in a headless Chromium, at two widths, and report what a reader would trip over.

Chromium is driven over its debugging pipe (file descriptors 3 and 4, messages end with NUL), so no browser library is
needed:  ``python -m echo_terminal.analysis.site_check SITE``
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS, HEIGHT = (390, 1280), 844  # a phone and a desk, in CSS pixels
PROBE = """JSON.stringify({
  broken: [...document.images].filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src.slice(0, 80)),
  width: document.documentElement.scrollWidth,
  text: document.body.innerText.length})"""


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, program: str, profile: str) -> None:
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()

        def wire() -> None:  # the browser reads 3 and writes 4
            read, write = os.dup(theirs_read), os.dup(theirs_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--no-first-run",
        ]
        self.process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_read)
        os.close(theirs_write)
        self.read, self.write, self.buffer, self.count = ours_read, ours_write, b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", page=True)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], 60)[0]:
                raise TimeoutError("the browser has not answered for a minute")
            chunk = os.read(self.read, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser ended")
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(line))

    def call(self, method: str, *, page: bool = False, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that arrive meanwhile are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        os.write(
            self.write, json.dumps(message | ({"sessionId": self.session} if page else {})).encode() + b"\0"
        )
        while True:
            answer = self._message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self.events.append(answer)

    def open(self, address: str, width: int) -> None:
        """Load a page at a width and wait until it has loaded."""
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 2, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", page=True, **size)
        self.events.clear()
        self.call("Page.navigate", page=True, url=address)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._message())

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)


def faults_of(browser: Browser, page: Path, width: int) -> list[str]:
    """Console errors, failed loads, broken pictures and sideways scrolling of one page at one width."""
    browser.open(page.resolve().as_uri(), width)
    probe = json.loads(browser.call("Runtime.evaluate", page=True, expression=PROBE)["result"]["value"])
    faults = [f"picture does not load: {src}" for src in probe["broken"]]
    if probe["width"] > width:  # asked of the page alone: what ``screen`` is differs from browser to browser
        faults.append(f"{probe['width'] - width} pixels wider than the screen")
    if probe["text"] == 0:
        faults.append("no text")
    for event in browser.events:
        if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            faults.append(f"console: {event['params']['entry']['text']}")
        if event["method"] == "Runtime.exceptionThrown":
            faults.append("script error")
    return [f"{page.name} at {width}: {fault}" for fault in faults]


def main(site: Path) -> int:
    """Check every page; print each fault; 0 if there is none."""
    program = next((p for name in BROWSERS if (p := shutil.which(name))), None)
    if program is None:
        print(f"no browser to check with: install one of {', '.join(BROWSERS)}", file=sys.stderr)
        return 2
    pages = sorted(site.glob("*.html"))
    if not pages:
        print(f"no page in {site}: run make site first", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        try:
            faults = [
                fault for page in pages for width in WIDTHS for fault in faults_of(browser, page, width)
            ]
        finally:
            browser.close()
    print("\n".join([*faults, f"{len(pages)} pages, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m echo_terminal.analysis.site_check SITE")
    sys.exit(main(Path(sys.argv[1])))

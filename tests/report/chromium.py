"""A headless Chromium that tests drive over its debugging pipe (the Chrome DevTools Protocol): no driver to install."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["Page", "find_chromium"]

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
TIMEOUT_S = 60


def find_chromium() -> str | None:
    """The command of an installed Chromium or Chrome."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One page in a browser of its own. It keeps what went wrong and what was asked of the network."""

    def __init__(self, command: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        folder = f"--user-data-dir={self._profile.name}"
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh", command, *FLAGS, folder, "about:blank"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        """Console errors and warnings, exceptions, violations of the security policy."""
        self.requests: list[str] = []
        """Every address that was asked for, the page's own included."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_S)
        self._profile.cleanup()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + TIMEOUT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            read = os.read(self._from, 1 << 20)
            assert read, "the browser went away"
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.problems.append(json.dumps(parameters["args"]))
            case "Log.entryAdded":
                self.problems.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, phone: bool = False) -> None:
        """The size of the window, and what the reader prefers."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self._call("Emulation.setTouchEmulationEnabled", enabled=phone, maxTouchPoints=2)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Open a file, and wait until all of it is there and drawn."""
        self._call("Page.navigate", url=path.resolve().as_uri())
        while self.value("document.readyState + location.protocol") != "completefile:":
            time.sleep(0.02)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript gives; a promise is waited for."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse at a place of the window."""
        for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
            button = "none" if kind == "mouseMoved" else "left"
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)
        self.settle()

    def wheel(self, x: float, y: float, delta: float) -> None:
        """Turn the wheel at a place of the window."""
        self._call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)
        self.settle()

    def drag(self, x: float, y: float, to_x: float) -> None:
        """Drag from a place of the window to the side."""
        self._call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1)
        for step in (0.5, 1.0):
            self._call(
                "Input.dispatchMouseEvent",
                type="mouseMoved",
                x=x + step * (to_x - x),
                y=y,
                button="left",
                buttons=1,
            )
        self._call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=y, button="left", buttons=0)
        self.settle()

    def touch(self, *moves: list[tuple[float, float]]) -> None:
        """Put fingers down where the first of MOVES says, move them from one to the next, and lift them."""
        for number, places in enumerate(moves):
            points = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)]
            self._call("Input.dispatchTouchEvent", type="touchMove" if number else "touchStart", touchPoints=points)
        self._call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key; CODE is what Windows calls it, needed for keys without a letter."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )
        self.settle()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the window, or of the WHOLE page."""
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

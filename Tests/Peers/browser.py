"""Looks at the status page in headless Chromium, which it drives by the DevTools protocol with the package `websockets`.
Pictures need Pillow, which matplotlib brings.

check CHROMIUM DIRECTORY           checks the page at two widths, in light and dark, with JavaScript and without
shoot CHROMIUM DIRECTORY WIDTH SCHEME FILE [HEIGHT]   makes a picture of it

DIRECTORY holds first.html and next.html, the page at two moments; first.json and next.json, the same for programs; hostile.html, a
large page of texts that try to be markup; and policy, the value of Content-Security-Policy. The page is served from 127.0.0.1, and the
browser's profile is in DIRECTORY as well.
"""

import asyncio
import base64
import contextlib
import http.server
import io
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import PIL.Image
from websockets.asyncio.client import connect

# Seconds to wait for anything; only a machine with much else to do takes so long.
PATIENCE = 60

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-features=Translate,OptimizationHints,MediaRouter", "--remote-debugging-port=0",
]


class Origin(http.server.ThreadingHTTPServer):
    """Serves the first page until it is told to serve the next one. It keeps the targets of all requests."""

    daemon_threads = True

    def __init__(self, directory):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = {name: (directory / f"{name}.html").read_bytes() for name in ("first", "next", "hostile")}
        self.policy = (directory / "policy").read_text()
        self.moment = "first"
        self.targets = []
        self.is_silent = False
        self.url = f"http://127.0.0.1:{self.server_port}/status"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.targets.append(self.path)
        if self.server.is_silent:
            self.close_connection = True
            return
        body = self.server.pages[self.server.moment]
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Refused(Exception):
    """Chromium's answer to a call is an error."""


class Browser:
    """A connection to Chromium; each tab is a session of it."""

    def __init__(self, socket):
        self.socket = socket
        self.numbers = itertools.count(1)
        self.answers = {}
        self.tabs = {}
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        async for message in self.socket:
            message = json.loads(message)
            if "id" in message:
                answer = self.answers.pop(message["id"])
                if not answer.done():
                    answer.set_result(message)
            elif message.get("sessionId") in self.tabs:
                self.tabs[message["sessionId"]].take(message["method"], message["params"])

    async def call(self, method, session=None, patience=PATIENCE, **parameters):
        number = next(self.numbers)
        answer = self.answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        await self.socket.send(json.dumps(message))
        message = await asyncio.wait_for(answer, patience)
        if "error" in message:
            raise Refused(f"{method}: {message['error']}")
        return message["result"]

    async def tab(self, width, scheme, has_script=True, height=900, scale=1):
        target = await self.call("Target.createTarget", url="about:blank", newWindow=True)
        session = (await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True))["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.call(f"{domain}.enable")
        await tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 500)
        await tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
        if not has_script:
            await tab.call("Emulation.setScriptExecutionDisabled", value=True)
        return tab


class Tab:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.loaded = asyncio.Event()
        self.urls = []
        self.messages = []

    def take(self, method, parameters):
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Network.requestWillBeSent":
            self.urls.append(parameters["request"]["url"])
        elif method == "Log.entryAdded":
            self.messages.append(f"{parameters['entry']['source']}: {parameters['entry']['text']}")
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.messages.append(f"{method}: {parameters}")

    async def call(self, method, **parameters):
        return await self.browser.call(method, self.session, **parameters)

    async def open(self, url):
        self.loaded.clear()
        await self.call("Page.navigate", url=url)
        await asyncio.wait_for(self.loaded.wait(), PATIENCE)

    async def value(self, expression):
        # A page that is loaded anew meanwhile may take the answer with it, or have the call refused.
        failures = []
        for patience in (5, 10, PATIENCE):
            try:
                result = await self.call(
                    "Runtime.evaluate", patience=patience, expression=expression, returnByValue=True)
                assert "exceptionDetails" not in result, result["exceptionDetails"]
                return result["result"].get("value")
            except (TimeoutError, asyncio.TimeoutError, Refused) as failure:
                failures.append(failure)
        raise AssertionError(f"no answer: {expression}: {failures}")

    async def until(self, expression):
        end = time.monotonic() + PATIENCE
        while not await self.value(expression):
            assert time.monotonic() < end, f"{expression} does not become true"
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def running(chromium, directory):
    profile = pathlib.Path(tempfile.mkdtemp(prefix="profile-", dir=directory))
    log = open(directory / "log", "wb")
    child = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"], stdout=log, stderr=log)
    try:
        end = time.monotonic() + PATIENCE
        port = profile / "DevToolsActivePort"
        while not (port.exists() and port.read_text().count("\n") == 1):
            assert child.poll() is None and time.monotonic() < end, (directory / "log").read_text(errors="replace")
            await asyncio.sleep(0.02)
        number, path = port.read_text().split("\n")
        url = f"ws://127.0.0.1:{number}{path}"
        async with connect(url, max_size=None, compression=None, ping_interval=None, proxy=None) as socket:
            yield Browser(socket)
    finally:
        child.kill()
        child.wait()


# The rows of the page as text: name, requests per second, failed, p99.
ROWS = """(() => {
  const text = (element, selector) => element.querySelector(selector)?.textContent ?? "";
  const rows = {};
  for (const row of document.querySelectorAll("details.row")) {
    const figures = [...row.querySelectorAll("summary .q b")].map(each => each.textContent);
    rows[row.id[0] + ":" + text(row, ".n b")] = [figures[0], figures[1], figures.at(-1)];
  }
  for (const kind of ["routes", "upstreams"])
    for (const row of document.querySelectorAll(`#more-${kind} tbody tr`)) {
      const cells = [...row.children].map(each => each.textContent);
      rows[kind[0] + ":" + cells[0]] = [cells[2], cells[3], cells[6]];
    }
  return rows;
})()"""

# Elements that reach beyond the window, and text with less contrast than 4.5 to 1 (WCAG 2.2, 1.4.3).
FAULTS = """(() => {
  const faults = [];
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].reduce((sum, each, index) => {
    const part = each / 255;
    return sum + [0.2126, 0.7152, 0.0722][index] * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ground = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
  };
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) faults.push(`the page is ${wide} px too wide`);
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    if (!box.width || !element.checkVisibility()) continue;
    const name = `${element.tagName} ${element.className} in ${element.parentElement.className}`;
    if (box.right > innerWidth + 1) faults.push(`${name}: ends at ${box.right}`);
    if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== "inline")
      if (!element.closest(".fold thead")) faults.push(`${name}: ${element.scrollWidth} in ${element.clientWidth}`);
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    const [text, back] = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (contrast < 4.5) faults.push(`${name}: contrast ${contrast.toFixed(2)}`);
  }
  return [...new Set(faults)].slice(0, 20);
})()"""

UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "k": 1e3, "M": 1e6, "%": 0.01}


def is_shown(text, value):
    """Whether a text of the page stands for a number of the JSON, to the digits that the page has."""
    if value is None or text == "–":
        return value is None and text == "–"
    match = re.fullmatch(r"([<>] )?([\d.]+)(?: (\S+))?", text)
    unit = UNITS.get(match[3], 1)
    number = float(match[2]) * unit
    if match[1]:
        return value < number * 1.001 if match[1] == "< " else value > number * 0.999
    return abs(number - value) <= 0.51 * unit * 10 ** -len(match[2].partition(".")[2])


def expected(report):
    values = {}
    for kind in ("routes", "upstreams"):
        for each in report[kind]:
            window = each["last_10s"]
            values[f"{kind[0]}:{each['name']}"] = [
                window["requests"] / window["seconds"],
                window["failed"] / window["requests"] if window["requests"] else None,
                window["p99_seconds"],
            ]
    return values


async def compare(tab, report):
    shown, values = await tab.value(ROWS), expected(report)
    assert shown.keys() == values.keys(), shown.keys() ^ values.keys()
    for name, texts in shown.items():
        for text, value in zip(texts, values[name]):
            assert is_shown(text, value), f"{name}: {text} is shown for {value}"
    problems = await tab.value("[...document.querySelectorAll('.problems li>span:last-child')].map(each => each.textContent)")
    assert problems == [each["text"] for each in report["problems"]], problems


async def look(tab):
    assert (faults := await tab.value(FAULTS)) == [], faults
    await tab.value(UNFOLD)
    assert (faults := await tab.value(FAULTS)) == [], faults


async def with_script(browser, origins, directory, width, scheme):
    origin = Origin(directory)
    origins.append(origin)
    tab = await browser.tab(width, scheme)
    await tab.open(origin.url)
    reports = {name: json.loads((directory / f"{name}.json").read_text()) for name in ("first", "next")}
    await compare(tab, reports["first"])
    dark = await tab.value("matchMedia('(prefers-color-scheme:dark)').matches")
    assert dark == (scheme == "dark")

    # What the reader does stays: a row that was folded and is opened, one that was open and is folded, the focus, the place.
    await tab.value("document.querySelector('details.row:not([open])>summary').click()")
    await tab.value("document.querySelector('details.row[open]>summary').click()")
    await tab.value("document.querySelector('#failures>summary').focus()")
    await tab.value("scrollTo(0, 300)")
    folds = "[...document.querySelectorAll('details')].map(each => each.id + each.open).join()"
    before = await tab.value(folds)
    old = await tab.value("document.title")
    origin.moment = "next"
    await tab.until(f"document.title !== {json.dumps(old)}")
    assert await tab.value(folds) == before
    assert await tab.value("scrollY") == 300
    assert await tab.value("document.activeElement.parentElement.id") == "failures"
    await compare(tab, reports["next"])
    await look(tab)
    assert tab.messages == [], tab.messages
    return tab, origin


async def text_is_selected(tab):
    await tab.value("getSelection().selectAllChildren(document.querySelector('h1'))")
    await tab.until("document.getElementById('live').textContent === 'Values wait as long as text is selected.'")
    await tab.value("getSelection().removeAllRanges()")
    await tab.until("document.getElementById('live').textContent === 'Values are new every 2 seconds.'")


async def answers_no_more(tab, origin):
    origin.is_silent = True
    await tab.until("/^No answer since [0-9]+ s: these values are old\\.$/.test(document.getElementById('live').textContent)")
    assert await tab.value("document.getElementById('live').getAttribute('role')") == "status"
    await look(tab)
    origin.is_silent = False
    await tab.until("document.getElementById('live').className === ''")


async def without_script(browser, origins, directory, width, scheme):
    origin = Origin(directory)
    origins.append(origin)
    tab = await browser.tab(width, scheme, has_script=False)
    await tab.open(origin.url)
    await compare(tab, json.loads((directory / "first.json").read_text()))
    await look(tab)
    # Before the page can have been loaded anew with the next one's.
    old = await tab.value("document.title")
    origin.moment = "next"
    await tab.until(f"document.title && document.title !== {json.dumps(old)}")
    # It was loaded anew, not changed by its script. The title is there before the rest.
    await tab.until("document.querySelector('noscript p') && document.getElementById('live')?.textContent === ''")
    assert tab.messages == [], tab.messages


async def hostile(browser, origins, directory, width, scheme):
    origin = Origin(directory)
    origins.append(origin)
    origin.moment = "hostile"
    tab = await browser.tab(width, scheme)
    await tab.open(origin.url)
    await look(tab)
    assert await tab.value("document.querySelectorAll('script,img,iframe,[onload],[style]').length") == 1
    assert tab.messages == [], tab.messages


async def with_script_to_the_end(*case):
    tab, origin = await with_script(*case)
    await text_is_selected(tab)
    await answers_no_more(tab, origin)


async def check(chromium, directory):
    origins = []
    async with running(chromium, directory) as browser:
        # More at once would wait for each other.
        room = asyncio.Semaphore(4)

        async def run(case):
            async with room:
                await case

        cases = [
            run(way(browser, origins, directory, width, scheme))
            for way in (with_script_to_the_end, without_script, hostile)
            for width in (390, 1280)
            for scheme in ("light", "dark")
        ]
        await asyncio.gather(*cases)
        urls = {url for tab in browser.tabs.values() for url in tab.urls if not url.startswith("data:")}
        assert urls == {origin.url for origin in origins}, urls
    targets = {target for origin in origins for target in origin.targets}
    assert targets == {"/status"}, targets
    print("all is well")


async def shoot(chromium, directory, width, scheme, file, height=None):
    origin = Origin(directory)
    async with running(chromium, directory) as browser:
        tab = await browser.tab(int(width), scheme, scale=1 if int(width) > 500 else 2)
        await tab.open(origin.url)
        full = await tab.value("document.documentElement.scrollHeight")
        height = min(int(height or full), full)
        clip = {"x": 0, "y": 0, "width": int(width), "height": height, "scale": 1}
        shot = await tab.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        picture = PIL.Image.open(io.BytesIO(base64.b64decode(shot["data"])))
        picture.convert("RGB").quantize(96, dither=PIL.Image.Dither.NONE).save(file, optimize=True)


def main(verb, chromium, directory, *rest):
    # Fonts and settings of the user are none of the test's.
    os.environ["HOME"] = directory
    asyncio.run({"check": check, "shoot": shoot}[verb](chromium, pathlib.Path(directory), *rest))


if __name__ == "__main__":
    main(*sys.argv[1:])

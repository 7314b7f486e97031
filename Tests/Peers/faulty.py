"""Servers that fail in TLS and HTTP/2 as real ones do, one on each of the ports that it prints: `NAME PORT`, then `ready`.

    faulty.py DIRECTORY

The directory holds certificates and keys, NAME.pem and NAME.key. Needs Debian's python3-h2, for its frames and HPACK.
Each connection is served by a thread of its own, until the client closes it or the fault has happened.
"""
import socket
import ssl
import struct
import sys
import threading
import time
import warnings

import hpack
from hyperframe import frame as frames

CERTIFICATES = sys.argv[1]
FAULTS = {}
warnings.simplefilter("ignore")  # old versions of TLS are the point here


def fault(name):
    def note(function):
        FAULTS[name] = function
        return function

    return note


# TLS


def context(certificate="server", alpn=("http/1.1",), version=None, client_authority=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{CERTIFICATES}/{certificate}.pem", f"{CERTIFICATES}/{certificate}.key")
    made.set_alpn_protocols(list(alpn))
    if version is not None:
        if version < ssl.TLSVersion.TLSv1_2:
            made.set_ciphers("ALL:@SECLEVEL=0")
        made.minimum_version = made.maximum_version = version
    if client_authority:
        made.load_verify_locations(f"{CERTIFICATES}/{client_authority}.pem")
        made.verify_mode = ssl.CERT_REQUIRED
    return made


def handshake(connection, **options):
    return context(**options).wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)


def head(stream):
    """Reads a request's head."""
    received = b""
    while b"\r\n\r\n" not in received:
        more = stream.recv(65536)
        if not more:
            raise ConnectionError
        received += more
    return received


def until_closed(stream):
    while stream.recv(65536):
        pass


def answer(stream, response):
    head(stream)
    stream.sendall(response)


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


def serve(connection, **options):
    """A server that does all right but its certificate or version."""
    serve_on(handshake(connection, **options), WHOLE)


def serve_on(stream, response):
    while True:
        answer(stream, response)


for kind in ("server", "expired", "future", "wrong-host", "foreign", "self-signed"):
    FAULTS[f"certificate {kind}"] = lambda connection, kind=kind: serve(connection, certificate=kind)
FAULTS["version 1.0"] = lambda connection: serve(connection, version=ssl.TLSVersion.TLSv1)
FAULTS["version 1.1"] = lambda connection: serve(connection, version=ssl.TLSVersion.TLSv1_1)


def refuse_client(connection, version):
    """Wants a client's certificate; without one the handshake fails with an alert, and the client gets to read it."""
    wanting = context(version=version, client_authority="authority")
    stream = wanting.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        stream.do_handshake()
    except ssl.SSLError:
        until_closed(socket.socket(fileno=stream.detach()))


for name, version in (("1.2", ssl.TLSVersion.TLSv1_2), ("1.3", ssl.TLSVersion.TLSv1_3)):
    FAULTS[f"client certificate {name}"] = lambda connection, version=version: refuse_client(connection, version)


@fault("handshake hangs")
def _(connection):
    until_closed(connection)


@fault("handshake hangs within a record")
def _(connection):
    connection.recv(65536)
    connection.sendall(b"\x16\x03\x03\x00\x7a\x02\x00\x00")
    until_closed(connection)


@fault("handshake garbage")
def _(connection):
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    until_closed(connection)


@fault("handshake in plain HTTP")
def _(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    until_closed(connection)


@fault("handshake closed")
def _(connection):
    connection.recv(65536)


@fault("handshake reset")
def _(connection):
    connection.recv(65536)
    reset(connection)


@fault("handshake alert")
def _(connection):
    connection.recv(65536)
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")  # fatal, handshake_failure
    until_closed(connection)


def reset(connection):
    """Closes with a reset, wherever the connection is."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# How a response ends: with close_notify, with a bare end of the TCP stream, with a reset, or in garbage.

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nbody"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"
CLOSED = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody"
RESPONSES = {
    "length whole": LENGTH % 4,
    "length short": LENGTH % 9,
    "chunked whole": CHUNKED + b"0\r\n\r\n",
    "chunked short": CHUNKED,
    "close-delimited": CLOSED,
    "half a head": b"HTTP/1.1 200 OK\r\nContent-",
    "nothing": b"",
}


def end_notified(stream):
    try:
        stream.settimeout(5)
        stream.unwrap()
    except OSError:
        pass
    stream.close()


def end_bare(stream):
    stream.shutdown(socket.SHUT_WR)  # of TCP: no alert is sent
    raw = socket.socket(fileno=stream.detach())
    raw.settimeout(5)
    try:
        while raw.recv(65536):
            pass
    except OSError:
        pass
    raw.close()


def end_in_reset(stream):
    reset(socket.socket(fileno=stream.detach()))


def end_in_garbage(stream):
    raw = socket.socket(fileno=stream.detach())
    raw.sendall(b"\r\n0\r\n\r\nthis is no record of TLS\r\n")
    until_closed(raw)


ENDS = {"notified": end_notified, "bare": end_bare, "reset": end_in_reset, "garbage": end_in_garbage}


def ending(response, end):
    def run(connection):
        stream = handshake(connection)
        answer(stream, RESPONSES[response])
        ENDS[end](stream)

    return run


for response in RESPONSES:
    for end in ENDS:
        FAULTS[f"{response}, {end}"] = ending(response, end)


# HTTP/2


class Peer:
    """One connection of HTTP/2: frames are read and written one by one, so that they can be wrong."""

    def __init__(self, connection, settings=None, silent=False):
        self.stream = connection if isinstance(connection, ssl.SSLSocket) else handshake(connection, alpn=("h2",))
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.fields = {}
        if self.read(24) != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
            raise ConnectionError
        if not silent:
            self.send(frames.SettingsFrame(0, settings=settings or {}))

    def read(self, size):
        received = b""
        while len(received) < size:
            more = self.stream.recv(size - len(received))
            if not more:
                raise ConnectionError
            received += more
        return received

    def frame(self):
        frame, length = frames.Frame.parse_frame_header(memoryview(self.read(9)))
        frame.parse_body(memoryview(self.read(length)))
        if isinstance(frame, frames.SettingsFrame) and "ACK" not in frame.flags:
            self.send(frames.SettingsFrame(0, flags=["ACK"]))
        return frame

    def request(self):
        """The stream of the next request, when its head is there."""
        while True:
            frame = self.frame()
            if isinstance(frame, frames.HeadersFrame):
                self.fields = dict(self.decoder.decode(frame.data))
                return frame.stream_id

    def send(self, frame):
        self.stream.sendall(frame.serialize())

    def head(self, stream, *fields, status="200", flags=("END_HEADERS",)):
        block = self.encoder.encode([(":status", status), *fields])
        self.send(frames.HeadersFrame(stream, block, flags=flags))

    def data(self, stream, data=b"body", flags=()):
        self.send(frames.DataFrame(stream, data, flags=flags))

    def reset(self, stream, code):
        self.send(frames.RstStreamFrame(stream, error_code=code))

    def goaway(self, last, code=0):
        self.send(frames.GoAwayFrame(0, last_stream_id=last, error_code=code))

    def answer(self, stream):
        self.head(stream, ("content-length", "4"))
        self.data(stream, flags=("END_STREAM",))

    def flood(self, frame, seconds=120):
        """Sends one frame again and again, and reads nothing."""
        many = frame.serialize() * 5000
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.stream.sendall(many)

    def until_closed(self):
        while True:
            self.frame()


def h2(name, **options):
    """A fault that is met with when the first request of a connection is there."""

    def note(function):
        def run(connection):
            peer = Peer(connection, **options)
            function(peer, peer.request())
            peer.until_closed()

        FAULTS[f"h2 {name}"] = run
        return function

    return note


NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED, CANCEL, CALM, HTTP_1_1_REQUIRED = 0, 1, 2, 7, 8, 11, 13
LENGTH_4, LENGTH_9 = ("content-length", "4"), ("content-length", "9")


@h2("whole")
def _(peer, stream):
    while True:
        peer.answer(stream)
        stream = peer.request()


FLOODS = {
    "window updates": lambda stream: frames.WindowUpdateFrame(0, window_increment=1),
    "empty data": lambda stream: frames.DataFrame(stream, b""),
    "priorities": lambda stream: frames.PriorityFrame(stream + 2, depends_on=0, stream_weight=1),
    "farewells": lambda stream: frames.GoAwayFrame(0, last_stream_id=2**31 - 1, error_code=NO_ERROR),
}

for name, make in FLOODS.items():

    @h2(f"flood of {name}")
    def _(peer, stream, make=make):
        peer.head(stream)
        peer.flood(make(stream))


for name, code in (("no error", NO_ERROR), ("internal error", INTERNAL_ERROR), ("refused", REFUSED), ("cancel", CANCEL)):

    @h2(f"reset before the head, {name}")
    def _(peer, stream, code=code):
        peer.reset(stream, code)

    @h2(f"reset in the body, {name}")
    def _(peer, stream, code=code):
        peer.head(stream, LENGTH_9)
        peer.data(stream)
        peer.reset(stream, code)

    @h2(f"reset in a body of unknown length, {name}")
    def _(peer, stream, code=code):
        peer.head(stream)
        peer.data(stream)
        peer.reset(stream, code)


@h2("reset of a stream that nobody opened, in a body of unknown length")
def _(peer, stream):
    peer.head(stream)
    peer.data(stream)
    peer.reset(stream + 2, NO_ERROR)


@h2("reset in a body that can be resumed")
def _(peer, stream):
    while True:
        tag = ("etag", '"tag"')
        if peer.fields.get("range") == "bytes=4-":
            peer.head(stream, ("content-length", "5"), ("content-range", "bytes 4-8/9"), tag, status="206")
            peer.data(stream, b" rest", flags=("END_STREAM",))
        else:
            peer.head(stream, LENGTH_9, tag)
            peer.data(stream)
            peer.reset(stream, INTERNAL_ERROR)
        stream = peer.request()


def http1_required(name):
    """A fault of HTTP/2 at a server that answers by HTTP/1.1, and says so by its reset."""

    def note(function):
        def run(connection):
            stream = handshake(connection, alpn=("h2", "http/1.1"))
            if stream.selected_alpn_protocol() != "h2":
                serve_on(stream, CHUNKED + b"0\r\n\r\n")
            peer = Peer(stream)
            request = peer.request()
            function(peer, request)
            peer.reset(request, HTTP_1_1_REQUIRED)
            peer.until_closed()

        FAULTS[f"h2 HTTP/1.1 required {name}"] = run
        return function

    return note


@http1_required("before the head")
def _(peer, stream):
    pass


@http1_required("after an interim head")
def _(peer, stream):
    peer.send(frames.HeadersFrame(stream, peer.encoder.encode([(":status", "103")]), flags=("END_HEADERS",)))


@http1_required("after the head")
def _(peer, stream):
    peer.head(stream)


@http1_required("in a body of unknown length")
def _(peer, stream):
    peer.head(stream)
    peer.data(stream)


@h2("reset after the whole response")
def _(peer, stream):
    peer.answer(stream)
    peer.reset(stream, NO_ERROR)


for name, code in (("no error", NO_ERROR), ("calm down", CALM), ("protocol error", PROTOCOL_ERROR)):

    @h2(f"goaway of the request, {name}")
    def _(peer, stream, code=code):
        peer.goaway(0, code)
        end_notified(peer.stream)
        raise ConnectionError


@h2("goaway, then the response")
def _(peer, stream):
    peer.goaway(stream)
    peer.answer(stream)


@h2("goaway in the body, then the end")
def _(peer, stream):
    peer.head(stream, LENGTH_9)
    peer.data(stream)
    peer.goaway(stream, INTERNAL_ERROR)
    end_notified(peer.stream)
    raise ConnectionError


for end in ("notified", "bare", "reset"):
    for name, fields in (("the body", (LENGTH_9,)), ("a body of unknown length", ())):

        @h2(f"end in {name}, {end}")
        def _(peer, stream, end=end, fields=fields):
            peer.head(stream, *fields)
            peer.data(stream)
            ENDS[end](peer.stream)
            raise ConnectionError

    @h2(f"end before the head, {end}")
    def _(peer, stream, end=end):
        ENDS[end](peer.stream)
        raise ConnectionError


@h2("end of stream before the length")
def _(peer, stream):
    peer.head(stream, LENGTH_9)
    peer.data(stream, flags=("END_STREAM",))


@h2("more than the length")
def _(peer, stream):
    peer.head(stream, ("content-length", "2"))
    peer.data(stream, flags=("END_STREAM",))


@h2("stall before the head")
def _(peer, stream):
    pass


@h2("stall in the head")
def _(peer, stream):
    peer.head(stream, LENGTH_4, flags=())


@h2("stall in the body")
def _(peer, stream):
    peer.head(stream, LENGTH_9)
    peer.data(stream)


@h2("stall without a window", settings={frames.SettingsFrame.INITIAL_WINDOW_SIZE: 0})
def _(peer, stream):
    pass


@fault("h2 stall before the settings")
def _(connection):
    peer = Peer(connection, silent=True)
    until_closed(peer.stream)


@fault("h2 garbage for settings")
def _(connection):
    peer = Peer(connection, silent=True)
    peer.stream.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 2)
    until_closed(peer.stream)


@fault("h2 garbage in the middle")
def _(connection):
    peer = Peer(connection)
    stream = peer.request()
    peer.head(stream, LENGTH_9)
    peer.stream.sendall(b"\xff" * 64)
    until_closed(peer.stream)


@h2("frame larger than allowed")
def _(peer, stream):
    peer.head(stream, ("content-length", "20000"))
    peer.data(stream, b"x" * 20000, flags=("END_STREAM",))


@h2("data of a stream that nobody opened")
def _(peer, stream):
    peer.data(stream + 10)


@h2("header block that is no HPACK")
def _(peer, stream):
    peer.send(frames.HeadersFrame(stream, b"\xff\xff\xff\xff\xff\xff\xff\xff", flags=("END_HEADERS",)))


@h2("head without a status")
def _(peer, stream):
    block = peer.encoder.encode([("content-length", "4")])
    peer.send(frames.HeadersFrame(stream, block, flags=("END_HEADERS",)))
    peer.data(stream, flags=("END_STREAM",))


# What nghttp2 has to find in heads, as libcurl makes lines of what it lets through.


def heads(name, *blocks):
    """Blocks of literal fields, each as a head of its own; a body before the last of several."""

    @h2(name)
    def _(peer, stream):
        for index, block in enumerate(blocks):
            if index and index == len(blocks) - 1:
                peer.data(stream)
            flags = ["END_HEADERS"] + ["END_STREAM"] * (index > 0)
            fields = b"".join(b"\x10%c%b%c%b" % (len(name), name, len(value), value) for name, value in block)
            peer.send(frames.HeadersFrame(stream, fields, flags=flags))
        if len(blocks) == 1:
            peer.data(stream, flags=("END_STREAM",))


OK = (b":status", b"200")
heads("status below 100", [(b":status", b"099")])
heads("status of four digits", [(b":status", b"2000")])
heads("status twice", [OK, OK])
heads("status after a field", [(b"a", b"b"), OK])
heads("field name with a capital", [OK, (b"A", b"b")])
heads("field value with a line end", [OK, (b"set-cookie", b"secret\r\nx: y")])
heads("field of a connection", [OK, (b"transfer-encoding", b"chunked")])
heads("lengths that disagree", [OK, (b"content-length", b"4"), (b"content-length", b"5")])
heads("trailers", [OK], [(b"a", b"b")])
heads("trailers with a status", [OK], [OK])


@h2("goaway of the request, then silence")
def _(peer, stream):
    peer.goaway(0)


@h2("padded")
def _(peer, stream):
    peer.head(stream, LENGTH_4)
    peer.send(frames.DataFrame(stream, b"body", pad_length=9, flags=("PADDED", "END_STREAM")))


@h2("header bomb by the dynamic table")
def _(peer, stream):
    # One field of 4 KB that each further byte repeats: 16 KB on the wire become 60 MB.
    block = hpack.Encoder().encode([(":status", "200"), ("x-bomb", "b" * 4000)])
    peer.send(frames.HeadersFrame(stream, block))
    peer.send(frames.ContinuationFrame(stream, b"\xbe" * 16000, flags=("END_HEADERS",)))
    peer.data(stream, flags=("END_STREAM",))


@h2("header bomb by continuations")
def _(peer, stream):
    peer.send(frames.HeadersFrame(stream, hpack.Encoder().encode([(":status", "200")])))
    # A literal field that is not indexed, over and over.
    field = b"\x00\x06x-bomb\x7f\xa1\x1e" + b"b" * 4000
    for _ in range(4000):
        peer.send(frames.ContinuationFrame(stream, field))


@h2("header bomb by many responses")
def _(peer, stream):
    for _ in range(100_000):
        peer.send(frames.HeadersFrame(stream, peer.encoder.encode([(":status", "103")]), flags=("END_HEADERS",)))


@h2("trailer bomb")
def _(peer, stream):
    peer.head(stream)
    peer.data(stream)
    peer.send(frames.HeadersFrame(stream, peer.encoder.encode([("x-bomb", "b" * 4000)]), flags=("END_STREAM",)))
    peer.send(frames.ContinuationFrame(stream, b"\xbe" * 16000, flags=("END_HEADERS",)))


@h2("pings without end, then the response")
def _(peer, stream):
    # nghttp2 calls a thousand unanswered ones a flood, and a client that is late has all of them before it.
    for _ in range(900):
        peer.send(frames.PingFrame(0, b"12345678"))
    peer.answer(stream)


@h2("push that was refused")
def _(peer, stream):
    peer.send(frames.PushPromiseFrame(stream, promised_stream_id=2, data=peer.encoder.encode([
        (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", "/pushed")]),
        flags=("END_HEADERS",)))
    peer.answer(stream)


# The servers


def run(function, connection):
    try:
        connection.settimeout(60)
        function(connection)
    except (OSError, ConnectionError, ValueError):
        pass  # the client has ended it, as it should
    finally:
        try:
            connection.close()
        except OSError:
            pass


def listen(listener, function):
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(function, connection), daemon=True).start()


def main():
    for name, function in FAULTS.items():
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=listen, args=(listener, function), daemon=True).start()
        print(f"{name}\t{listener.getsockname()[1]}")
    print("ready", flush=True)
    threading.Event().wait()


main()

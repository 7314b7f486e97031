"""WebSockets by the package `websockets`: a server that sends back all messages, and clients that check what they get.

serve PORT [CERTIFICATE KEY]   listens on 127.0.0.1
check URL COUNT MIB [CA]       COUNT connections at once, each with messages, pings and an end; then a message of MIB MiB
hold URL COUNT [CA]            opens COUNT connections, says so, and waits until the other side ends them
"""

import asyncio
import os
import ssl
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def run_server(port, *pair):
    context = None
    if pair:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)

    async def echo(socket):
        async for message in socket:
            await socket.send(message)

    async with serve(
        echo, "127.0.0.1", int(port), ssl=context, max_size=None, compression=None, ping_interval=None, backlog=2048
    ) as server:
        await server.serve_forever()


def opening(url, authority=None):
    context = ssl.create_default_context(cafile=authority) if authority else None
    return connect(
        url, ssl=context, max_size=None, compression=None, ping_interval=None, proxy=None, open_timeout=60,
        close_timeout=20,
    )


async def open_all(url, count, authority):
    sockets = []
    for start in range(0, count, 50):
        sockets += await asyncio.gather(*(opening(url, *authority) for _ in range(min(50, count - start))))
    return sockets


async def check(url, count, mebibytes, *authority):
    sockets = await open_all(url, int(count), authority)

    async def use(number, socket):
        for text in (f"message {number}", "x" * 3000):
            await socket.send(text)
            assert await socket.recv() == text
        await (await socket.ping(str(number).encode()))

    await asyncio.gather(*(use(number, socket) for number, socket in enumerate(sockets)))
    await asyncio.gather(*(socket.close() for socket in sockets))
    assert {socket.close_code for socket in sockets} <= {1000}, {socket.close_code for socket in sockets}

    async with opening(url, *authority) as socket:
        pieces = [os.urandom(1 << 20) for _ in range(int(mebibytes))]
        receiving = asyncio.create_task(socket.recv())
        # Messages of one piece each come back while later ones are sent.
        await socket.send(b"first")
        assert await receiving == b"first"

        async def receive():
            return [await socket.recv() for _ in pieces]

        receiving = asyncio.create_task(receive())
        for piece in pieces:
            await socket.send(piece)
        assert await receiving == pieces
    print("all is as it was sent", flush=True)


async def hold(url, count, *authority):
    sockets = await open_all(url, int(count), authority)
    print("open", flush=True)
    for socket in sockets:
        try:
            await socket.recv()
        except ConnectionClosed:
            pass
    print("ended", flush=True)


if __name__ == "__main__":
    command = {"serve": run_server, "check": check, "hold": hold}[sys.argv[1]]
    asyncio.run(command(*sys.argv[2:]))

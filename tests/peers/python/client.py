"""An MCP client of the Python SDK (`mcp`) or of FastMCP (`fastmcp`), with its tokens in a folder.

    client.py LIBRARY URL FOLDER [--processes N | --runs N] [--tools NAME,NAME]

Calls the tools, by default `whoami`, and writes one JSON object per line: `authorize` with a URL whenever it needs a sign-in,
`text` with a tool's result, or `failed`. A single client then waits for the sign-in: the SDK reads the browser's final address from
standard input, FastMCP listens on its own port. With `--processes`, that many client processes share the folder: all of them
read the same tokens before the first one sends a request, and a sign-in fails. With `--runs`, that many processes use it one
after the other, which share nothing but the loaded libraries. CLOCK_AHEAD_SECONDS is how far their clock is
ahead of this machine's.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import sys
import time
import webbrowser
from urllib.parse import parse_qs, urlsplit

ahead = float(os.environ.get("CLOCK_AHEAD_SECONDS", "0"))
machine_time = time.time
time.time = lambda: machine_time() + ahead

arguments = argparse.ArgumentParser()
arguments.add_argument("library", choices=["mcp", "fastmcp"])
arguments.add_argument("url")
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--processes", type=int, default=1)
arguments.add_argument("--runs", type=int, default=1)
arguments.add_argument("--tools", type=lambda names: names.split(","), default=["whoami"])
given = arguments.parse_args()


def say(**fields):
    os.write(1, (json.dumps(fields) + "\n").encode())


def ask_for_sign_in(url):
    say(authorize=str(url))
    if given.processes > 1:
        raise RuntimeError("A sign-in was asked for.")


async def call_all(call):
    for name in given.tools:
        try:
            say(text=(await call(name)).content[0].text)
        except Exception as error:
            say(failed=repr(error))


fork = multiprocessing.get_context("fork")
together = fork.Barrier(given.processes, timeout=30)


class StartTogether:
    """Makes the processes wait for each other after loading their tokens."""

    waited = False

    async def _initialize(self):
        await super()._initialize()
        if not self.waited:
            self.waited = True
            await asyncio.to_thread(together.wait)


if given.library == "fastmcp":
    from fastmcp import Client
    from fastmcp.client.auth import OAuth
    from key_value.aio.stores.filetree import (
        FileTreeStore,
        FileTreeV1CollectionSanitizationStrategy,
        FileTreeV1KeySanitizationStrategy,
    )

    webbrowser.open = ask_for_sign_in

    class TogetherOAuth(StartTogether, OAuth):
        pass

    async def connect_and_call():
        store = FileTreeStore(
            data_directory=given.folder,
            key_sanitization_strategy=FileTreeV1KeySanitizationStrategy(given.folder),
            collection_sanitization_strategy=FileTreeV1CollectionSanitizationStrategy(given.folder),
        )
        oauth = TogetherOAuth(token_storage=store)
        async with Client(given.url, auth=oauth) as client:
            await call_all(client.call_tool)

else:
    from mcp import ClientSession
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

    try:
        import httpx2 as httpx
        from mcp.shared.auth import AuthorizationCodeResult
    except ImportError:
        import httpx

        AuthorizationCodeResult = None

    redirect_uri = "http://127.0.0.1:4711/callback"

    class Storage:
        """Also stores when the access token expires, which the SDK leaves to its users."""

        file = given.folder / "tokens.json"

        def read(self):
            return json.loads(self.file.read_text()) if self.file.exists() else {}

        def write(self, **fields):
            draft = self.file.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps({**self.read(), **fields}))
            draft.replace(self.file)

        async def get_tokens(self):
            stored = self.read().get("tokens")
            return stored and OAuthToken.model_validate(stored)

        async def set_tokens(self, tokens):
            self.write(tokens=tokens.model_dump(mode="json"), expires_at=time.time() + tokens.expires_in)

        async def get_client_info(self):
            stored = self.read().get("client")
            return stored and OAuthClientInformationFull.model_validate(stored)

        async def set_client_info(self, client):
            self.write(client=client.model_dump(mode="json"))

    class TogetherProvider(StartTogether, OAuthClientProvider):
        pass

    async def redirect_handler(url):
        ask_for_sign_in(url)

    async def callback_handler():
        line = await asyncio.to_thread(sys.stdin.readline)
        fields = {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}
        if AuthorizationCodeResult is None:
            return fields["code"], fields.get("state")
        return AuthorizationCodeResult(code=fields["code"], state=fields.get("state"), iss=fields.get("iss"))

    async def connect_and_call():
        storage = Storage()
        provider = TogetherProvider(
            server_url=given.url,
            client_metadata=OAuthClientMetadata(
                client_name="Python client",
                redirect_uris=[redirect_uri],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
            ),
            storage=storage,
            redirect_handler=redirect_handler,
            callback_handler=callback_handler,
        )
        provider.context.token_expiry_time = storage.read().get("expires_at")
        async with httpx.AsyncClient(auth=provider, timeout=30) as http_client:
            async with streamable_http_client(given.url, http_client=http_client) as streams:
                async with ClientSession(streams[0], streams[1]) as session:
                    await session.initialize()
                    await call_all(session.call_tool)


def run():
    try:
        asyncio.run(connect_and_call())
    except BaseException as error:
        say(failed=repr(error))


if given.processes == 1:
    for _ in range(given.runs):
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        os.waitpid(child, 0)
else:
    children = [fork.Process(target=run) for _ in range(given.processes)]
    for child in children:
        child.start()
    for child in children:
        child.join()

"""A job in the Python SDK (`mcp`) or FastMCP's client (`fastmcp`), which no person attends.

    token_client.py LIBRARY URL WAY

Calls `whoami` twice in one session, and writes what it says each time as one JSON object per line. WAY is `header` with the bearer
token TOKEN; or `secret_basic`, `secret_post` or `key`, for the service CLIENT_ID with CLIENT_SECRET or PRIVATE_KEY (PEM), which gets
its tokens from the authorization server ISSUER by itself.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client

try:
    import httpx2 as httpx
except ImportError:
    import httpx

library, url, way = sys.argv[1:]
given = os.environ


class Storage:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def provider():
    service = {"server_url": url, "storage": Storage(), "client_id": given["CLIENT_ID"], "issuer": given["ISSUER"]}
    if way == "key":
        signed = SignedJWTParameters(
            issuer=given["CLIENT_ID"],
            subject=given["CLIENT_ID"],
            signing_key=given["PRIVATE_KEY"],
            signing_algorithm="ES256",
        )
        return PrivateKeyJWTOAuthProvider(assertion_provider=signed.create_assertion_provider(), **service)
    method = f"client_{way}"
    return ClientCredentialsOAuthProvider(
        client_secret=given["CLIENT_SECRET"], token_endpoint_auth_method=method, **service
    )


async def call_twice(call):
    for _ in range(2):
        result = await call("whoami", {})
        said = getattr(result, "structured_content", None) or result.structuredContent
        print(json.dumps(said), flush=True)


async def with_fastmcp():
    from fastmcp import Client

    async with Client(url, auth=given["TOKEN"] if way == "header" else provider()) as client:
        await call_twice(client.call_tool)


async def with_sdk():
    let_in = {"headers": {"Authorization": f"Bearer {given['TOKEN']}"}} if way == "header" else {"auth": provider()}
    async with httpx.AsyncClient(timeout=30, **let_in) as http_client:
        async with streamable_http_client(url, http_client=http_client) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                await call_twice(session.call_tool)


asyncio.run(with_fastmcp() if library == "fastmcp" else with_sdk())

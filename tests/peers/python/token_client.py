"""A job of the Python SDK that no person signs in for.

    token_client.py header | secret | key URL

Calls `whoami` and prints its structured result, with the TOKEN of a person, or as the service CLIENT_ID that has CLIENT_SECRET or
the private key in the file CLIENT_KEY. All of them are environment variables.
"""

import asyncio
import json
import os
import pathlib
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

kind, url = sys.argv[1:]


class Storage:
    """Keeps nothing."""

    async def get_tokens(self):
        return None

    async def set_tokens(self, tokens):
        pass

    async def get_client_info(self):
        return None

    async def set_client_info(self, client):
        pass


def authentication():
    if kind == "header":
        return {"headers": {"Authorization": f"Bearer {os.environ['TOKEN']}"}}
    who = {"server_url": url, "storage": Storage(), "client_id": os.environ["CLIENT_ID"]}
    if kind == "secret":
        return {"auth": ClientCredentialsOAuthProvider(**who, client_secret=os.environ["CLIENT_SECRET"])}
    signed = SignedJWTParameters(
        issuer=who["client_id"],
        subject=who["client_id"],
        signing_algorithm="ES256",
        signing_key=pathlib.Path(os.environ["CLIENT_KEY"]).read_text(),
    )
    return {"auth": PrivateKeyJWTOAuthProvider(**who, assertion_provider=signed.create_assertion_provider())}


async def main():
    async with httpx.AsyncClient(timeout=30, **authentication()) as http_client:
        async with streamable_http_client(url, http_client=http_client) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                result = await session.call_tool("whoami")
                result = result.model_dump(by_alias=True)
                print(json.dumps(result["structuredContent"]))


asyncio.run(main())

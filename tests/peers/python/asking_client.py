"""An MCP client of the Python SDK 2 (`mcp`) or of FastMCP 4 (`fastmcp`) that a server can ask.

    asking_client.py LIBRARY SERVER MODE TOOL...

SERVER is a URL, to which the access token from standard input is sent, or the command of a stdio server as a JSON list. MODE is how
the client finds the revision, `auto` or a version. Accepts elicitation, and answers sampling with a text. Writes one JSON object: `version`, and `texts` with the result of each tool, or `failed`.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp_types import CreateMessageResult, ElicitResult, TextContent

library, server, mode, *tools = sys.argv[1:]
command = json.loads(server) if server.startswith("[") else None
token = sys.stdin.readline().strip()
what_the_model_says = "what the model says"
arguments = {"trigger-sampling-request": {"prompt": "Say it.", "maxTokens": 10}}


async def call(client):
    results = [await client.call_tool(tool, arguments.get(tool, {})) for tool in tools]
    return ["".join(getattr(block, "text", "") for block in result.content) for result in results]


async def by_sdk():
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async def elicit(_context, _params):
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def sample(_context, _params):
        content = TextContent(type="text", text=what_the_model_says)
        return CreateMessageResult(role="assistant", content=content, model="a model")

    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http_client:
        if command:
            transport = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))
        else:
            transport = streamable_http_client(server, http_client=http_client)
        async with Client(transport, mode=mode, elicitation_callback=elicit, sampling_callback=sample) as client:
            return {"version": client.session.protocol_version, "texts": await call(client)}


async def by_fastmcp():
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult as Elicited
    from fastmcp.client.transports import StdioTransport

    async def elicit(_message, _type, _params, _context):
        return Elicited(action="accept", content={"name": "Ada"})

    async def sample(_messages, _params, _context):
        return what_the_model_says

    handlers = {"mode": mode, "elicitation_handler": elicit, "sampling_handler": sample}
    if command:
        client = Client(StdioTransport(command[0], command[1:], env=dict(os.environ)), **handlers)
    else:
        client = Client(server, auth=token, **handlers)
    async with client:
        return {"version": client.session.protocol_version, "texts": await call(client)}


def innermost(error):
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


try:
    print(json.dumps(asyncio.run(by_sdk() if library == "mcp" else by_fastmcp())))
except BaseException as error:
    print(json.dumps({"failed": repr(innermost(error))}))

"""An MCP server of the Python SDK (`mcp` 1 or 2) that accepts calls only through Drawbridge.

    sdk_server.py PORT ISSUER

ISSUER is the BASE_URL of Drawbridge, whose upstream has the default `"identity": ["assertion"]`.
"""

import sys

import jwt
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

port, issuer = int(sys.argv[1]), sys.argv[2]

keys = jwt.PyJWKClient(f"{issuer}/oauth/jwks")


def caller(assertion):
    key = keys.get_signing_key_from_jwt(assertion)
    audience = f"http://127.0.0.1:{port}/mcp"
    return jwt.decode(assertion, key, algorithms=["ES256"], issuer=issuer, audience=audience)


class ThroughTheDoor:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            try:
                claims = caller(Headers(scope=scope).get("drawbridge-assertion", ""))
            except jwt.PyJWTError:
                return await PlainTextResponse("Not through the door.", 401)(scope, receive, send)
            scope.setdefault("state", {})["caller"] = claims
        await self.app(scope, receive, send)


mcp = MCPServer("python-sdk")


@mcp.tool()
def whoami(context: Context) -> str:
    return f"You are {context.request_context.request.state.caller['email']}."


@mcp.tool()
async def count(to: int, context: Context) -> str:
    for done in range(1, to + 1):
        await context.report_progress(done, to)
    return f"Counted to {to}."


uvicorn.run(ThroughTheDoor(mcp.streamable_http_app()), host="127.0.0.1", port=port, log_level="warning")

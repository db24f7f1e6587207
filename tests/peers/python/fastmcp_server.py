"""An MCP server of FastMCP that accepts calls only through Drawbridge.

    fastmcp_server.py PORT ISSUER

ISSUER is the BASE_URL of Drawbridge, whose upstream has `"identity": ["bearer"]`.
"""

import sys

from fastmcp import Context, FastMCP
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from opentelemetry import trace

port, issuer = int(sys.argv[1]), sys.argv[2]

verifier = JWTVerifier(
    jwks_uri=f"{issuer}/oauth/jwks",
    issuer=issuer,
    audience=f"http://127.0.0.1:{port}/mcp",
    algorithm="ES256",
)
mcp = FastMCP("fastmcp", auth=verifier)


@mcp.tool
def whoami() -> str:
    return f"You are {get_access_token().claims['email']}."


@mcp.tool
async def count(to: int, context: Context) -> str:
    for done in range(1, to + 1):
        await context.report_progress(done, to)
    return f"Counted to {to}."


@mcp.tool
def opening_hours(x: str) -> str:
    return "Open from 9 to 5."


@mcp.tool
def delete_everything(x: str = "") -> str:
    return "Deleted everything."


@mcp.tool
def span(note: str = "") -> str:
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x} {context.span_id:016x}"


@mcp.tool
def fail() -> str:
    raise ValueError("It failed.")


mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)

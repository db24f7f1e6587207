"""An MCP server that is its own authorization server, as the libraries have it.

    oauth_server.py LIBRARY PORT TTL

LIBRARY is `fastmcp` with its in-memory provider, or `mcp` with a provider on the Python SDK's own endpoints. Every
sign-in is approved at once, and access tokens live for TTL seconds. The library checks clients, codes and tokens; metadata, registration and client authentication
are its own.
"""

import secrets
import sys
import time

library, port, ttl = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
origin = f"http://127.0.0.1:{port}"

from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

options = {
    "client_registration_options": ClientRegistrationOptions(enabled=True, valid_scopes=["mcp"], default_scopes=["mcp"]),
    "revocation_options": RevocationOptions(enabled=True),
    "required_scopes": ["mcp"],
}

if library == "fastmcp":
    from fastmcp import FastMCP
    from fastmcp.server.auth.providers import in_memory

    in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = ttl
    mcp = FastMCP("fastmcp", auth=in_memory.InMemoryOAuthProvider(base_url=origin, **options))
else:
    from mcp.server.auth.provider import (
        AccessToken,
        AuthorizationCode,
        OAuthAuthorizationServerProvider,
        RefreshToken,
        construct_redirect_uri,
    )
    from mcp.server.auth.settings import AuthSettings
    from mcp.shared.auth import OAuthToken

    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        from mcp.server.fastmcp import FastMCP as MCPServer

    class Provider(OAuthAuthorizationServerProvider):
        def __init__(self):
            self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

        async def get_client(self, client_id):
            return self.clients.get(client_id)

        async def register_client(self, client_info):
            self.clients[client_info.client_id] = client_info

        async def authorize(self, client, params):
            code = secrets.token_urlsafe(32)
            self.codes[code] = AuthorizationCode(
                code=code,
                client_id=client.client_id,
                scopes=params.scopes or ["mcp"],
                expires_at=time.time() + 60,
                code_challenge=params.code_challenge,
                redirect_uri=params.redirect_uri,
                redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
                resource=params.resource,
            )
            return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

        async def load_authorization_code(self, client, authorization_code):
            return self.codes.get(authorization_code)

        async def exchange_authorization_code(self, client, authorization_code):
            del self.codes[authorization_code.code]
            return self.issue(client, authorization_code.scopes)

        async def load_refresh_token(self, client, refresh_token):
            return self.refresh.get(refresh_token)

        async def exchange_refresh_token(self, client, refresh_token, scopes):
            del self.refresh[refresh_token.token]
            return self.issue(client, scopes)

        async def load_access_token(self, token):
            return self.access.get(token)

        async def revoke_token(self, token):
            self.access.pop(token.token, None)
            self.refresh.pop(token.token, None)

        def issue(self, client, scopes):
            access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
            common = {"client_id": client.client_id, "scopes": scopes}
            self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + ttl, **common)
            self.refresh[refresh] = RefreshToken(token=refresh, **common)
            return OAuthToken(access_token=access, expires_in=ttl, refresh_token=refresh, scope=" ".join(scopes))

    auth = AuthSettings(issuer_url=origin, resource_server_url=f"{origin}/mcp", **options)
    mcp = MCPServer("python-sdk", auth_server_provider=Provider(), auth=auth)


@mcp.tool()
def echo(text: str) -> str:
    return text


if library == "fastmcp":
    mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
else:
    import uvicorn

    uvicorn.run(mcp.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")

"""A peer: FastMCP's proxy with its JWT verifier. Arguments: its port, the URL behind it, the issuer."""

import sys

from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient

port, url, issuer = sys.argv[1:]
verifier = JWTVerifier(jwks_uri=f"{issuer}/jwks", issuer=issuer, audience="bench")
# One client behind each session: a proxy made from the URL opens one for each call.
client = StatefulProxyClient(url)
proxy = FastMCPProxy(client_factory=client.new_stateful, name="peer", auth=verifier)
options = {"access_log": False}
proxy.run("http", show_banner=False, host="127.0.0.1", port=int(port), json_response=True, uvicorn_config=options)

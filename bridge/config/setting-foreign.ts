/** A flag of another bridge: without effect here, or with another name. */
type ForeignFlag = { why: string } | { by: string }

const mcpRemote = (why: string): ForeignFlag => ({ why })
const replaced = (by: string): ForeignFlag => ({ by })

/** Flags of mcp-remote, which are accepted, and of supergateway, mcp-proxy and others, which get a hint. */
export const foreignFlags: Readonly<Record<`--${string}`, ForeignFlag>> = {
  '--enable-proxy': mcpRemote('the proxies of the environment are used anyway; --no-proxy switches them off'),
  '--silent': mcpRemote('the bridge prints only what a person should see'),
  '--auth-success-url <url>': mcpRemote('a page of the bridge says how the sign-in ended'),
  '--callback-path <path>': mcpRemote('use --callback with the whole redirect URI'),
  '--auth-timeout <seconds>': mcpRemote('--timeout limits the sign-in too'),
  '--connect-timeout <seconds>': mcpRemote('connecting may take 10 seconds, or --timeout if that is less'),
  '--headers-timeout <seconds>': mcpRemote('use --timeout'),
  '--body-timeout <seconds>': mcpRemote('use --timeout'),
  '--ping-interval <seconds>': mcpRemote('--keep-alive sends a ping every 30 seconds'),
  '--disable-cookies': mcpRemote('cookies of the server are kept in memory only, for load balancers'),
  '--ipv4': mcpRemote('where an IPv6 address does not answer, the IPv4 address is tried after half a second'),
  '--token-endpoint <url>': mcpRemote('the metadata of the authorization server names it'),
  '--streamableHttp <url>': replaced('the URL alone: drawbridge <url>'),
  '--sse <url>': replaced('the URL and --transport sse-only'),
  '--stdio <command>': replaced('the URL of a remote server: drawbridge starts no local one'),
  '--oauth2Bearer <token>': replaced('the variable DRAWBRIDGE_TOKEN'),
  '--bearer-token <token>': replaced('the variable DRAWBRIDGE_TOKEN'),
  '--logLevel <level>': replaced('--debug'),
  '--log-level <level>': replaced('--debug'),
  '--verbose': replaced('--debug'),
  '--quiet': replaced('2>/dev/null'),
  '--headers <json>': replaced('--header, once for each'),
  '--deny-tool <glob>': replaced('--ignore-tool'),
  '--tools <names>': replaced('--allow-tool, once for each'),
  '--client-id <id>': replaced('--static-oauth-client-info'),
  '--client-secret <secret>': replaced('--static-oauth-client-info @FILE'),
  '--http-proxy <url>': replaced('--proxy'),
  '--https-proxy <url>': replaced('--proxy'),
  '--insecure': replaced('--ca FILE, with the authority of the server'),
  '--no-verify-ssl': replaced('--ca FILE, with the authority of the server'),
  '--verify-ssl <switch>': replaced('--ca FILE, with the authority of the server'),
  '--allow-insecure-http': replaced('--allow-http'),
  '--no-browser': replaced('--no-open'),
  '--port <port>': replaced('the port behind the URL: drawbridge <url> <port>'),
  '--callback-port <port>': replaced('the port behind the URL: drawbridge <url> <port>'),
  '--reset-auth': replaced('drawbridge logout <url>'),
}

/** A flag of another bridge: it has no effect here, or another name. */
export type ForeignFlag =
  | { kind: 'no_effect'; why: string }
  /** `takesValue`: the next word is its value. */
  | { kind: 'replaced'; by: string; takesValue: boolean }

const replaced = (by: string, takesValue = true): ForeignFlag => ({ kind: 'replaced', by, takesValue })

/** Flags of mcp-remote, supergateway, mcp-proxy and others that people try here. */
export const foreignFlags: Readonly<Record<string, ForeignFlag>> = {
  '--enable-proxy': {
    kind: 'no_effect',
    why: 'the proxies of the environment are used anyway; --no-proxy switches them off',
  },
  '--streamableHttp': replaced('the URL alone: drawbridge <url>'),
  '--sse': replaced('the URL and --transport sse-only'),
  '--stdio': replaced('the URL of a remote server: drawbridge starts no local one'),
  '--oauth2Bearer': replaced('the variable DRAWBRIDGE_TOKEN'),
  '--bearer-token': replaced('the variable DRAWBRIDGE_TOKEN'),
  '--logLevel': replaced('--debug or --silent'),
  '--log-level': replaced('--debug or --silent'),
  '--verbose': replaced('--debug', false),
  '--quiet': replaced('--silent', false),
  '--headers': replaced('--header, once for each'),
  '--deny-tool': replaced('--ignore-tool'),
  '--tools': replaced('--allow-tool, once for each'),
  '--client-id': replaced('--static-oauth-client-info'),
  '--client-secret': replaced('--static-oauth-client-info @FILE'),
  '--http-proxy': replaced('--proxy'),
  '--https-proxy': replaced('--proxy'),
  '--insecure': replaced('--ca FILE, with the authority of the server', false),
  '--no-verify-ssl': replaced('--ca FILE, with the authority of the server', false),
  '--verify-ssl': replaced('--ca FILE, with the authority of the server'),
  '--allow-insecure-http': replaced('--allow-http', false),
  '--no-browser': replaced('--no-open', false),
  '--port': replaced('the port behind the URL: drawbridge <url> <port>'),
  '--callback-port': replaced('the port behind the URL: drawbridge <url> <port>'),
  '--reset-auth': replaced('drawbridge logout <url>', false),
  '--timeout': replaced('--headers-timeout or --retry'),
}

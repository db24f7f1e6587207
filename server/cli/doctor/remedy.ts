/** Faults of what is in front of a server, which its configuration mends. */
export type ProxyFault =
  | 'port'
  | 'chain'
  | 'renewal'
  | 'host'
  | 'authority'
  | 'methods'
  | 'bodies'
  | 'challenge'
  | 'authorization'
  | 'exposed'
  | 'programs'
  | 'buffering'
  | 'paths'
  | 'redirect'
  | 'compression'

type Proxy = 'nginx' | 'Caddy' | 'Traefik' | 'Cloudflare'

const remedies: Readonly<Record<ProxyFault, Partial<Record<Proxy, string>>>> = {
  port: {
    nginx: 'listen 443 ssl http2;',
    Caddy: 'a site address without a port',
    Traefik: 'entryPoints.websecure.address: ":443"',
    Cloudflare: 'an Origin Rule with the destination port',
  },
  chain: {
    nginx: 'ssl_certificate with fullchain.pem, not cert.pem',
    Caddy: 'tls fullchain.pem key.pem',
    Traefik: 'certFile: fullchain.pem',
    Cloudflare: 'bundle method Compatible',
  },
  renewal: {
    nginx: 'certbot renew, then nginx -s reload',
    Caddy: 'see its log for why it does not renew',
    Traefik: 'certResolver; see its log',
    Cloudflare: 'SSL/TLS, Edge Certificates',
  },
  host: {
    nginx: 'server_name with this host, in the block of its ssl_certificate',
    Caddy: 'this host as the site address',
    Traefik: 'Host(`...`) and tls.domains with this host',
    Cloudflare: 'an edge certificate for this name: Universal SSL has one level of subdomains',
  },
  authority: {
    nginx: 'ssl_certificate of a public authority, such as by certbot',
    Caddy: 'no `tls internal`',
    Traefik: 'tls.certResolver; without one it has a certificate of its own',
    Cloudflare: 'proxy status Proxied: its Origin CA is for Cloudflare alone',
  },
  methods: {
    nginx: 'no limit_except, return or auth_basic for /mcp',
    Caddy: 'no `method` matcher before reverse_proxy',
    Traefik: 'no Method(...) in the rule',
    Cloudflare: 'a WAF rule that skips /mcp',
  },
  bodies: {
    nginx: 'client_max_body_size 8m;',
    Caddy: 'request_body { max_size 8MB }',
    Traefik: 'buffering.maxRequestBodyBytes: 8388608',
  },
  challenge: {
    nginx: 'no proxy_hide_header WWW-Authenticate, and proxy_intercept_errors off;',
    Caddy: 'no header_down -WWW-Authenticate',
    Traefik: 'no customResponseHeaders for WWW-Authenticate, no errors middleware for 401',
    Cloudflare: 'no response header transform for it',
  },
  authorization: {
    nginx: 'proxy_set_header Authorization $http_authorization;',
    Caddy: 'no header_up -Authorization',
    Traefik: 'no basicAuth.removeHeader, no customRequestHeaders for it',
    Cloudflare: 'no request header transform for it',
  },
  exposed: {
    nginx: 'no proxy_hide_header or add_header for Access-Control-*',
    Caddy: 'no header_down Access-Control-*',
    Traefik: 'no accessControl* in a headers middleware',
    Cloudflare: 'no response header transform for Access-Control-*',
  },
  programs: {
    nginx: 'no `if ($http_user_agent ...)` for /mcp, /oauth/ and /.well-known/',
    Caddy: 'no `header User-Agent` matcher for them',
    Traefik: 'no HeaderRegexp(`User-Agent`, ...) or bot plugin for them',
    Cloudflare: 'Bot Fight Mode off, and a WAF rule that skips all for them',
  },
  buffering: {
    nginx: 'proxy_buffering off; no proxy_ignore_headers X-Accel-Buffering, no gzip_types text/event-stream',
    Caddy: 'flush_interval -1',
    Traefik: 'no buffering middleware; compress.excludedContentTypes: text/event-stream',
    Cloudflare: 'a Cache Rule that bypasses /mcp',
  },
  paths: {
    nginx: 'proxy_pass http://drawbridge; without a path behind it, in a location for /.well-known/ too',
    Caddy: '`handle`, not `handle_path`, for /.well-known/* too',
    Traefik: 'PathPrefix(`/.well-known/`) in the rule, no stripPrefix or replacePath',
    Cloudflare: 'no URL Rewrite Rule for them',
  },
  redirect: {
    nginx: '`return 301` in the block of port 80 alone, no `rewrite ... permanent`',
    Caddy: 'no `redir` for these paths',
    Traefik: 'redirectScheme at the entry point of port 80 alone, no redirectRegex',
    Cloudflare: 'SSL/TLS mode Full (strict), not Flexible; no Redirect Rule for them',
  },
  compression: {
    nginx: 'no proxy_hide_header or add_header for Content-Encoding; gzip in one place',
    Caddy: 'encode in one place',
    Traefik: 'compress in one place',
    Cloudflare: 'a Compression Rule that turns it off for this host',
  },
}

/** Returns what mends a fault, with the line of configuration for each proxy. */
export function remedy(fault: ProxyFault, step: string): string {
  const lines = Object.entries(remedies[fault]).map(([proxy, line]) => `${proxy}: ${line}`)
  return `${step} ${lines.join(' | ')}`
}

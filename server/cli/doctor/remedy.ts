/** What mends each fault of a proxy, as its line of configuration or what must not be there. */
const remedies = {
  port: `nginx: listen 443 ssl http2; | Caddy: a site address without a port | Traefik: entryPoints.websecure.address: ":443" | Cloudflare: an Origin Rule with the destination port`,
  chain: `nginx: ssl_certificate .../fullchain.pem, not cert.pem | Caddy: tls fullchain.pem key.pem | Traefik: certFile: fullchain.pem | Cloudflare: bundle method Compatible`,
  renewal: `nginx: certbot renew, then nginx -s reload | Caddy, Traefik: their log says why they do not renew | Cloudflare: SSL/TLS, Edge Certificates`,
  host: `nginx: this name in server_name and in its ssl_certificate | Caddy: as the site address | Traefik: Host(...) and tls.domains | Cloudflare: an edge certificate; the universal one has one level of subdomains`,
  authority: `nginx: ssl_certificate of a public authority, such as by certbot | Caddy: no tls internal | Traefik: tls.certResolver | Cloudflare: proxy status Proxied, as its Origin CA is for Cloudflare alone`,
  methods: `nginx: no limit_except, return or auth_basic for /mcp | Caddy: no method matcher | Traefik: no Method(...) in the rule | Cloudflare: a WAF rule that skips /mcp`,
  bodies: `nginx: client_max_body_size 8m; | Caddy: request_body { max_size 8MB } | Traefik: buffering.maxRequestBodyBytes: 8388608`,
  challenge: `nginx: no proxy_hide_header WWW-Authenticate; and proxy_intercept_errors off; | Caddy: no header_down -WWW-Authenticate | Traefik: no customResponseHeaders for it, no errors middleware for 401 | Cloudflare: no response header transform`,
  authorization: `nginx: proxy_set_header Authorization $http_authorization; | Caddy: no header_up -Authorization | Traefik: no basicAuth.removeHeader | Cloudflare: no request header transform`,
  exposed: `nginx: no proxy_hide_header or add_header for Access-Control-* | Caddy: no header_down for them | Traefik: no accessControl* in a headers middleware | Cloudflare: no response header transform`,
  programs: `nginx: no if ($http_user_agent ...) | Caddy: no matcher header User-Agent | Traefik: no HeaderRegexp(\`User-Agent\`) or bot plugin | Cloudflare: Bot Fight Mode off, and a WAF rule that skips all for these paths`,
  buffering: `nginx: proxy_buffering off; without proxy_ignore_headers X-Accel-Buffering or gzip_types text/event-stream | Caddy: flush_interval -1 | Traefik: no buffering; compress.excludedContentTypes: text/event-stream | Cloudflare: a Cache Rule that bypasses /mcp`,
  paths: `nginx: proxy_pass http://drawbridge; with no path behind it, for /.well-known/ too | Caddy: handle, not handle_path | Traefik: no stripPrefix, and PathPrefix(\`/.well-known/\`) in the rule | Cloudflare: no URL Rewrite Rule`,
  redirect: `nginx: return 301 for port 80 alone, no rewrite ... permanent | Caddy: no redir | Traefik: redirectScheme for port 80 alone, no redirectRegex | Cloudflare: SSL/TLS mode Full (strict), not Flexible; no Redirect Rule`,
  compression: `nginx: no proxy_hide_header or add_header for Content-Encoding | Caddy, Traefik: encode or compress in one place | Cloudflare: a Compression Rule that turns it off for this host`,
} as const

export type ProxyFault = keyof typeof remedies

/** Returns the next step for a fault of what is in front of a server, with the line for each proxy. */
export function remedy(fault: ProxyFault, step: string): string {
  return `${step} ${remedies[fault]}`
}

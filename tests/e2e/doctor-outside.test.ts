import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { probeBaseUrl, baseUrlChecks, isAtBaseUrl } from '../../server/cli/doctor/base-url-check.ts'
import { probeOutside, outsideChecks } from '../../server/cli/doctor/outside-check.ts'
import { type Listener, listen } from '../../server/http/listener/listener.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import {
  type Certificates,
  type Identity,
  makeCertificates,
} from '../support/bridge/http/certificate-fixture.ts'
import { configSample } from '../support/server/config-sample.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { freePort } from '../support/server/free-port.ts'
import { hasNginx, startNginxSite } from './nginx-proxy.ts'

/** What doctor says about a BASE_URL from outside. */
async function examine(baseUrl: string): Promise<Finding[]> {
  const base = await probeBaseUrl(configSample({ baseUrl }), systemRuntime, true)
  const found = findingsOf(baseUrlChecks, base)
  if (!isAtBaseUrl(base)) return found
  return [...found, ...findingsOf(outsideChecks, await probeOutside(baseUrl, systemRuntime))]
}

const unsound = (findings: readonly Finding[]): string[] =>
  findings.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${name} ${state}`)

/** A provider that is not asked: the embedded one takes longer to start. */
const elsewhere = {
  provider: 'oidc',
  providerUrl: 'https://id.example.com',
  providerClientId: 'drawbridge',
  secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
} as const

/** Between the events of a stream: less than in production, as it is waited for so often here. */
const streamMs = 600

/** Sound except for `findings`; the text contains `says`. */
interface Expected {
  findings: readonly string[]
  says: string
}

interface SetUp {
  /** Within `server { }`. */
  site: (port: number) => string
  path?: string
  expected?: Expected
}

const pass = 'proxy_pass http://drawbridge;'
const all = `location / { ${pass} }`
const notPost = 'if ($request_method = POST) { return 405; }'

const setUps: Readonly<Record<string, SetUp>> = {
  'passes everything on': { site: () => all },
  'passes a path of its own on, and serves another app at the root': {
    path: '/base',
    site: () => `location / { return 404; } location /base/ { ${pass} }
      location ~ ^/\\.well-known/(?:oauth-authorization-server|oauth-protected-resource|openid-configuration)/base(?:/mcp)?/?$ { ${pass} }`,
  },
  'drops POST': {
    site: () => `location / { ${notPost} ${pass} }`,
    expected: { findings: ['challenge fail'], says: '/mcp answers 405' },
  },
  'takes WWW-Authenticate away': {
    site: () => `proxy_hide_header WWW-Authenticate; ${all}`,
    expected: {
      findings: ['challenge fail'],
      says: '/mcp answers 401, application/json, without WWW-Authenticate',
    },
  },
  'takes Authorization away': {
    site: () => `location / { proxy_set_header Authorization ""; proxy_set_header Host $http_host; ${pass} }`,
    expected: {
      findings: ['keeps-headers fail'],
      says: 'Authorization does not reach this server',
    },
  },
  'judges tokens itself': {
    site: () => `location / { if ($http_authorization) { return 403; } ${pass} }`,
    expected: {
      findings: ['keeps-headers fail'],
      says: 'with an unknown token /mcp answers 403',
    },
  },
  'keeps the headers of MCP from browsers': {
    site: () =>
      `proxy_hide_header Access-Control-Expose-Headers; add_header Access-Control-Expose-Headers "WWW-Authenticate" always; ${all}`,
    expected: {
      findings: ['keeps-headers warn'],
      says: 'cannot read Mcp-Session-Id, MCP-Protocol-Version.',
    },
  },
  'answers HTML to programs': {
    site: () =>
      `location / { default_type text/html; if ($http_user_agent ~ "python|Go-http") { return 403 '<html>no</html>'; } ${pass} }`,
    expected: {
      findings: ['answers-programs fail'],
      says: 'differently: python-httpx/0.28 answers 403, text/html.',
    },
  },
  'answers a page with 200 to the posts of one program': {
    site: () =>
      `location = /mcp { default_type text/html; if ($http_user_agent = Claude-User) { return 200 '<html>wait</html>'; } ${pass} } ${all}`,
    expected: {
      findings: ['answers-programs fail'],
      says: 'differently: Claude-User answers 200, text/html at /mcp.',
    },
  },
  'answers a page with 200 for the documents to one program': {
    site: () =>
      `location /.well-known/ { default_type text/html; if ($http_user_agent ~ python) { return 200 '<html>wait</html>'; } ${pass} } ${all}`,
    expected: {
      findings: ['answers-programs fail'],
      says: 'differently: python-httpx/0.28 answers 200, text/html.',
    },
  },
  'has no document where clients can look elsewhere': {
    site: () => `location = /.well-known/openid-configuration { return 404; } ${all}`,
    expected: {
      findings: ['exact-paths warn'],
      says: '/.well-known/openid-configuration answers 404, text/html.',
    },
  },
  'takes the path of BASE_URL away': {
    path: '/base',
    site: () =>
      `location /base/ { proxy_pass http://drawbridge/; } location /.well-known/ { ${pass} } location / { return 404; }`,
    expected: {
      findings: ['challenge fail', 'exact-paths warn'],
      says: '/base/.well-known/oauth-authorization-server answers 404, application/json',
    },
  },
  'keeps the well-known documents with the path behind to itself': {
    path: '/base',
    site: () =>
      `location /base/ { ${pass} } location / { default_type text/html; return 200 '<html>app</html>'; }`,
    expected: {
      findings: ['base-url fail'],
      says: 'answers 200 instead of the metadata of this server',
    },
  },
  'serves the page of an app where old clients look': {
    path: '/base',
    site: () =>
      `location /base/ { ${pass} } location ~ ^/\\.well-known/.*/base { ${pass} } location / { default_type text/html; return 200 '<html>app</html>'; }`,
    expected: {
      findings: ['exact-paths warn'],
      says: '/.well-known/openid-configuration answers 200, text/html',
    },
  },
  'adds a slash': {
    site: () => `rewrite ^(/\\.well-known/.*[^/])$ $1/ permanent; ${all}`,
    expected: {
      findings: ['base-url fail'],
      says: 'redirects to http://localhost',
    },
  },
  'adds a slash to the issuer': {
    site: (port) =>
      `sub_filter_types application/json; sub_filter '"issuer":"http://localhost:${port}"' '"issuer":"http://localhost:${port}/"'; ${all}`,
    expected: {
      findings: ['base-url fail'],
      says: 'calls itself "http://localhost',
    },
  },
  'redirects to https': {
    site: () => 'return 301 https://$http_host$request_uri;',
    expected: { findings: ['base-url fail'], says: 'redirects to https://localhost' },
  },
  'compresses twice': {
    site: () =>
      'gzip on; gzip_types application/json; proxy_hide_header Content-Encoding; location / { proxy_pass http://compressing; }',
    expected: { findings: ['base-url fail'], says: 'compressed twice' },
  },
  'says that it compresses and does not': {
    site: () => `add_header Content-Encoding gzip; ${all}`,
    expected: {
      findings: ['base-url fail'],
      says: 'another compression than its response has',
    },
  },
  'buffers streams': {
    site: () =>
      `proxy_buffering on; proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_types text/event-stream; ${all}`,
    expected: {
      findings: ['no-buffering fail'],
      says: 'held back until the response ends',
    },
  },
  'has no stream': {
    site: () => `location /mcp/ { return 404; } ${all}`,
    expected: {
      findings: ['no-buffering warn', 'exact-paths warn'],
      says: 'Not checked: /mcp/stream-check answers 404, text/html.',
    },
  },
}

describe.skipIf(!hasNginx())('doctor behind an nginx', () => {
  const apps = new Map<string, DrawbridgeFixture>()
  const ports: Record<string, number> = {}
  let listener: Listener
  let stop: () => Promise<void>

  beforeAll(async () => {
    for (const name of Object.keys(setUps)) ports[name] = await freePort()
    const compressing = await freePort()
    // One process for all: the Host header says whose BASE_URL is meant.
    listener = await listen(
      async (request) => (await apps.get(new URL(request.url).host)?.app.fetch(request)) ?? Response.error(),
      { host: '127.0.0.1', port: 0 },
    )
    const sites = Object.entries(setUps).map(
      ([name, { site }]) => `server { listen 127.0.0.1:${ports[name]}; ${site(ports[name] ?? 0)} }`,
    )
    stop = await startNginxSite(
      `upstream drawbridge { server 127.0.0.1:${listener.port}; }
upstream compressing { server 127.0.0.1:${compressing}; }
proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
proxy_buffering off; client_max_body_size 8m; large_client_header_buffers 4 144k;
server { listen 127.0.0.1:${compressing}; gzip on; gzip_types application/json; ${all} }
${sites.join('\n')}`,
      compressing,
    )
  })
  afterAll(async () => {
    await stop?.()
    await listener?.close()
    await Promise.all([...apps.values()].map((app) => app.close()))
  })

  it.concurrent.each(Object.entries(setUps))(
    'doctor behind an nginx that %s',
    async (name, { path = '', expected }) => {
      const baseUrl = `http://localhost:${ports[name]}${path}`
      const runtime = { ...createFakeRuntime(), sleep: () => systemRuntime.sleep(streamMs) }
      apps.set(new URL(baseUrl).host, await startDrawbridge({ baseUrl, ...elsewhere }, runtime))
      const findings = await examine(baseUrl)
      expect(unsound(findings)).toEqual(expected?.findings ?? [])
      const text = findings
        .filter(({ state }) => state !== 'ok')
        .map(({ message, fix }) => `${message} -> ${fix}`)
        .join('\n')
      expect(text).toContain(expected?.says ?? '')
      if (expected)
        expect(text).toMatch(
          /docs\/deploy\.md#faults-of-a-proxy|Let the proxy pass every path|the same DRAWBRIDGE_BASE_URL/,
        )
    },
  )
})

describe('doctor before a TLS server', () => {
  let certificates: Certificates
  const servers: Server[] = []
  const known = getCACertificates('default')

  beforeAll(() => {
    certificates = makeCertificates()
    setDefaultCACertificates([...known, certificates.authority])
  })
  afterAll(() => {
    setDefaultCACertificates(known)
    for (const server of servers) server.close()
  })

  /** Starts a server with this certificate; it does not run Drawbridge. */
  async function serve(identity: Identity): Promise<string> {
    const server = createServer(identity, (_, response) => void response.writeHead(404).end())
    servers.push(server)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return `https://localhost:${(server.address() as AddressInfo).port}`
  }
  const leafOf = ({ key, cert }: Identity): Identity => ({
    key,
    cert: cert.split(/(?<=-----END CERTIFICATE-----\n)/)[0] ?? '',
  })

  it('doctor before a TLS server passes with a whole chain of an authority that this machine knows', async () => {
    for (const identity of [certificates.chained, certificates.valid])
      expect((await examine(await serve(identity)))[0]?.message).toContain('answers 404 instead')
  })

  it.each<[what: string, identity: () => Identity, says: RegExp]>([
    [
      'lacks the intermediate',
      () => leafOf(certificates.chained),
      /does not send the certificate of its issuer/,
    ],
    ['has expired', () => certificates.expired, /certificate has expired/],
    ['is not valid yet', () => certificates.early, /not valid yet, by the clock of this machine/],
    ['is for another host', () => certificates.misnamed, /for another host name/],
    ['is self-signed', () => certificates.selfSigned, /self-signed/],
  ])('doctor before a TLS server fails if its certificate %s', async (_, identity, says) => {
    const findings = await examine(await serve(identity()))
    expect(unsound(findings).slice(0, 1)).toEqual(['base-url fail'])
    expect(findings[0]?.message).toMatch(says)
    expect(findings[0]?.fix).toContain('docs/deploy.md#faults-of-a-proxy')
  })

  it('doctor before a TLS server fails if its authority is unknown to this machine', async () => {
    setDefaultCACertificates(known)
    const [found] = await examine(await serve(certificates.chained))
    setDefaultCACertificates([...known, certificates.authority])
    expect(found).toMatchObject({ state: 'fail', message: expect.stringContaining('NODE_EXTRA_CA_CERTS') })
  })
})

it('docs/deploy.md has the section that doctor points at', () => {
  expect(readFileSync('docs/deploy.md', 'utf8').split('\n')).toContain('### Faults of a proxy')
})

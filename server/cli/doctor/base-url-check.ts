import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { publicUrls } from '../../http/public-urls.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import { type Visit, visit } from './visit.ts'

/** What the server says about itself when it is asked as a client asks: through BASE_URL. */
export interface BaseUrlFacts {
  metadata: Visit
  resource: Visit
  /** `/mcp` without a credential. */
  challenge: Visit
  /** The metadata again, with the headers of a session in many cookies. */
  longHeaders: Visit
}

/** As long as the cookies of a big session: eight chunks. Nothing in it means anything. */
const longCookie: string = Array.from(
  { length: 8 },
  (_, n) => `drawbridge-doctor.${n}=${'x'.repeat(3180)}`,
).join('; ')

/** Asks the server for its metadata, and for its challenge. */
export async function askBaseUrl(
  { baseUrl }: Pick<ServerConfig, 'baseUrl'>,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<BaseUrlFacts> {
  const urls = publicUrls(baseUrl)
  const { origin } = new URL(baseUrl)
  const metadataUrl = `${origin}/.well-known/oauth-authorization-server${urls.basePath}`
  const [metadata, resource, challenge, longHeaders] = await Promise.all([
    visit(metadataUrl, runtime),
    visit(urls.resourceMetadata, runtime),
    visit(urls.resource, runtime, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: '{}',
    }),
    visit(metadataUrl, runtime, { headers: { cookie: longCookie } }),
  ])
  return { metadata, resource, challenge, longHeaders }
}

/** Whether clients find this server at BASE_URL. `isRunning` is undefined when nobody can know. */
export function checkBaseUrl(
  config: Pick<ServerConfig, 'baseUrl' | 'listen' | 'sessionTokens'>,
  facts: BaseUrlFacts,
  isRunning: boolean | undefined,
): Finding[] {
  const name = 'base-url'
  const { baseUrl } = config
  const { metadata } = facts
  if (metadata.kind === 'unreachable') {
    const problem = `${baseUrl} cannot be reached: ${metadata.reason}.`
    return isRunning
      ? [fail(name, `${problem} A server is running.`, proxyHint(config))]
      : [warn(name, problem, 'Start the server, then run doctor again in another terminal.')]
  }
  const issuer = metadata.json?.['issuer']
  if (metadata.status !== 200 || typeof issuer !== 'string') {
    return [
      fail(
        name,
        `${baseUrl} answers ${metadata.status} instead of the metadata of this server.`,
        proxyHint(config),
      ),
    ]
  }
  if (issuer !== baseUrl) {
    return [
      fail(
        name,
        `The server at ${baseUrl} calls itself ${JSON.stringify(issuer)}: clients refuse that.`,
        'Start that server with the same DRAWBRIDGE_BASE_URL, or correct the one here.',
      ),
    ]
  }
  return [
    ok(name, `${baseUrl} answers as ${issuer}.`),
    ...checkResource(baseUrl, facts.resource),
    checkChallenge(baseUrl, facts.challenge),
    ...(config.sessionTokens ? [checkLongHeaders(facts.longHeaders)] : []),
  ]
}

function proxyHint({ listen }: Pick<ServerConfig, 'listen'>): string {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return `Let the proxy pass every path of that host on to http://${host}:${listen.port}, /.well-known/ included, with its Host header.`
}

function checkResource(baseUrl: string, resource: Visit): Finding[] {
  const expected = `${baseUrl}/mcp`
  const found = resource.kind === 'answered' ? resource.json?.['resource'] : undefined
  if (found === expected) return []
  return [
    fail(
      'resource-metadata',
      `${publicUrls(baseUrl).resourceMetadata} does not name ${expected}.`,
      'Let the proxy pass /.well-known/ of that host on to this server.',
    ),
  ]
}

function checkChallenge(baseUrl: string, challenge: Visit): Finding {
  const name = 'challenge'
  const header = challenge.kind === 'answered' ? (challenge.headers.get('www-authenticate') ?? '') : ''
  const status = challenge.kind === 'answered' ? challenge.status : undefined
  if (status === 401 && header.includes(publicUrls(baseUrl).resourceMetadata)) {
    return ok(name, 'Without a credential /mcp answers 401 and says where to sign in.')
  }
  const seen = status === undefined ? 'does not answer' : `answers ${status}`
  return fail(
    name,
    `Without a credential /mcp ${seen}${header === '' ? ', without WWW-Authenticate' : ''}: clients do not learn where to sign in.`,
    'Let the proxy pass /mcp on as it is: 401, WWW-Authenticate and POST bodies included.',
  )
}

function checkLongHeaders(answer: Visit): Finding {
  const name = 'long-headers'
  if (answer.kind === 'answered' && answer.status === 200) {
    return ok(name, 'Sessions in many cookies get through.')
  }
  const seen = answer.kind === 'answered' ? `answers ${answer.status}` : 'cuts the connection'
  return warn(
    name,
    `What is in front of this server ${seen} to 25 KB of cookies: big sessions of the web app do not get through.`,
    'nginx: large_client_header_buffers 8 32k; other proxies: allow headers of 64 KB.',
  )
}

/** Who can reach the server, and by which scheme. The parser of the settings has refused plain http to other hosts. */
export function checkTransport({ baseUrl, listen }: Pick<ServerConfig, 'baseUrl' | 'listen'>): Finding {
  const name = 'transport'
  const { hostname, protocol } = new URL(baseUrl)
  const isLocal = isLoopbackHostname(hostname)
  if (isLocal && !isLoopbackHostname(listen.host)) {
    return warn(
      name,
      `The server listens on ${listen.host}, where others reach it without TLS, while BASE_URL is for this computer only.`,
      'Set DRAWBRIDGE_BASE_URL to the https URL that others use, or DRAWBRIDGE_LISTEN to 127.0.0.1.',
    )
  }
  if (isLocal) return ok(name, 'Only programs on this computer can connect.')
  return ok(
    name,
    `Clients connect by ${protocol.slice(0, -1)}; what ends TLS passes on to port ${listen.port}.`,
  )
}

import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { publicUrls } from '../../http/public-urls.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { fail, type Checks, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { remedy } from './remedy.ts'
import { redirectOf, type Visit, visit, type VisitInit } from './visit.ts'

/** Responses of the server at BASE_URL, as a client gets them. */
export interface BaseUrlFacts {
  config: Pick<ServerConfig, 'baseUrl' | 'listen' | 'sessionTokens'>
  /** Undefined if unknown. */
  isRunning: boolean | undefined
  metadata: Visit
  resource: Visit
  /** `/mcp` without a credential. */
  challenge: Visit
  /** The metadata again, with the headers of a session in many cookies. */
  longHeaders: Visit
  /** The challenge again, for a message as long as that of a tool with a file. */
  longBody: Visit
}

/** As long as the cookies of a big session: eight chunks. */
const longCookie: string = Array.from(
  { length: 8 },
  (_, n) => `drawbridge-doctor.${n}=${'x'.repeat(3180)}`,
).join('; ')

/** More than the megabyte that nginx allows by default. */
const longBody = JSON.stringify({ pad: 'x'.repeat(1_200_000) })

/** Posts to `/mcp` as clients do. */
export function askMcp(
  baseUrl: string,
  runtime: Pick<Runtime, 'fetch'>,
  { headers, body = '{}' }: VisitInit = {},
): Promise<Visit> {
  return visit(publicUrls(baseUrl).resource, runtime, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })
}

export async function askBaseUrl(
  config: BaseUrlFacts['config'],
  runtime: Pick<Runtime, 'fetch'>,
  isRunning: boolean | undefined,
): Promise<BaseUrlFacts> {
  const { baseUrl } = config
  const urls = publicUrls(baseUrl)
  const { origin } = new URL(baseUrl)
  const metadataUrl = `${origin}/.well-known/oauth-authorization-server${urls.basePath}`
  const [metadata, resource, challenge, longHeaders, longBodyAnswer] = await Promise.all([
    visit(metadataUrl, runtime),
    visit(urls.resourceMetadata, runtime),
    askMcp(baseUrl, runtime),
    visit(metadataUrl, runtime, { headers: { cookie: longCookie } }),
    askMcp(baseUrl, runtime, { body: longBody }),
  ])
  return { config, isRunning, metadata, resource, challenge, longHeaders, longBody: longBodyAnswer }
}

/** Returns the issuer at BASE_URL; undefined without usable metadata. */
function issuerOf({ metadata }: BaseUrlFacts): string | undefined {
  if (metadata.kind === 'unreachable' || metadata.status !== 200) return undefined
  const issuer = metadata.json?.['issuer']
  return typeof issuer === 'string' ? issuer : undefined
}

export function isAtBaseUrl(facts: BaseUrlFacts): boolean {
  return issuerOf(facts) === facts.config.baseUrl
}

const atServer =
  (check: (facts: BaseUrlFacts) => Said): ((facts: BaseUrlFacts) => Said) =>
  (facts) =>
    isAtBaseUrl(facts) ? check(facts) : undefined

export const baseUrlChecks: Checks<BaseUrlFacts> = {
  'base-url'(facts) {
    const { config, metadata, isRunning } = facts
    const { baseUrl } = config
    if (metadata.kind === 'unreachable') {
      const problem = `${baseUrl} cannot be reached: ${metadata.reason}.`
      if (metadata.reason.includes('certificate')) return fail(problem, 'See tls-chain below.')
      return isRunning
        ? fail(`${problem} A server is running.`, proxyHint(config))
        : warn(problem, 'Start the server, then run doctor again in another terminal.')
    }
    const issuer = issuerOf(facts)
    if (issuer === undefined) return noMetadata(config, metadata)
    return issuer === baseUrl
      ? ok(`${baseUrl} answers as ${issuer}.`)
      : fail(
          `The server at ${baseUrl} calls itself ${JSON.stringify(issuer)}: clients refuse that.`,
          'Start that server with the same DRAWBRIDGE_BASE_URL, or correct the one here.',
        )
  },
  'resource-metadata': atServer(({ config: { baseUrl }, resource }) => {
    const expected = `${baseUrl}/mcp`
    const found = resource.kind === 'answered' ? resource.json?.['resource'] : undefined
    if (found === expected) return undefined
    return fail(
      `${publicUrls(baseUrl).resourceMetadata} does not name ${expected}.`,
      'Let the proxy pass /.well-known/ of that host on to this server.',
    )
  }),
  challenge: atServer(({ config: { baseUrl }, challenge }) => {
    const header = challenge.kind === 'answered' ? (challenge.headers.get('www-authenticate') ?? '') : ''
    const status = challenge.kind === 'answered' ? challenge.status : undefined
    if (status === 401 && header.includes(publicUrls(baseUrl).resourceMetadata))
      return ok('Without a credential /mcp answers 401 and says where to sign in.')
    const seen = status === undefined ? 'does not answer' : `answers ${status}`
    return fail(
      `Without a credential /mcp ${seen}${header === '' ? ', without WWW-Authenticate' : ''}: clients do not learn where to sign in.`,
      remedy(
        status === 401 ? 'challenge' : 'methods',
        'Let the proxy pass /mcp on as it is: 401, WWW-Authenticate and POST bodies included.',
      ),
    )
  }),
  'long-bodies': atServer(({ longBody: answer }) =>
    answer.kind === 'answered' && answer.status === 413
      ? warn(
          'What is in front of this server answers 413 to a body of 1.2 MB: calls with long arguments fail.',
          remedy('bodies', 'Allow what this server does.'),
        )
      : undefined,
  ),
  'long-headers': atServer(({ config: { sessionTokens }, longHeaders: answer }) => {
    if (!sessionTokens) return undefined
    if (answer.kind === 'answered' && answer.status === 200) return ok('Long cookie headers get through.')
    const seen = answer.kind === 'answered' ? `answers ${answer.status}` : 'cuts the connection'
    return warn(
      `What is in front of this server ${seen} to 25 KB of cookies: big sessions of the web app do not get through.`,
      'nginx: large_client_header_buffers 8 32k; other proxies: allow headers of 64 KB.',
    )
  }),
}

function noMetadata(config: BaseUrlFacts['config'], metadata: Extract<Visit, { kind: 'answered' }>): Outcome {
  const { baseUrl } = config
  const target = redirectOf(metadata)
  if (target !== undefined)
    return fail(
      `${baseUrl} redirects ${target} instead of answering.`,
      remedy('redirect', 'Let nothing redirect it, or set DRAWBRIDGE_BASE_URL to where it leads.'),
    )
  // What gzip begins with: there is a compression within the one that was removed.
  if (metadata.text.startsWith('\u001F'))
    return fail(`${baseUrl} answers what is compressed twice.`, remedy('compression', 'Compress once.'))
  const problem = `${baseUrl} answers ${metadata.status} instead of the metadata of this server.`
  return fail(problem, proxyHint(config))
}

function proxyHint({ listen }: Pick<ServerConfig, 'listen'>): string {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return `Let the proxy pass every path of that host on to http://${host}:${listen.port}, /.well-known/ included, with its Host header.`
}

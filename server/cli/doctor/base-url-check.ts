import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { publicUrls } from '../../http/public-urls.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { fail, type Checks, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { redirectOf, type Visit, visit } from './visit.ts'

/** Responses of the server at BASE_URL, as a client gets them. */
export interface BaseUrlFacts {
  config: Pick<ServerConfig, 'baseUrl' | 'listen'>
  /** Undefined if unknown. */
  isRunning: boolean | undefined
  metadata: Visit
  resource: Visit
  /** `/mcp` without a credential. */
  challenge: Visit
}

/** Posts an empty message to `/mcp`. */
export function askMcp(
  baseUrl: string,
  runtime: Pick<Runtime, 'fetch'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Visit> {
  const accept = 'application/json, text/event-stream'
  return visit(publicUrls(baseUrl).resource, runtime, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: '{}',
  })
}

export async function askBaseUrl(
  config: BaseUrlFacts['config'],
  runtime: Pick<Runtime, 'fetch'>,
  isRunning: boolean | undefined,
): Promise<BaseUrlFacts> {
  const { baseUrl } = config
  const { basePath, resourceMetadata } = publicUrls(baseUrl)
  const metadataUrl = new URL(`/.well-known/oauth-authorization-server${basePath}`, baseUrl).href
  const [metadata, resource, challenge] = await Promise.all([
    visit(metadataUrl, runtime),
    visit(resourceMetadata, runtime),
    askMcp(baseUrl, runtime),
  ])
  return { config, isRunning, metadata, resource, challenge }
}

/** Appends where to find the line of configuration for each proxy. */
export function atProxy(step: string): string {
  return `${step} For nginx, Caddy, Traefik and Cloudflare: docs/deploy.md#faults-of-a-proxy`
}

/** Returns the issuer at BASE_URL; undefined without usable metadata. */
function issuerOf({ metadata }: BaseUrlFacts): string | undefined {
  const issuer = metadata.status === 200 ? metadata.json?.['issuer'] : undefined
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
      if (metadata.reason.includes('certificate'))
        return fail(problem, atProxy('Serve the whole chain of a valid certificate for this host.'))
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
  'public-port'({ config: { baseUrl } }) {
    const { hostname, port } = new URL(baseUrl)
    if (isLoopbackHostname(hostname)) return undefined
    if (port === '') return ok('Hosted clients can connect, as the port is 443.')
    return warn(
      `BASE_URL has port ${port}: Claude and other hosted clients connect to 443 only.`,
      atProxy('Serve it at port 443, and remove the port from DRAWBRIDGE_BASE_URL.'),
    )
  },
  'resource-metadata': atServer(({ config: { baseUrl }, resource }) => {
    const expected = `${baseUrl}/mcp`
    if (resource.json?.['resource'] === expected) return undefined
    return fail(
      `${publicUrls(baseUrl).resourceMetadata} does not name ${expected}.`,
      'Let the proxy pass /.well-known/ of that host on to this server.',
    )
  }),
  challenge: atServer(({ config: { baseUrl }, challenge }) => {
    const { status } = challenge
    const header = challenge.headers?.get('www-authenticate') ?? ''
    if (status === 401 && header.includes(publicUrls(baseUrl).resourceMetadata))
      return ok('Without a credential /mcp answers 401 and says where to sign in.')
    const answer = status === undefined ? 'does not answer' : `answers ${status}`
    return fail(
      `Without a credential /mcp ${answer}${header === '' ? ', without WWW-Authenticate' : ''}: clients do not learn where to sign in.`,
      atProxy('Let the proxy pass /mcp on as it is: 401, WWW-Authenticate and POST bodies included.'),
    )
  }),
}

function noMetadata(config: BaseUrlFacts['config'], metadata: Extract<Visit, { kind: 'answered' }>): Outcome {
  const { baseUrl } = config
  const target = redirectOf(metadata)
  if (target !== undefined)
    return fail(
      `${baseUrl} redirects ${target} instead of answering.`,
      atProxy('Let nothing redirect it, or set DRAWBRIDGE_BASE_URL to that address.'),
    )
  // The first byte of gzip: there is a second compression inside the one that was removed.
  if (metadata.text.startsWith('\u001F'))
    return fail(`The response of ${baseUrl} is compressed twice.`, atProxy('Compress once.'))
  const problem = `${baseUrl} answers ${metadata.status} instead of the metadata of this server.`
  return fail(problem, proxyHint(config))
}

function proxyHint({ listen }: Pick<ServerConfig, 'listen'>): string {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return `Let the proxy pass every path of that host on to http://${host}:${listen.port}, /.well-known/ included, with its Host header.`
}

import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { documentPaths } from '../../http/oauth/metadata.ts'
import { publicUrls } from '../../http/public-urls.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { fail, type Checks, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { redirectOf, type ProbeResult, probe } from './probe.ts'

export interface BaseUrlFacts {
  config: Pick<ServerConfig, 'baseUrl' | 'listen'>
  /** Undefined if unknown. */
  isRunning: boolean | undefined
  /** The authorization server metadata, as a client gets it. */
  metadata: ProbeResult
}

export async function probeBaseUrl(
  config: BaseUrlFacts['config'],
  runtime: Pick<Runtime, 'fetch'>,
  isRunning: boolean | undefined,
): Promise<BaseUrlFacts> {
  const { baseUrl } = config
  const [path = ''] = documentPaths('oauth-authorization-server', publicUrls(baseUrl).basePath)
  return { config, isRunning, metadata: await probe(new URL(path, baseUrl).href, runtime) }
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
}

function noMetadata(
  config: BaseUrlFacts['config'],
  metadata: Extract<ProbeResult, { kind: 'answered' }>,
): Outcome {
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

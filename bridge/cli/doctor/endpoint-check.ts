import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { chooseProxy } from '../../http/route.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { refusedPostError } from '../../transport/failed-response.ts'
import { TransportError } from '../../transport/transport.ts'
import { sendInitialize, type FirstAnswer, namesSignIn } from '../connect/endpoint-probe.ts'
import { type FailureContext, failureContextOf } from '../failure/failure-text.ts'
import { failed } from './finding.ts'

export type EndpointFacts = Awaited<ReturnType<typeof probeEndpoint>>

/** Returns a server's first response to a client without a token, or the reason for its absence; `namesSignIn` if it names an authorization server. */
export async function probeEndpoint(config: BridgeConfig, ports: OAuthPorts) {
  const headers = Object.entries(config.proxy.headers).filter(
    ([name]) => name.toLowerCase() !== 'authorization',
  )
  const facts = { config, now: ports.runtime.now() }
  try {
    const answer = await sendInitialize(ports.http, config.serverUrl, Object.fromEntries(headers))
    const isNamed = answer.status !== 401 && (await namesSignIn(config.oauth, ports).catch(() => false))
    return { ...facts, answer, error: undefined, namesSignIn: isNamed }
  } catch (error) {
    return { ...facts, answer: undefined, error, namesSignIn: false }
  }
}

export const endpointChecks: Checks<EndpointFacts> = {
  proxy({ config: { serverUrl, network } }) {
    const proxy = chooseProxy(new URL(serverUrl), network.proxy)
    if (proxy !== undefined) return ok(`Requests go through ${new URL(proxy).origin}.`)
    return ok(network.proxy === undefined ? 'None.' : 'There is one, but not for this server.')
  },
  endpoint({ config, answer, error, namesSignIn }) {
    if (answer === undefined) return failed(error, failureContextOf(config))
    if (answer.wall !== undefined) return failed(answer.wall, failureContextOf(config))
    if (answer.status === 401) return ok('It requires a sign-in (401).')
    if (!isMcp(answer)) return noMcp(answer, failureContextOf(config))
    const text = answer.isSse ? 'It answers with the older HTTP+SSE transport' : 'It answers'
    return ok(
      namesSignIn
        ? `${text} without a sign-in, and offers one, which some of its tools may need.`
        : `${text} without a sign-in.`,
    )
  },
  /** Each side computes the expiry of a token with its own clock. */
  clock({ answer, now }) {
    if (answer?.date === undefined) return undefined
    const off = Math.abs(answer.date - now)
    if (off < noticeableSeconds) return ok('This computer and the server agree on the time.')
    const text = `The clocks of this computer and the server are ${off} s apart.`
    return (off >= tooFarSeconds ? fail : warn)(text, 'Set the clock of this computer from the network.')
  },
}

const tooFarSeconds = 300
const noticeableSeconds = 30

/** `wanted`: nothing works without a sign-in. `offered`: some tools may need one. Undefined if nothing more can be checked. */
export function signInNeed({
  answer,
  namesSignIn,
}: EndpointFacts): 'wanted' | 'offered' | 'none' | undefined {
  if (answer === undefined || answer.wall !== undefined) return undefined
  if (answer.status === 401) return 'wanted'
  if (isMcp(answer)) return namesSignIn ? 'offered' : 'none'
  return answer.status === 403 ? 'wanted' : undefined
}

/** Other APIs have `error` as well, with another meaning. */
function isMcp({ isSse, message }: FirstAnswer): boolean {
  return isSse || (message !== undefined && parseJsonRpcMessage(message).kind === 'response')
}

function noMcp({ status, contentType }: FirstAnswer, context: FailureContext): Outcome {
  const refusal = refusedPostError({ status, error: undefined })
  if (status === 403) {
    const page = new TransportError('blocked', 'The server answers with a web page (HTTP 403).')
    // A token may be what is missing.
    return { ...failed(contentType.startsWith('text/html') ? page : refusal, context), state: 'warn' }
  }
  if (refusal.fault !== 'refused') return failed(refusal, context)
  const type = contentType === '' ? 'nothing' : JSON.stringify(contentType)
  const text = `No MCP server answers there (HTTP ${status}, ${type}).`
  return failed(new TransportError('no_mcp', text), context)
}

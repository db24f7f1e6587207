import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { NetworkConfig } from '../../http/http-client.ts'
import { chooseProxy } from '../../http/route.ts'
import type { EndpointAnswer, FirstAnswer } from '../connect/endpoint-probe.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Reports the proxy that requests to the server go through. */
export function checkProxy(serverUrl: string, { proxy: configured }: NetworkConfig): Finding {
  const proxy = chooseProxy(new URL(serverUrl), configured)
  if (proxy !== undefined) return ok('proxy', `Requests go through ${new URL(proxy).origin}.`)
  return ok('proxy', configured === undefined ? 'None.' : 'There is one, but not for this server.')
}

/** `wanted`: nothing works without a sign-in. `offered`: some tools may need one. */
export type SignInNeed = 'wanted' | 'offered' | 'none'

/**
 * Judges the first answer of a server, to a client without a token. `isNamed`: the server names an authorization server. No
 * `need` if nothing more can be checked.
 */
export function checkEndpoint(
  answer: FirstAnswer,
  isNamed: boolean,
): { finding: Finding; need?: SignInNeed } {
  const { status, message, isSse } = answer
  if (status === 401) return { finding: ok('endpoint', 'It wants a sign-in (401).'), need: 'wanted' }
  // Other APIs say `error` as well, and mean something else by it.
  const isMcp = message !== undefined && parseJsonRpcMessage(message).kind === 'response'
  if (!isSse && !isMcp) {
    return { finding: strange(answer), ...(status === 403 && { need: 'wanted' as const }) }
  }
  const text = isSse ? 'It answers with the older HTTP+SSE transport' : 'It answers'
  return isNamed
    ? {
        finding: ok(
          'endpoint',
          `${text} without a sign-in, and offers one, which some of its tools may need.`,
        ),
        need: 'offered',
      }
    : { finding: ok('endpoint', `${text} without a sign-in.`), need: 'none' }
}

function strange({ status, contentType }: EndpointAnswer): Finding {
  if (status === 404 || status === 405) {
    const fix = 'Check the path of the URL, often /mcp or /sse.'
    return fail('endpoint', `There is no MCP endpoint at that URL (${status}).`, fix)
  }
  if (status === 403 && contentType.startsWith('text/html')) {
    const fix = 'Check the URL: what answers there is made for browsers.'
    return warn('endpoint', 'It refuses, with a web page (403).', fix)
  }
  if (status === 403) {
    const fix = 'Ask the operator of the server whether this computer is allowed; sign in if you have not.'
    return warn('endpoint', 'It refuses without saying how to sign in (403).', fix)
  }
  if (status >= 500) {
    return fail(
      'endpoint',
      `The server reported an internal error (${status}).`,
      'Tell the operator of the server.',
      exitCode.unreachable,
    )
  }
  if (status >= 300 && status < 400) {
    return fail(
      'endpoint',
      `It sends elsewhere (${status}), which is never followed.`,
      'Use the URL it sends to.',
    )
  }
  const kind = contentType === '' ? 'nothing' : JSON.stringify(contentType)
  return fail('endpoint', `What answers is not an MCP server (${status}, ${kind}).`, 'Check the URL.')
}

import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { EndpointAnswer, FirstAnswer } from '../connect/endpoint-probe.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** What a server says to a client without a token. Whether it wants a sign-in decides what is looked at next. */
export function checkEndpoint(answer: FirstAnswer): { findings: Finding[]; wantsSignIn: boolean } {
  const { status, message, isSse } = answer
  if (isSse) {
    const text = 'It speaks the older HTTP+SSE transport, and wants no sign-in.'
    return { findings: [ok('endpoint', text)], wantsSignIn: false }
  }
  if (status === 401) return { findings: [ok('endpoint', 'It wants a sign-in (401).')], wantsSignIn: true }
  // Other APIs say `error` as well, and mean something else by it.
  if (message !== undefined && parseJsonRpcMessage(message).kind === 'response') {
    const text =
      'result' in message ? 'It answers without a sign-in.' : 'It speaks JSON-RPC, and wants no sign-in.'
    return { findings: [ok('endpoint', text)], wantsSignIn: false }
  }
  return { findings: [strange(answer)], wantsSignIn: status === 403 }
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
    const fix = 'Ask whoever runs the server whether this computer is allowed; sign in if you have not.'
    return warn('endpoint', 'It refuses without saying how to sign in (403).', fix)
  }
  if (status >= 500) {
    return fail(
      'endpoint',
      `The server has an error of its own (${status}).`,
      'Tell whoever runs the server.',
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
  return fail('endpoint', `Something answers that is no MCP server (${status}, ${kind}).`, 'Check the URL.')
}

/** Whether a refusal says where to sign in (RFC 9728 section 5.1). */
export function checkChallenge(challenges: readonly AuthenticateChallenge[]): Finding {
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
  if (bearer === undefined) {
    return warn('challenge', 'The refusal has no bearer challenge; the well-known places are asked.')
  }
  const scope = bearer.params.get('scope')
  const wanted = scope === undefined ? '' : `, and which scopes: ${scope}`
  return bearer.params.has('resource_metadata')
    ? ok('challenge', `The refusal says where to sign in${wanted}.`)
    : warn(
        'challenge',
        `The refusal does not say where to sign in; the well-known places are asked${wanted}.`,
      )
}

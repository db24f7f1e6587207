import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, note, type Outcome, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { probe, type ProbeResult } from './probe.ts'
import type { HttpUpstream, Upstream } from '../../core/gateway/upstream.ts'

const revision = '2025-11-25'

/** Whether an HTTP upstream lists its tools to an unauthenticated client. */
type Access = { kind: 'open' | 'closed' } | { kind: 'unreachable'; reason: string }

export interface UpstreamFacts {
  upstream: Upstream
  /** Undefined for a command: the server tries it when it starts. */
  access: Access | undefined
}

/** Requests the tools of an HTTP upstream as an unauthenticated client. Calls no tool, and starts no command. */
export async function probeUpstream(
  upstream: Upstream,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<UpstreamFacts> {
  return { upstream, access: upstream.kind === 'http' ? await readAccess(upstream.url, runtime) : undefined }
}

/** Checks that the upstream is reachable, and refuses requests that bypass this server. */
export const upstreamChecks: Checks<UpstreamFacts> = {
  upstream({ upstream, access }) {
    if (upstream.kind === 'command' || access === undefined) return undefined
    if (access.kind !== 'unreachable') return ok(`${upstream.url} answers.`)
    const fix = 'Start it, or correct its URL. /mcp answers 502 until then.'
    return fail(`${upstream.url} cannot be reached: ${access.reason}.`, fix)
  },
  'upstream-user': ({ upstream }) =>
    upstream.kind === 'command' && !upstream.user
      ? warn(
          'The command runs as the user of Drawbridge: its tools can read the key ring, the database and the processes of other users.',
          'Trust it as much as Drawbridge, or set user in upstream.json (docs/upstream-file.md, Processes).',
        )
      : undefined,
  'upstream-public': ({ upstream, access }) =>
    upstream.kind === 'http' && access && access.kind !== 'unreachable'
      ? checkAccess(upstream, access.kind)
      : undefined,
  'upstream-identity': ({ upstream }) =>
    upstream.kind === 'http' && upstream.identity.includes('headers')
      ? warn(
          'It learns who calls from X-Forwarded headers, which anyone who can reach it can forge.',
          'Let only this server reach it, or set identity to assertion or bearer.',
        )
      : undefined,
  'public-tools': ({ upstream: { policy }, access }) =>
    access?.kind === 'closed' ? undefined : publicToolNote(policy.publicTools),
}

/** Notes the tools that anyone can call without signing in. */
export function publicToolNote(names: ReadonlySet<string>): Outcome | undefined {
  if (names.size === 0) return undefined
  return note(
    `Anyone can call ${[...names].join(', ')} without signing in.`,
    'Make tools public only if the whole world may use them.',
  )
}

function checkAccess({ url, policy: { publicTools } }: HttpUpstream, kind: 'open' | 'closed'): Outcome {
  const names = [...publicTools].join(', ')
  if (kind === 'closed')
    return names === ''
      ? ok('Without an assertion it lists no tools.')
      : fail(
          `It refuses messages without an assertion, so calling ${names} requires a sign-in.`,
          'Let it accept initialize, tools/list and these calls without one, or remove tools.public.',
        )
  if (names !== '')
    return warn(
      'It lists its tools without an assertion, as tools.public needs.',
      'Make sure that it requires one for every other tool (docs/upstream-file.md, Tools and scopes).',
    )
  const message = 'It lists its tools without an assertion of this server'
  const fix = 'Let it check the assertion (docs/gateway.md), or let only this server reach it.'
  return isLoopbackHostname(new URL(url).hostname)
    ? warn(`${message}: every program on this machine can call it.`, fix)
    : fail(`${message}: anyone who can reach it bypasses the sign-in.`, fix)
}

async function readAccess(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Access> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'doctor', version: '1' } }
  const opened = await post(url, { id: 1, method: 'initialize', params }, null, runtime)
  if (opened.kind === 'unreachable') return opened
  if (!isOk(opened)) return { kind: 'closed' }
  const session = opened.headers.get('mcp-session-id')
  const listed = await post(url, { id: 2, method: 'tools/list', params: {} }, session, runtime)
  if (listed.kind === 'unreachable') return listed
  return { kind: isOk(listed) && listed.text.includes('"tools"') ? 'open' : 'closed' }
}

function isOk({ status }: ProbeResult & { kind: 'answered' }): boolean {
  return status >= 200 && status < 300
}

function post(
  url: string,
  message: object,
  session: string | null,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<ProbeResult> {
  return probe(url, runtime, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      ...(session !== null && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
}

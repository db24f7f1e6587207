import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, note, type Outcome, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { visit, type Visit } from './visit.ts'
import type { CommandUpstream, HttpUpstream, Upstream } from '../../core/gateway/upstream.ts'

const revision = '2025-11-25'

/** An upstream and its response to an unauthenticated client. Commands are not started. */
export interface UpstreamFacts {
  upstream: Upstream
  asked: Asked | undefined
  path: string | undefined
}

/** Requests the tools of an upstream as an unauthenticated client. Calls no tool. */
export async function askUpstream(
  upstream: Upstream,
  runtime: Pick<Runtime, 'fetch'>,
  path: string | undefined,
): Promise<UpstreamFacts> {
  return {
    upstream,
    path,
    asked: upstream.kind === 'http' ? await askAsStranger(upstream.url, runtime) : undefined,
  }
}

/** Checks that the upstream is reachable, and refuses requests that bypass this server. */
export const upstreamChecks: Checks<UpstreamFacts> = {
  upstream({ upstream, asked, path }) {
    if (upstream.kind === 'command') return checkCommand(upstream, path)
    if (asked?.kind !== 'unreachable') return ok(`${upstream.url} answers.`)
    const fix = `Start it, or correct its URL. /mcp answers 502 until then.`
    return fail(`${upstream.url} cannot be reached: ${asked.why}.`, fix)
  },
  'upstream-user': ({ upstream }) =>
    upstream.kind === 'command' && !upstream.user
      ? warn(
          'The command runs as the user of Drawbridge: its tools can read the key ring, the database and the processes of other users.',
          'Trust it as much as Drawbridge, or set user in upstream.json (docs/upstream-file.md, Processes).',
        )
      : undefined,
  'upstream-public': ({ upstream, asked }) =>
    upstream.kind === 'http' && asked && asked.kind !== 'unreachable'
      ? checkStranger(upstream, asked.kind)
      : undefined,
  'upstream-identity': ({ upstream }) =>
    upstream.kind === 'http' && upstream.identity.includes('headers')
      ? warn(
          'It learns who calls from X-Forwarded headers, which anyone who can reach it can forge.',
          'Let only this server reach it, or set identity to assertion or bearer.',
        )
      : undefined,
  'public-tools': ({ upstream: { policy }, asked }) =>
    asked?.kind === 'closed' ? undefined : publicToolNote(policy.publicTools),
}

/** Notes the tools that anyone can call without signing in. */
export function publicToolNote(names: ReadonlySet<string>): Outcome | undefined {
  if (names.size === 0) return undefined
  return note(
    `Anyone can call ${[...names].join(', ')} without signing in.`,
    'Make tools public only if the whole world may use them.',
  )
}

function checkStranger({ url, policy }: HttpUpstream, kind: 'open' | 'closed'): Outcome {
  if (kind === 'closed' && policy.publicTools.size > 0) {
    return fail(
      `It refuses messages without an assertion, so calling ${[...policy.publicTools].join(', ')} requires a sign-in.`,
      'Let it accept initialize, tools/list and these calls without one, or remove tools.public.',
    )
  }
  if (kind === 'closed') return ok('Without an assertion it lists no tools.')
  if (policy.publicTools.size > 0) {
    const message = 'It lists its tools without an assertion, as tools.public needs.'
    return warn(
      message,
      'Make sure that it requires one for every other tool (docs/upstream-file.md, Tools and scopes).',
    )
  }
  const message = 'It lists its tools without an assertion of this server'
  const fix = 'Let it check the assertion (docs/gateway.md), or let only this server reach it.'
  return isLoopbackHostname(new URL(url).hostname)
    ? warn(`${message}: every program on this machine can call it.`, fix)
    : fail(`${message}: anyone who can reach it bypasses the sign-in.`, fix)
}

type Asked = { kind: 'open' | 'closed' } | { kind: 'unreachable'; why: string }

async function askAsStranger(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Asked> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'doctor', version: '1' } }
  const opened = await post(url, { id: 1, method: 'initialize', params }, null, runtime)
  if (opened.kind === 'unreachable') return { kind: 'unreachable', why: opened.reason }
  if (!isOk(opened)) return { kind: 'closed' }
  const session = opened.headers.get('mcp-session-id')
  const listed = await post(url, { id: 2, method: 'tools/list', params: {} }, session, runtime)
  if (listed.kind === 'unreachable') return { kind: 'unreachable', why: listed.reason }
  return { kind: isOk(listed) && listed.text.includes('"tools"') ? 'open' : 'closed' }
}

function isOk({ status }: Visit & { kind: 'answered' }): boolean {
  return status >= 200 && status < 300
}

function post(
  url: string,
  message: object,
  session: string | null,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<Visit> {
  return visit(url, runtime, {
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

function checkCommand({ command }: CommandUpstream, path: string | undefined): Outcome {
  const places = command.includes('/')
    ? [command]
    : (path ?? '').split(delimiter).map((folder) => join(folder, command))
  return places.some(isExecutable)
    ? ok(`${command} exists, and starts with a user's first call.`)
    : fail(`No executable program ${command}.`, 'Install it, or give its path.')
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

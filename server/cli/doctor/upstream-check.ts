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
          'The command runs as the user of Drawbridge: its tools can read the key ring, the database and the processes of other people.',
          'Trust it like Drawbridge itself, or set user in upstream.json (docs/upstream-file.md, Processes).',
        )
      : undefined,
  'upstream-public': ({ upstream, asked }) =>
    upstream.kind === 'http' && asked && asked.kind !== 'unreachable'
      ? checkStranger(upstream, asked.kind)
      : undefined,
  'upstream-identity': ({ upstream }) =>
    upstream.kind === 'http' && upstream.identity.includes('headers')
      ? warn(
          'It is told who calls by X-Forwarded headers, which anybody who reaches it can send too.',
          'Let only this server reach it, or give identity the form assertion or bearer.',
        )
      : undefined,
  'public-tools': ({ upstream: { policy }, asked }) =>
    asked?.kind === 'closed' ? undefined : publicToolNote(policy.publicTools),
}

/** Notes the tools that anyone can call without signing in. */
export function publicToolNote(names: ReadonlySet<string>): Outcome | undefined {
  if (names.size === 0) return undefined
  return note(
    `Anybody can call ${[...names].join(', ')} without signing in.`,
    'Keep it so only for what the whole world may read and do.',
  )
}

function checkStranger({ url, policy }: HttpUpstream, kind: 'open' | 'closed'): Outcome {
  if (kind === 'closed' && policy.publicTools.size > 0) {
    return fail(
      `It refuses messages without an assertion, so nobody can call ${[...policy.publicTools].join(', ')} without signing in.`,
      'Let it take initialize, tools/list and these calls without one, or leave tools.public out.',
    )
  }
  if (kind === 'closed') return ok('Without an assertion it lists no tools.')
  if (policy.publicTools.size > 0) {
    const message = 'It lists its tools without an assertion, as tools.public needs.'
    return warn(
      message,
      'See that it takes one for every other tool (docs/upstream-file.md, Tools and scopes).',
    )
  }
  const message = 'It lists its tools for anybody, without an assertion of this server'
  const fix = 'Let it check the assertion (docs/gateway.md), or let only this server reach it.'
  return isLoopbackHostname(new URL(url).hostname)
    ? warn(`${message}: every program of this machine can call it.`, fix)
    : fail(`${message}: whoever reaches it comes in past the sign-in.`, fix)
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
    ? ok(`${command} is there, and starts with the first call of a person.`)
    : fail(`There is no program ${command} that can be run.`, 'Install it, or name it with its path.')
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

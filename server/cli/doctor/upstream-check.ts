import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Finding, fail, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import type { CommandUpstream, HttpUpstream, Upstream } from '../../core/gateway/upstream.ts'

const timeoutMs = 8000
const revision = '2025-11-25'

/** Whether the MCP server behind this one is there, and whether it lets in who comes past the door. No tool is called. */
export async function checkUpstream(
  upstream: Upstream,
  runtime: Pick<Runtime, 'fetch'>,
  path: string | undefined,
): Promise<Finding[]> {
  return upstream.kind === 'http' ? checkHttp(upstream, runtime) : [checkCommand(upstream, path)]
}

async function checkHttp(upstream: HttpUpstream, runtime: Pick<Runtime, 'fetch'>): Promise<Finding[]> {
  const asked = await askAsStranger(upstream.url, runtime)
  if (asked.kind === 'unreachable') {
    const fix = `Start it, or correct its URL. /mcp answers 502 until then.`
    return [fail('upstream', `${upstream.url} does not answer (${asked.why}).`, fix)]
  }
  return [
    ok('upstream', `${upstream.url} answers.`),
    strangerFinding(upstream, asked.kind),
    ...(upstream.identity.includes('headers') ? [headersFinding] : []),
    ...(upstream.identity.length === 0 ? [anonymousFinding] : []),
  ]
}

const headersFinding = warn(
  'upstream-identity',
  'It is told who calls by X-Forwarded headers, which anybody who reaches it can send too.',
  'Let only this server reach it, or give identity the form assertion or bearer.',
)

const anonymousFinding = warn(
  'upstream-identity',
  'identity is empty: it is not told who calls.',
  'Leave identity out if its tools depend on the person.',
)

function strangerFinding({ url }: HttpUpstream, kind: 'open' | 'closed'): Finding {
  if (kind === 'closed') return ok('upstream-public', 'It lists no tools for somebody without an assertion.')
  const message = 'It lists its tools for anybody, without an assertion of this server'
  const fix = 'Let it check the assertion (docs/gateway.md), or let only this server reach it.'
  return isLoopbackHostname(new URL(url).hostname)
    ? warn('upstream-public', `${message}: every program of this machine can call it.`, fix)
    : fail('upstream-public', `${message}: whoever reaches it comes in past the sign-in.`, fix)
}

type Asked = { kind: 'open' | 'closed' } | { kind: 'unreachable'; why: string }

/** Asks for the tools as a client would that knows nothing of this server. */
async function askAsStranger(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Asked> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'doctor', version: '1' } }
  try {
    const opened = await post(url, { id: 1, method: 'initialize', params }, undefined, runtime)
    if (!opened.ok) return { kind: 'closed' }
    await opened.text()
    const session = opened.headers.get('mcp-session-id') ?? undefined
    const listed = await post(url, { id: 2, method: 'tools/list', params: {} }, session, runtime)
    const isOpen = listed.ok && (await listed.text()).includes('"tools"')
    return { kind: isOpen ? 'open' : 'closed' }
  } catch (error) {
    return { kind: 'unreachable', why: reasonOf(error) }
  }
}

function post(
  url: string,
  message: object,
  session: string | undefined,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<Response> {
  const request = new Request(url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  return runtime.fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
}

function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.name : 'unknown'
}

function checkCommand({ command }: CommandUpstream, path: string | undefined): Finding {
  const places = command.includes('/')
    ? [command]
    : (path ?? '').split(delimiter).map((folder) => join(folder, command))
  return places.some(isExecutable)
    ? ok('upstream', `${command} is there, and starts with the first call of a person.`)
    : fail(
        'upstream',
        `There is no program ${command} that can be run.`,
        'Install it, or name it with its path.',
      )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

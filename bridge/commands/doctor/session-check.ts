import { mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp-protocol.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { HttpClient } from '../../network/http-client.ts'
import { RemoteError } from '../../proxy/remote-leg.ts'
import { version } from '../../version.ts'
import { askEndpoint, type EndpointAnswer, endSession, initializeRequest } from '../endpoint-probe.ts'
import { exitCode } from '../exit-code.ts'
import { type FailureContext, fill } from '../failure-text.ts'
import { failureFinding } from './failure-finding.ts'
import { type Finding, fail, ok } from './finding.ts'

type SessionContext = FailureContext & { serverUrl: string }

/** Opens a session as a client does, lists the tools, and ends it. `headers` carry the login. */
export async function checkSession(
  http: HttpClient,
  context: SessionContext,
  headers: Readonly<Record<string, string>>,
): Promise<Finding> {
  const { serverUrl } = context
  try {
    const opened = await askEndpoint(http, serverUrl, initializeRequest, headers)
    if (refusesLogin(opened)) return notAccepted(opened.status, context)
    const initialized = resultOf(opened)
    return initialized === undefined
      ? await listModern(http, context, headers, opened)
      : await listLegacy(http, context, headers, opened, initialized)
  } catch (error) {
    return failureFinding('session', error, context)
  }
}

async function listLegacy(
  http: HttpClient,
  context: SessionContext,
  headers: Readonly<Record<string, string>>,
  opened: EndpointAnswer,
  initialized: Readonly<Record<string, unknown>>,
): Promise<Finding> {
  const { serverUrl } = context
  const revision = String(initialized['protocolVersion'])
  const inSession = {
    ...headers,
    [mcpHeader.protocolVersion]: revision,
    ...(opened.sessionId !== undefined && { [mcpHeader.sessionId]: opened.sessionId }),
  }
  try {
    await askEndpoint(http, serverUrl, { method: 'notifications/initialized' }, inSession)
    const listed = await askEndpoint(http, serverUrl, { id: 2, method: 'tools/list' }, inSession)
    return toolsFinding(listed, revision, initialized['serverInfo'], context)
  } finally {
    await endSession(http, serverUrl, opened.sessionId, headers)
  }
}

/** A server of 2026-07-28 alone knows no initialize. */
async function listModern(
  http: HttpClient,
  context: SessionContext,
  headers: Readonly<Record<string, string>>,
  opened: EndpointAnswer,
): Promise<Finding> {
  const message = {
    id: 3,
    method: 'tools/list',
    params: {
      _meta: {
        [mcpMetaKey.protocolVersion]: modernRevision,
        [mcpMetaKey.clientInfo]: { name: 'drawbridge', version },
        [mcpMetaKey.clientCapabilities]: {},
      },
    },
  }
  const listed = await askEndpoint(http, context.serverUrl, message, {
    ...headers,
    [mcpHeader.protocolVersion]: modernRevision,
    [mcpHeader.method]: 'tools/list',
  })
  if (resultOf(listed) === undefined) return unexpected(opened, context)
  return toolsFinding(listed, modernRevision, undefined, context)
}

function toolsFinding(
  listed: EndpointAnswer,
  revision: string,
  serverInfo: unknown,
  context: SessionContext,
): Finding {
  if (refusesLogin(listed)) return notAccepted(listed.status, context)
  const name =
    isJsonObject(serverInfo) && typeof serverInfo['name'] === 'string' ? serverInfo['name'] : 'The server'
  const tools = resultOf(listed)?.['tools']
  if (Array.isArray(tools)) {
    return ok(
      'session',
      `${JSON.stringify(name)} speaks ${revision} and has ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'} on its first page.`,
    )
  }
  // Servers of prompts or resources alone have no tools.
  return listed.message !== undefined && 'error' in listed.message
    ? ok('session', `${JSON.stringify(name)} speaks ${revision} and has no tools.`)
    : unexpected(listed, context)
}

function refusesLogin({ status }: EndpointAnswer): boolean {
  return status === 401 || status === 403
}

function notAccepted(status: number, context: SessionContext): Finding {
  const text = `The server does not accept the login (${status}).`
  if (context.fixedBy !== undefined)
    return failureFinding('session', new RemoteError('sign_in_needed', text, { status }), context)
  return fail('session', text, fill('drawbridge login {url} --force', context), exitCode.signInNeeded)
}

function unexpected({ status, message }: EndpointAnswer, context: SessionContext): Finding {
  const error = isJsonObject(message?.['error']) ? message['error']['message'] : undefined
  const said = typeof error === 'string' ? `, and says ${JSON.stringify(error.slice(0, 200))}` : ''
  const fix = fill('Tell whoever runs the server. What a client sees: drawbridge {url} --debug', context)
  return fail('session', `It answers ${status} to initialize${said}.`, fix)
}

function resultOf({ message }: EndpointAnswer): Readonly<Record<string, unknown>> | undefined {
  const result = message?.['result']
  return isJsonObject(result) ? result : undefined
}

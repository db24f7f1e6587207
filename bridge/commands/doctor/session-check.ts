import { mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp-protocol.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { HttpClient } from '../../network/http-client.ts'
import { version } from '../../version.ts'
import { askEndpoint, type EndpointAnswer, endSession, initializeRequest } from '../endpoint-probe.ts'
import { describeError, shellWord } from '../failure-text.ts'
import { type Finding, fail, ok } from './finding.ts'

/** Opens a session as a client does, lists the tools, and ends it. `headers` carry the login. */
export async function checkSession(
  http: HttpClient,
  serverUrl: string,
  headers: Readonly<Record<string, string>>,
): Promise<Finding> {
  try {
    const opened = await askEndpoint(http, serverUrl, initializeRequest, headers)
    if (refusesLogin(opened)) return notAccepted(opened.status, serverUrl)
    const initialized = resultOf(opened)
    return initialized === undefined
      ? await listModern(http, serverUrl, headers, opened)
      : await listLegacy(http, serverUrl, headers, opened, initialized)
  } catch (error) {
    const { sentences, nextStep } = describeError(error, { serverUrl })
    return fail('session', sentences.join(' '), nextStep)
  }
}

async function listLegacy(
  http: HttpClient,
  serverUrl: string,
  headers: Readonly<Record<string, string>>,
  opened: EndpointAnswer,
  initialized: Readonly<Record<string, unknown>>,
): Promise<Finding> {
  const revision = String(initialized['protocolVersion'])
  const inSession = {
    ...headers,
    [mcpHeader.protocolVersion]: revision,
    ...(opened.sessionId !== undefined && { [mcpHeader.sessionId]: opened.sessionId }),
  }
  try {
    await askEndpoint(http, serverUrl, { method: 'notifications/initialized' }, inSession)
    const listed = await askEndpoint(http, serverUrl, { id: 2, method: 'tools/list' }, inSession)
    return toolsFinding(listed, revision, initialized['serverInfo'], serverUrl)
  } finally {
    await endSession(http, serverUrl, opened.sessionId, headers)
  }
}

/** A server of 2026-07-28 alone knows no initialize. */
async function listModern(
  http: HttpClient,
  serverUrl: string,
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
  const listed = await askEndpoint(http, serverUrl, message, {
    ...headers,
    [mcpHeader.protocolVersion]: modernRevision,
    [mcpHeader.method]: 'tools/list',
  })
  if (resultOf(listed) === undefined) return unexpected(opened, serverUrl)
  return toolsFinding(listed, modernRevision, undefined, serverUrl)
}

function toolsFinding(
  listed: EndpointAnswer,
  revision: string,
  serverInfo: unknown,
  serverUrl: string,
): Finding {
  if (refusesLogin(listed)) return notAccepted(listed.status, serverUrl)
  const name =
    isJsonObject(serverInfo) && typeof serverInfo['name'] === 'string' ? serverInfo['name'] : 'The server'
  const tools = resultOf(listed)?.['tools']
  if (Array.isArray(tools)) {
    return ok(
      'session',
      `${JSON.stringify(name)} speaks ${revision} and has ${tools.length} tools on its first page.`,
    )
  }
  // Servers of prompts or resources alone have no tools.
  return listed.message !== undefined && 'error' in listed.message
    ? ok('session', `${JSON.stringify(name)} speaks ${revision} and has no tools.`)
    : unexpected(listed, serverUrl)
}

function refusesLogin({ status }: EndpointAnswer): boolean {
  return status === 401 || status === 403
}

function notAccepted(status: number, serverUrl: string): Finding {
  const fix = `drawbridge login ${shellWord(serverUrl)} --force`
  return fail('session', `The server does not accept the login (${status}).`, fix)
}

function unexpected({ status, message }: EndpointAnswer, serverUrl: string): Finding {
  const error = isJsonObject(message?.['error']) ? message['error']['message'] : undefined
  const said = typeof error === 'string' ? `, and says ${JSON.stringify(error.slice(0, 200))}` : ''
  const fix = `Tell whoever runs the server. What a client sees: drawbridge ${shellWord(serverUrl)} --debug`
  return fail('session', `It answers ${status} to initialize${said}.`, fix)
}

function resultOf({ message }: EndpointAnswer): Readonly<Record<string, unknown>> | undefined {
  const result = message?.['result']
  return isJsonObject(result) ? result : undefined
}

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { GrantUse } from '../../core/session/grant.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import {
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { message2026, request, toolCall } from '../../../tests/support/server/mcp/mcp-message.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'

let ran: string[]

const module: ToolModule = {
  scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' },
  tools: [
    { name: 'hello', call: () => log('hello') },
    { name: 'read', scope: 'notes:read', call: () => log('read') },
    { name: 'write', scope: 'notes:write', call: () => log('write') },
  ],
}

function log(name: string): string {
  ran.push(name)
  return name
}

const drawbridge = await startDrawbridge({}, undefined, module)
beforeEach(() => {
  ran = []
})
afterAll(() => drawbridge.close())

const given = new Map<string, Promise<string>>()
function tokenFor(scope: string): Promise<string> {
  const token = given.get(scope) ?? drawbridge.connect({ scope }).then(({ tokens }) => tokens.access_token)
  given.set(scope, token)
  return token
}

it.each(['notes:write', 'mcp notes:read notes:write'])(
  'RFC 6749 6: a refresh that asks for %j brings no token for a tool that was not allowed',
  async (scope) => {
    const { clientId, tokens } = await drawbridge.connect({ scope: 'mcp notes:read' })
    const refreshed = await drawbridge.refresh(clientId, tokens.refresh_token, { scope })
    const { access_token: token, scope: granted } = (await refreshed.json()) as Record<string, string>
    expect(granted).toBe('mcp notes:read')
    const response = await drawbridge.mcp(call('write'), { authorization: `Bearer ${token}` })
    expect(response.status).toBe(403)
    expect(ran).toEqual([])
  },
)

const call = (name: string, id = 1): object => toolCall(name, {}, id)

/** Calls a tool as a client of 2026-07-28. */
function modern(name: string, token: string, _meta: object = {}): Promise<Response> {
  const { message, headers } = message2026('tools/call', { name, arguments: {}, _meta })
  return drawbridge.mcp(message, { authorization: `Bearer ${token}`, ...headers })
}

const eras: [string, (name: string, token: string) => Promise<Response>][] = [
  ['2025-11-25', (name, token) => drawbridge.mcp(call(name), { authorization: `Bearer ${token}` })],
  [
    '2025-03-26, in a batch',
    (name, token) => drawbridge.mcp([call('hello'), call(name, 2)], { authorization: `Bearer ${token}` }),
  ],
  ['2026-07-28', modern],
  ['2026-07-28, as a stream', (name, token) => modern(name, token, { progressToken: 1 })],
]

describe.each(eras)('a call of a tool with a scope of its own, at %s', (_era, send) => {
  it.each([
    ['mcp', 'write', 'mcp notes:write'],
    ['mcp notes:read', 'write', 'mcp notes:read notes:write'],
    ['notes:write', 'read', 'mcp notes:read notes:write'],
    ['mcp offline_access', 'read', 'mcp notes:read'],
  ])(
    'MCP auth Scope-Challenge-Handling, MCP security Scope-Minimization, RFC 9700 2.3: with %s, %s is refused before anything runs, and %s is asked for (RFC 6750 section 3.1, MCP step-up)',
    async (held, tool, asked) => {
      const response = await send(tool, await tokenFor(held))
      expect(response.status).toBe(403)
      const challenge = response.headers.get('www-authenticate')
      expect(challenge).toContain('error="insufficient_scope"')
      expect(challenge).toContain(` scope="${asked}"`)
      expect(challenge).toContain(`resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`)
      expect(await response.json()).toMatchObject({ error: 'insufficient_scope' })
      expect(ran).toEqual([])
    },
  )

  it('MCP auth Step-Up: a call of a tool with a scope works once the scope was granted', async () => {
    const response = await send('write', await tokenFor('mcp notes:write'))
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('write')
    expect(ran).toContain('write')
  })
})

describe('scopes of tools', () => {
  it('scopes of tools hide nothing from the list, as clients never request an unseen scope', async () => {
    const response = await drawbridge.mcp(request('tools/list'), {
      authorization: `Bearer ${await tokenFor('mcp')}`,
    })
    const { result } = (await response.json()) as { result: { tools: { name: string }[] } }
    expect(result.tools.map(({ name }) => name)).toEqual(['hello', 'read', 'write'])
  })

  it('RFC 9728 2: scopes of tools are in the metadata of the resource (RFC 9728 section 2)', async () => {
    const response = await drawbridge.fetch('/.well-known/oauth-protected-resource/mcp')
    expect(await response.json()).toMatchObject({ scopes_supported: ['mcp', 'notes:read', 'notes:write'] })
  })

  it('scopes of tools are all held by a token of the session provider', async () => {
    const { access_token: token } = await signInToWebApp(drawbridge)
    const answer = await drawbridge.mcp(call('write'), { authorization: `Bearer ${token}` })
    expect(answer.status).toBe(200)
  })
})

/** Ends a server. Returns the uses of grants that it writes then. */
async function usesAtEnd(server: DrawbridgeFixture): Promise<GrantUse[]> {
  const written: GrantUse[] = []
  server.app.store.recordGrantUses = async (uses) => void written.push(...uses)
  await server.close()
  return written
}

describe('the use of a grant', () => {
  it('the use of a grant is noted with each call, and written at the end at the latest', async () => {
    const other = await startDrawbridge({}, undefined, module)
    const { tokens } = await other.connect()
    other.runtime.advance(600)
    await other.mcp(call('hello'), { authorization: `Bearer ${tokens.access_token}` })
    expect(await usesAtEnd(other)).toEqual([expect.objectContaining({ usedAt: other.runtime.now() })])
  })

  it('a refresh is not a use of a grant: a client that only refreshes has not connected', async () => {
    const other = await startDrawbridge({}, undefined, module)
    const { clientId, tokens } = await other.connect()
    expect((await other.refresh(clientId, tokens.refresh_token)).status).toBe(200)
    expect(await usesAtEnd(other)).toEqual([])
  })

  const list = request('tools/list', {}, 2)
  const access = join(temporaryFolder(afterAll), 'access.json')
  writeFileSync(access, JSON.stringify({ rules: [{ allow: {}, tools: { deny: ['hidden'] } }] }))

  it.each<[what: string, messages: readonly unknown[], tool: string | undefined]>([
    ['a tool that is called', [call('hello')], 'hello'],
    ['the last of two', [call('write'), call('hello')], 'hello'],
    ['the last one in a batch', [[call('write'), call('hello', 3), list]], 'hello'],
    ['the one before something else', [call('hello'), list], 'hello'],
    ['none without a call', [list], undefined],
    ['none that the server does not have', [call('hello'), call('nothing')], 'hello'],
    ['none that the scope does not allow', [call('hello'), call('read')], 'hello'],
    ['none that the rules do not allow', [call('hello'), call('hidden')], 'hello'],
  ])('the use of a grant names %s', async (_what, messages, tool) => {
    const tools = [...(module.tools ?? []), { name: 'hidden', call: () => log('hidden') }]
    const other = await startDrawbridge({ access }, undefined, {
      ...module,
      tools,
    })
    const { access_token: token } = (await other.connect({ scope: 'mcp notes:write' })).tokens
    for (const message of messages) await other.mcp(message, { authorization: `Bearer ${token}` })
    expect((await usesAtEnd(other)).map((use) => use.tool)).toEqual([tool])
  })
})

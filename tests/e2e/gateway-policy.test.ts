import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

const scripted = fileURLToPath(new URL('../peers/stdio/named-tools-server.mjs', import.meta.url))
const names = ['read', 'secret', 'debug_x', 'delete_a']

let server: ServerProcess | undefined
let folder: string | undefined

afterEach(async () => {
  await server?.close()
  if (folder !== undefined) rmSync(folder, { recursive: true })
  server = undefined
})

describe('tools of an upstream', () => {
  it('are denied, hidden by access rules, asked a scope for, and recorded as own ones', async () => {
    folder = mkdtempSync(join(tmpdir(), 'drawbridge-policy-'))
    const [access, audit] = [join(folder, 'access.json'), join(folder, 'audit.jsonl')]
    const rule = { allow: {}, tools: { allow: ['read', 'delete_*', 'debug_*'] } }
    writeFileSync(access, JSON.stringify({ rules: [rule] }))
    server = await startGateway(
      {
        command: process.execPath,
        args: [scripted, ...names],
        tools: { deny: ['debug_*'], scopes: { 'delete_*': 'notes:write' } },
        scopes: { 'notes:write': 'Change and delete your notes' },
      },
      { ACCESS: access, AUDIT: audit },
    )
    const client = await registerPlainClient(server)
    const { access_token: token } = await client.connect(await createPerson(server))
    const post = (message: Parameters<typeof postMcp>[1]): Promise<Response> =>
      postMcp(server as ServerProcess, message, { authorization: `Bearer ${token}` })
    const call = async (name: string): Promise<unknown> =>
      (await post({ method: 'tools/call', params: { name, arguments: {} } })).json()

    const listed = (await (await post({ method: 'tools/list' })).json()) as {
      result: { tools: { name: string }[] }
    }
    expect(listed.result.tools.map(({ name }) => name)).toEqual(['read', 'delete_a'])
    expect(await call('read')).toMatchObject({ result: { content: [{ text: 'called read' }] } })
    for (const name of ['secret', 'debug_x']) {
      expect(await call(name)).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining(name) },
      })
    }
    const refused = await post({ method: 'tools/call', params: { name: 'delete_a', arguments: {} } })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(refused.headers.get('www-authenticate')).toContain('scope="mcp notes:write"')

    await server.kill('SIGTERM')
    const records = readFileSync(audit, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"tool_called"'))
      .map((line) => JSON.parse(line) as { tool: string; outcome: string; unknown?: boolean })
    expect(records.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['read', 'ok'],
      ['secret', 'refused_rule'],
      ['debug_x', 'refused_rule'],
      ['delete_a', 'refused_scope'],
    ])
  })
})

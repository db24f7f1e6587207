import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { createPerson } from './person.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const tokenSeconds = 6
let auth: AuthServer
let server: ServerProcess
let client: PlainClient

beforeAll(async () => {
  auth = await startAuthServer({ tokenTtlSeconds: tokenSeconds })
  server = await startServer(auth.settings)
  client = await registerPlainClient(server)
})
afterAll(async () => {
  await server?.close()
  await auth?.close()
})

function userId(email: string): string {
  const user = auth.admin.findUser(email)
  if (!user) throw new Error('There is no such account.')
  return user.id
}

describe('a server in front of an auth API of its own', () => {
  it('Spec 1: signs in with a password; only tools that any web app has are offered', async () => {
    const person = await createPerson(server)
    const { access_token: token } = await client.connect(person)
    expect(await callTool(server, token, 'whoami')).toBe(`You are ${person.email}.`)
    const listed = await postMcp(server, { method: 'tools/list' }, { authorization: `Bearer ${token}` })
    const { result } = (await listed.json()) as { result: { tools: { name: string }[] } }
    expect(result.tools.map(({ name }) => name)).toEqual(['whoami'])
  })

  it('refreshes underneath, and says that it cannot while the provider is down: nobody signs in again', async () => {
    const tokens = await client.connect(await createPerson(server))
    await delay(tokenSeconds * 1000 + 100)
    auth.admin.setFaults({ failNext: { status: 503, count: 1000 } })
    const down = await postMcp(server, { method: 'ping' }, { authorization: `Bearer ${tokens.access_token}` })
    expect(down.status).toBe(503)
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(down.headers.get('www-authenticate')).toBeNull()
    // The client's own refresh does not need the provider.
    const refreshed = await client.refresh(tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    const { access_token: token } = (await refreshed.json()) as Tokens
    auth.admin.setFaults({})
    await until(
      async () =>
        (await postMcp(server, { method: 'ping' }, { authorization: `Bearer ${token}` })).status === 200,
      'service after the outage',
    )
  })

  it('a connection that is ended here is signed out there, and no other session of the user', async () => {
    const person = await createPerson(server)
    const id = userId(person.email)
    const before = auth.admin.listSessions(id).length
    const kept = await client.connect(person)
    const ended = await client.connect(person)
    expect(auth.admin.listSessions(id)).toHaveLength(before + 2)
    expect((await client.revoke(ended.refresh_token)).status).toBe(200)
    await until(() => auth.admin.listSessions(id).length === before + 1, 'the sign-out at the provider')
    expect(await callTool(server, kept.access_token, 'whoami')).toContain(person.email)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, type Person } from './person.ts'
import { callTool, type PlainClient, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const providerTokenSeconds = 600

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer({ EMBEDDED_TOKEN_TTL: `${providerTokenSeconds}s`, SIGN_IN_LIMIT: '1000' })
  person = await createPerson(server)
})
afterAll(() => server?.close())

function times<Value>(count: number, work: (index: number) => Promise<Value>): Promise<Value[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

describe('many requests at the same moment', () => {
  it('refresh the expired token of the provider once, and all are served', async () => {
    const client = await registerPlainClient(server)
    const { access_token: accessToken } = await client.connect(person)
    await callTool(server, accessToken, 'add_note', { text: 'kept' })
    expect(server.events('provider_refreshed')).toEqual([])
    await server.kill('SIGTERM')
    await server.start({ aheadSeconds: providerTokenSeconds + 1 })
    const texts = await times(50, () => callTool(server, accessToken, 'list_notes'))
    expect(texts).toHaveLength(50)
    for (const text of texts) expect(text).toContain('kept')
    // The log arrives through a pipe, a moment after the responses.
    await server.waitForEvent('provider_refreshed')
    expect(server.events('provider_refreshed')).toHaveLength(1)
  })

  it('with one refresh token all get the same successor, which works', async () => {
    const client = await registerPlainClient(server)
    const { refresh_token: refreshToken } = await client.connect(person)
    const answers = await times(20, () => client.refresh(refreshToken))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    const tokens = (await Promise.all(answers.map((answer) => answer.json()))) as Tokens[]
    expect(new Set(tokens.map((pair) => pair.refresh_token)).size).toBe(1)
    expect(new Set(tokens.map((pair) => pair.access_token)).size).toBe(1)
    const [pair] = tokens as [Tokens]
    expect(pair.refresh_token).not.toBe(refreshToken)
    expect(await callTool(server, pair.access_token, 'whoami')).toContain(person.email)
    expect((await client.refresh(pair.refresh_token)).status).toBe(200)
  })

  it('OAuth 2.1 4.1.3: with one code exactly one gets tokens, and they work', async () => {
    const client = await registerPlainClient(server)
    const code = await client.code(person)
    const answers = await times(10, () => client.redeem(code))
    const [winner, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).toHaveLength(0)
    const refused = answers.filter((answer) => answer !== winner)
    for (const answer of refused) {
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
    }
    const tokens = (await winner?.json()) as Tokens
    expect(await callTool(server, tokens.access_token, 'whoami')).toContain(person.email)
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
  })

  it('of different clients of one person do not disturb each other', async () => {
    const connect = async (): Promise<{ client: PlainClient; tokens: Tokens }> => {
      const client = await registerPlainClient(server)
      return { client, tokens: await client.connect(person) }
    }
    // From then on this browser is known to the account, and has more attempts.
    const connected = [await connect(), ...(await times(5, connect))]
    const refreshed = await Promise.all(
      connected.map(async ({ client, tokens }) => (await client.refresh(tokens.refresh_token)).json()),
    )
    const texts = await Promise.all(
      (refreshed as Tokens[]).map(({ access_token: token }) => callTool(server, token, 'whoami')),
    )
    expect(new Set(texts)).toEqual(new Set([`You are ${person.email}.`]))
  })
})

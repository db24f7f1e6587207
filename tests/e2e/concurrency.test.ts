import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, type Person } from './person.ts'
import { callTool, registerPlainClient, type Tokens } from './plain-client.ts'
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
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from './command-process.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, postMcp, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

let server: ServerProcess
let person: Person
beforeAll(async () => {
  server = await startServer()
  person = await createPerson(server)
})
afterAll(() => server?.close())

async function listed(): Promise<Record<string, unknown>[]> {
  const { code, stdout } = await runCommand(server, ['grants', 'list', '--json'])
  expect(code).toBe(0)
  return (JSON.parse(stdout) as { grants: Record<string, unknown>[] }).grants
}

describe('grants, beside a running server', () => {
  it('are listed, and one that is revoked is of no use from the very next request on', async () => {
    const client = await registerPlainClient(server)
    const tokens = await client.connect(person)
    // From now on the server has cached all it can about the token.
    for (let n = 0; n < 3; n += 1) await callTool(server, tokens.access_token, 'whoami')
    const grant = (await listed()).find((row) => row['client_id'] === client.id)
    expect(grant).toMatchObject({ email: person.email, client_name: 'Plain client', state: 'live' })

    const revoked = await runCommand(server, ['grants', 'revoke', String(grant?.['id'])])
    expect([revoked.code, revoked.stdout]).toEqual([0, `Ended grant ${String(grant?.['id'])}.\n`])
    const authorization = `Bearer ${tokens.access_token}`
    expect((await postMcp(server, { method: 'tools/list' }, { authorization })).status).toBe(401)
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400)
    await until(
      () => server.events('provider_signed_out').some((line) => line['grant_id'] === grant?.['id']),
      'the sign-out at the provider',
    )
  })
})

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type PostgresServer } from '../support/server/postgres-server.ts'
import { startPostgrest } from '../support/server/postgrest.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const example = fileURLToPath(new URL('../../examples/supabase-notes/', import.meta.url))

/** The example of the repository, in front of a real Postgres with its policies. */
let postgres: PostgresServer
let database: string
let auth: AuthServer
let server: ServerProcess
let client: PlainClient

beforeAll(async () => {
  postgres = await startPostgres()
  database = await postgres.createDatabase()
  auth = await startAuthServer({
    startDataApi: ({ url, apiKey }) =>
      startPostgrest({
        databaseUrl: database,
        jwksUrl: `${url}/.well-known/jwks.json`,
        issuer: url,
        apiKey,
      }),
  })
  await postgres.query(database, readFileSync(`${example}notes.sql`, 'utf8'))
  server = await startServer({ ...auth.settings, TOOLS: `${example}my-tools.mjs` })
  client = await registerPlainClient(server)
  client.authorizationUrl.searchParams.set('scope', 'mcp notes:write')
})
afterAll(async () => {
  await server?.close()
  await auth?.close()
  await postgres?.close()
})

/** Creates a user with an account, known to the database, and connects. */
async function connect(): Promise<{ person: Person; token: string; id: string }> {
  const person = await createPerson(server)
  const id = auth.admin.findUser(person.email)?.id ?? ''
  await postgres.query(database, `insert into auth.users values ('${id}')`)
  const { access_token: token } = await client.connect(person)
  return { person, token, id }
}

interface Note {
  id: string
  text: string
}

async function listNotes(token: string, input: Record<string, unknown> = {}): Promise<Note[]> {
  const text = await callTool(server, token, 'list_notes', input)
  return (JSON.parse(text) as { notes: Note[] }).notes
}

describe('the example for Supabase, with row-level security in a real Postgres', () => {
  it('two users each see, change and delete their own notes in the example for Supabase, and no others', async () => {
    const [ada, bob] = [await connect(), await connect()]
    await callTool(server, ada.token, 'add_note', { text: 'of Ada' })
    await callTool(server, bob.token, 'add_note', { text: 'of Bob' })
    await callTool(server, bob.token, 'add_note', { text: 'of Bob too' })
    const [ofAda] = await listNotes(ada.token)
    expect((await listNotes(ada.token)).map(({ text }) => text)).toEqual(['of Ada'])
    expect((await listNotes(bob.token)).map(({ text }) => text)).toEqual(['of Bob too', 'of Bob'])
    for (const [name, input] of Object.entries({ change_note: { text: 'mine' }, delete_note: {} })) {
      await expect(callTool(server, bob.token, name, { id: ofAda?.id, ...input })).rejects.toThrow(
        /There is no such note/,
      )
    }
    expect(await listNotes(ada.token)).toEqual([ofAda])
    expect(await callTool(server, ada.token, 'change_note', { id: ofAda?.id, text: 'anew' })).toContain(
      ofAda?.id ?? '?',
    )
    expect(await listNotes(ada.token)).toEqual([{ ...ofAda, text: 'anew' }])
    await callTool(server, ada.token, 'delete_note', { id: ofAda?.id })
    expect(await listNotes(ada.token)).toEqual([])
    // All of them exist: the policies hid them.
    expect(await postgres.query(database, 'select user_id from notes')).toEqual([
      { user_id: bob.id },
      { user_id: bob.id },
    ])
  })

  it('the example for Supabase searches, and treats the model’s text as data', async () => {
    const { token } = await connect()
    for (const text of ['milk & eggs', 'rent', "o'clock; drop table notes"]) {
      await callTool(server, token, 'add_note', { text })
    }
    const found = async (search: string): Promise<string[]> =>
      (await listNotes(token, { search })).map(({ text }) => text)
    expect(await found('MILK & e')).toEqual(['milk & eggs'])
    expect(await found("o'clock;")).toEqual(["o'clock; drop table notes"])
    expect(await found('nothing.eq')).toEqual([])
    expect(await listNotes(token, { limit: 2 })).toHaveLength(2)
  })

  it('the example for Supabase lists without the scope to write, and asks for it when it is needed', async () => {
    const person = await createPerson(server)
    const reader = await registerPlainClient(server)
    const { access_token: token } = await reader.connect(person)
    expect(await listNotes(token)).toEqual([])
    const refused = await postMcp(
      server,
      { method: 'tools/call', params: { name: 'add_note', arguments: { text: 'a' } } },
      { authorization: `Bearer ${token}` },
    )
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toMatch(
      /scope="mcp notes:write", error="insufficient_scope"/,
    )
  })
})

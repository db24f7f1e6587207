import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type AuthServer, startAuthServer } from '../e2e/auth-server.ts'
import { createPerson, type Person } from '../e2e/person.ts'
import { callTool, registerPlainClient, type Tokens } from '../e2e/plain-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { startPostgrest } from '../support/server/postgrest.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { blocksOf } from './command-block.ts'

/** A project before it knows of Drawbridge: members of a workspace see and change its documents. */
const projectSql = `
  create table public.workspaces (id uuid primary key default gen_random_uuid(), name text not null);
  create table public.members (workspace_id uuid not null references public.workspaces, user_id uuid not null);
  create table public.documents (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references public.workspaces,
    text text not null
  );
  alter table public.workspaces enable row level security;
  alter table public.members enable row level security;
  alter table public.documents enable row level security;
  grant select on public.workspaces, public.members to authenticated;
  grant select, insert, update, delete on public.documents to authenticated;
  create policy "own memberships" on public.members for select to authenticated using (user_id = auth.uid());
  create policy "own workspaces" on public.workspaces for select to authenticated
    using (id in (select workspace_id from public.members));
  create policy "members see and change documents" on public.documents for all to authenticated
    using (workspace_id in (select workspace_id from public.members));`

/** Tools without a scope of their own, so that only the policies decide: they hand on what the data API answers. */
const toolsSource = `
export const scopes = { 'documents:write': 'Add, change and delete documents' }
export const tools = [{
  name: 'send',
  inputSchema: { type: 'object' },
  async call({ path, method, body }, context) {
    const response = await context.fetch('/rest/v1/' + path, { method, body: body && JSON.stringify(body) })
    return JSON.stringify({ status: response.status, body: await response.json() })
  },
}]`

function blockOf(name: string): string {
  const block = blocksOf('docs/supabase.md').find(({ mark }) => mark?.text === name)
  if (!block) throw new Error(`docs/supabase.md has no ${name}.`)
  return block.text
}

let postgres: PostgresServer
let database: string
let auth: AuthServer
let server: ServerProcess
let person: Person
/** The person's own token, as the web app has it. */
let personToken: string
let workspaces: Record<'sales' | 'legal' | 'foreign', string>

const rows = (sql: string): Promise<Record<string, unknown>[]> => postgres.query(database, sql)

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
  await rows(projectSql)
  await rows(blockOf('drawbridge-policies.sql'))
  const folder = temporaryFolder(afterAll)
  writeFileSync(join(folder, 'tools.mjs'), blockOf('workspaces.mjs') + toolsSource)
  server = await startServer({ ...auth.settings, TOOLS: join(folder, 'tools.mjs') })
})
afterAll(async () => {
  await server?.close()
  await auth?.close()
  await postgres?.close()
})

beforeEach(async () => {
  await rows('truncate public.members, public.documents, public.workspaces')
  person = await createPerson(server)
  const id = auth.admin.findUser(person.email)?.id ?? ''
  const idOf = async (name: string): Promise<string> => {
    const [row] = await rows(`insert into public.workspaces (name) values ('${name}') returning id`)
    const workspace = String(row?.['id'])
    await rows(
      `insert into public.documents (workspace_id, text)
       select '${workspace}', '${name} ' || n from generate_series(1, 2) n`,
    )
    return workspace
  }
  workspaces = { sales: await idOf('sales'), legal: await idOf('legal'), foreign: await idOf('foreign') }
  await rows(
    `insert into public.members values ('${workspaces.sales}', '${id}'), ('${workspaces.legal}', '${id}')`,
  )
  const { email, password } = person
  const response = await server.fetch(`${auth.url}/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  ;({ access_token: personToken } = (await response.json()) as Tokens)
})

interface Answer {
  status: number
  body: unknown
}

interface Query {
  path: string
  method?: string
  body?: object
}

/** Sends a query with the person's own token and made-up headers, as anyone who has the token can. */
async function sendDirectly(
  { path, method = 'GET', body }: Query,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await server.fetch(`${auth.appUrl}/rest/v1/${path}`, {
    method,
    headers: {
      apikey: auth.settings['PROVIDER_KEY'] ?? '',
      authorization: `Bearer ${personToken}`,
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** Connects a client that asks to write. Returns what sends its queries through a tool. */
async function connect(
  workspace: string,
  scope: string[] = ['documents:write'],
): Promise<(query: Query) => Promise<Answer>> {
  const client = await registerPlainClient(server)
  client.authorizationUrl.searchParams.set('scope', 'mcp documents:write')
  const { access_token: token } = await client.connect({
    allow: async (url) => {
      const { browser, email, password } = person
      const page = await browser.submit(await browser.visit(url), 'password', { email, password, scope })
      return (await browser.submit(page, 'workspace', { workspace })).url
    },
  })
  return async (query) => JSON.parse(await callTool(server, token, 'send', { ...query })) as Answer
}

const all: Query = { path: 'documents?select=text&order=text.asc' }
const texts = ({ body }: Answer): string[] => (body as { text: string }[]).map(({ text }) => text)
const add = (workspace: string, text = 'new'): Query => ({
  path: 'documents?select=text',
  method: 'POST',
  body: { workspace_id: workspace, text },
})
const change = (text: string): Query => ({
  path: `documents?select=text&text=eq.${text}`,
  method: 'PATCH',
  body: { text: `${text}, changed` },
})
const remove = (text: string): Query => ({
  path: `documents?select=text&text=eq.${text}`,
  method: 'DELETE',
})
const move = (text: string, workspace: string): Query => ({
  path: `documents?select=text&text=eq.${text}`,
  method: 'PATCH',
  body: { workspace_id: workspace },
})

describe('the policies of docs/supabase.md', () => {
  it('a client with every scope sees and changes all rows of its workspace, and no others', async () => {
    const send = await connect(workspaces.sales)
    expect(texts(await send(all))).toEqual(['sales 1', 'sales 2'])
    expect((await send(add(workspaces.sales))).status).toBe(201)
    expect(texts(await send(change('sales 1')))).toEqual(['sales 1, changed'])
    expect(texts(await send(remove('sales 2')))).toEqual(['sales 2'])
    expect(texts(await send(all))).toEqual(['new', 'sales 1, changed'])
    for (const query of [change('legal 1'), remove('legal 1'), change('foreign 1'), remove('foreign 1')])
      expect(texts(await send(query))).toEqual([])
    for (const query of [add(workspaces.legal), add(workspaces.foreign), move('new', workspaces.legal)])
      expect(await send(query)).toMatchObject({ status: 403, body: { code: '42501' } })
  })

  it('a client without the scope to write sees the rows of its workspace, and changes none', async () => {
    const send = await connect(workspaces.legal, [])
    expect(texts(await send(all))).toEqual(['legal 1', 'legal 2'])
    expect((await send(add(workspaces.legal))).status).toBe(403)
    expect(texts(await send(change('legal 1')))).toEqual([])
    expect(texts(await send(remove('legal 1')))).toEqual([])
    expect(texts(await send(all))).toEqual(['legal 1', 'legal 2'])
  })

  it('two clients of one person each keep to their workspace', async () => {
    const [sales, legal] = [await connect(workspaces.sales), await connect(workspaces.legal)]
    const both = await Promise.all([sales(all), legal(all), sales(all), legal(all)])
    expect(both.map(texts)).toEqual([
      ['sales 1', 'sales 2'],
      ['legal 1', 'legal 2'],
      ['sales 1', 'sales 2'],
      ['legal 1', 'legal 2'],
    ])
  })

  it('a changed connection meets the policies of its new choice at the next call', async () => {
    const send = await connect(workspaces.sales)
    expect((await send(add(workspaces.sales))).status).toBe(201)
    const api = `${server.baseUrl}/account/api/connections`
    const authorization = `Bearer ${personToken}`
    const listed = await server.fetch(api, { headers: { authorization } })
    const { connections } = (await listed.json()) as { connections: { id: string }[] }
    const changed = await server.fetch(`${api}/${connections[0]?.id}`, {
      method: 'PATCH',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'mcp', workspace: workspaces.legal }),
    })
    expect(changed.status).toBe(200)
    expect(texts(await send(all))).toEqual(['legal 1', 'legal 2'])
    expect((await send(add(workspaces.legal))).status).toBe(403)
  })

  it('the web app, which sends no headers, works as before the policies: in all workspaces of the person', async () => {
    expect(texts(await sendDirectly(all))).toEqual(['legal 1', 'legal 2', 'sales 1', 'sales 2'])
    expect((await sendDirectly(add(workspaces.legal))).status).toBe(201)
    expect(texts(await sendDirectly(move('new', workspaces.sales)))).toEqual(['new'])
    expect(texts(await sendDirectly(remove('new')))).toEqual(['new'])
    expect((await sendDirectly(add(workspaces.foreign))).status).toBe(403)
    expect(texts(await sendDirectly(change('foreign 1')))).toEqual([])
  })

  it('the person’s own token at /mcp is not narrowed, since no client was given less', async () => {
    const answer = await callTool(server, personToken, 'send', { ...all })
    expect(texts(JSON.parse(answer) as Answer)).toHaveLength(4)
  })

  const everything = 'mcp documents:write'
  it.each<[what: string, headers: (ids: typeof workspaces) => Record<string, string>, visible: string[]]>([
    ['a foreign workspace', ({ foreign }) => ({ client: 'c', scope: everything, workspace: foreign }), []],
    ['no workspace', () => ({ client: 'c', scope: everything }), []],
    ['an empty client', () => ({ client: '', scope: everything, workspace: '' }), []],
    ['a workspace that is no id', () => ({ client: 'c', scope: '*', workspace: "' or true --" }), []],
    ['quotes and braces', () => ({ client: '"}{', scope: '{}', workspace: '"null"' }), []],
    ['one of their workspaces', ({ sales }) => ({ client: 'c', workspace: sales }), ['sales 1', 'sales 2']],
    [
      'two values for one name',
      ({ sales, legal }) => ({ client: 'c', scope: everything, workspace: `${sales}, ${legal}` }),
      [],
    ],
    [
      'a scope and a workspace, but no client',
      ({ foreign }) => ({ scope: everything, workspace: foreign }),
      ['legal 1', 'legal 2', 'sales 1', 'sales 2'],
    ],
  ])('made-up headers with %s only take rows away', async (_what, headersOf, visible) => {
    const headers = Object.fromEntries(
      Object.entries(headersOf(workspaces)).map(([name, value]) => [`Drawbridge-${name}`, value]),
    )
    const without = texts(await sendDirectly(all))
    const found = texts(await sendDirectly(all, headers))
    expect(found).toEqual(visible)
    expect(without).toEqual(expect.arrayContaining(found))
    expect((await sendDirectly(add(workspaces.foreign), headers)).status).toBe(403)
    for (const query of [change('foreign 1'), remove('foreign 1')])
      expect(texts(await sendDirectly(query, headers))).toEqual([])
  })

  it.each([
    ['a longer name', 'mcp documents:writers'],
    ['a part of the name', 'mcp documents'],
    ['the name in other letters', 'mcp Documents:Write'],
    ['nothing', ''],
  ])('a client whose scope has %s writes nothing', async (_what, scope) => {
    const headers = {
      'drawbridge-client': 'c',
      'drawbridge-scope': scope,
      'drawbridge-workspace': workspaces.sales,
    }
    expect((await sendDirectly(add(workspaces.sales), headers)).status).toBe(403)
    expect(texts(await sendDirectly(change('sales 1'), headers))).toEqual([])
    expect(texts(await sendDirectly(remove('sales 1'), headers))).toEqual([])
    expect(texts(await sendDirectly(all, headers))).toEqual(['sales 1', 'sales 2'])
  })

  describe('in transactions of one connection, as PostgREST makes them', () => {
    let client: Client
    beforeEach(async () => {
      client = new Client({ connectionString: database })
      await client.connect()
      return () => client.end()
    })

    async function run(sql: string, headers?: Record<string, string>): Promise<Record<string, unknown>[]> {
      const claims = JSON.stringify({
        sub: auth.admin.findUser(person.email)?.id,
        role: 'authenticated',
      })
      await client.query('begin')
      try {
        await client.query('set local role authenticated')
        await client.query(`select set_config('request.jwt.claims', $1, true)`, [claims])
        if (headers)
          await client.query(`select set_config('request.headers', $1, true)`, [JSON.stringify(headers)])
        const { rows: found } = await client.query<Record<string, unknown>>(sql)
        await client.query('commit')
        return found
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    }

    const count = 'select text from public.documents'
    const inSales = (): Record<string, string> => ({
      'drawbridge-client': 'c',
      'drawbridge-scope': 'mcp documents:write',
      'drawbridge-workspace': workspaces.sales,
    })

    it('a pooled connection that served a client before is not narrowed, and does not fail, without headers', async () => {
      expect(await run(count, inSales())).toHaveLength(2)
      expect(await run(count)).toHaveLength(4)
    })

    it('a client writes in its workspace alone with statements that read nothing back', async () => {
      const insert = (into: string): string => `insert into public.documents (workspace_id, text)
        values ('${into}', 'new')`
      await run(insert(workspaces.sales), inSales())
      await expect(run(insert(workspaces.legal), inSales())).rejects.toThrow(/row-level security/)
      await run(`update public.documents set text = 'changed'`, inSales())
      const readOnly = { ...inSales(), 'drawbridge-scope': 'mcp' }
      await run(`update public.documents set text = 'changed again'`, readOnly)
      await run('delete from public.documents', readOnly)
      const left = await rows('select distinct text from public.documents order by text')
      expect(left).toMatchObject(
        ['changed', 'foreign 1', 'foreign 2', 'legal 1', 'legal 2'].map((text) => ({ text })),
      )
      await run('delete from public.documents', inSales())
      expect(await rows(count)).toHaveLength(4)
    })
  })
})

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { runCommand } from './command-process.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, postMcp, registerPlainClient, statusOfCall } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Facts = Record<string, unknown>

const folder = temporaryFolder(afterAll)
const token = randomBytes(32).toString('base64')
let adminUrl: string
let server: ServerProcess
let person: Person

beforeAll(async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 })
  const address = `127.0.0.1:${await freePort()}`
  adminUrl = `http://${address}`
  server = await startServer({
    ADMIN_LISTEN: address,
    ADMIN_TOKEN_FILE: tokenFile,
    AUDIT: 'audit.jsonl',
    SIGN_IN_LIMIT: '1000',
    CALL_LIMIT: 'off',
    // Neither the API's events nor the audit file depend on the log level.
    LOG: 'error',
  })
  person = await createPerson(server)
})
afterAll(() => server?.close())

function ask(method: string, path: string, given = token): Promise<Response> {
  return server.fetch(adminUrl + path, { method, headers: { authorization: `Bearer ${given}` } })
}

async function factsOf(method: string, path: string): Promise<Facts> {
  const response = await ask(method, path)
  const facts = (await response.json()) as Facts
  expect([response.status, facts]).toEqual([200, facts])
  return facts
}

async function grantsOf(query: string): Promise<Facts[]> {
  return (await factsOf('GET', `/grants?${query}`))['grants'] as Facts[]
}

/** Returns every event of the process, page by page. */
async function allEvents(): Promise<Facts[]> {
  const events: Facts[] = []
  for (let since = 0; ;) {
    const page = await factsOf('GET', `/events?since=${since}&limit=7`)
    const found = page['events'] as Facts[]
    if (found.length === 0) return events
    events.push(...found)
    since = page['next'] as number
  }
}

const auditFile = (): string => join(server.directory, 'audit.jsonl')

function audited(file = auditFile()): Facts[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Facts)
}

it('the admin API refuses requests without its token, and is not served at BASE_URL', async () => {
  const plain = await server.fetch(`${adminUrl}/grants`)
  expect([plain.status, plain.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  expect((await ask('GET', '/grants', `${token}x`)).status).toBe(401)
  for (const path of ['/grants', '/clients', '/events', '/openapi.json']) {
    const headers = { authorization: `Bearer ${token}` }
    expect((await server.fetch(server.baseUrl + path, { headers })).status).toBe(404)
  }
  expect((await ask('GET', '/mcp')).status).toBe(404)
})

it('the admin API lists a grant and ends it: the very next call is refused', async () => {
  const client = await registerPlainClient(server)
  const tokens = await client.connect(person)
  for (let n = 0; n < 3; n += 1) await callTool(server, tokens.access_token, 'whoami')
  const [grant] = await grantsOf(`client=${client.id}`)
  expect(grant).toMatchObject({ email: person.email, client_name: 'Plain client', state: 'live' })
  const id = String(grant?.['id'])
  expect(await factsOf('DELETE', `/grants/${id}`)).toEqual({ revoked: 1, grants: [id] })
  expect(await statusOfCall(server, tokens.access_token)).toBe(401)
  expect((await client.refresh(tokens.refresh_token)).status).toBe(400)
  await until(async () => {
    const [ended] = await grantsOf(`client=${client.id}&all=true`)
    return ended?.['state'] === 'ended' && ended['end_reason'] === 'revoked_by_operator'
  }, 'the end of the grant')
})

it('the admin API lists the events of the audit file in order, without a secret', async () => {
  const events = await allEvents()
  const names = new Set(events.map(({ event }) => event))
  for (const name of [
    'admin_refused',
    'client_registered',
    'signed_in',
    'token_issued',
    'tool_called',
    'admin_grant_revoked',
  ]) {
    expect(names).toContain(name)
  }
  const sequences = events.map(({ sequence }) => sequence as number)
  expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index))
  const text = JSON.stringify(events)
  expect(server.secrets.names().size).toBeGreaterThan(5)
  expect(server.secrets.findIn(text)).toEqual([])
  expect(text).not.toContain(token)
  await until(() => audited().length >= events.length, 'the last line of the audit file')
  expect(events).toMatchObject(audited().slice(0, events.length))
})

it('the admin API does what docs/admin.md shows', async () => {
  const document = readFileSync(new URL('../../docs/admin.md', import.meta.url), 'utf8')
  const lines = [...document.matchAll(/^curl -K admin\.curl .*$/gm)].map(([line]) => line)
  writeFileSync(join(folder, 'admin-token'), token)
  const [prepare = ''] = /^\(umask.* > admin\.curl\)$/m.exec(document) ?? []
  const run = promisify(execFile)
  const where = { cwd: folder, env: { PATH: process.env['PATH'] ?? '', ADMIN: adminUrl } }
  await run('sh', ['-c', prepare], where)
  const asked: string[] = []
  for (const line of lines) {
    const { stdout } = await run('sh', ['-c', line.replace('curl', 'curl -s')], where)
    const { error, error_description: text } = JSON.parse(stdout) as Facts
    if (error !== undefined) expect(text).toMatch(/^There is no (?:grant|client) /)
    const [, method = 'GET', path = ''] = /(?:-X (\w+) )?"\$ADMIN([^"?]*)/.exec(line) ?? []
    asked.push(`${method} ${path}`)
  }
  const { paths } = (await factsOf('GET', '/openapi.json')) as { paths: Record<string, object> }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  for (const operation of operations) {
    expect(document).toContain(`\`${operation}\``)
    const form = new RegExp(`^${operation.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    expect(
      asked.filter((each) => form.test(each)),
      operation,
    ).not.toEqual([])
  }
})

const people = 4
const callsOfEach = 20

const traceparent = (traceId: string): string => `00-${traceId}-${'1'.repeat(16)}-01`

/** Calls that end in every way except by a rule or limit, with their recorded outcome. */
const calls: readonly (readonly [name: string, input: object, outcome: string])[] = [
  ['whoami', {}, 'ok'],
  ['add_note', { text: 'a note that nobody may find in a record' }, 'ok'],
  ['list_notes', {}, 'ok'],
  ['add_note', { text: '' }, 'tool_error'],
  ['nothing', { text: 'an argument that nobody may find in a record' }, 'failed'],
]

/** Returns the user the tool says is calling. */
async function subOf(token: string): Promise<string> {
  const message = { method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  const response = await postMcp(server, message, { authorization: `Bearer ${token}` })
  const { result } = (await response.json()) as { result: { structuredContent: { sub: string } } }
  return result.structuredContent.sub
}

it(
  'the audit file records every concurrent call with the person who made it',
  { timeout: 120_000 },
  async () => {
    const made = new Map<string, { sub: string; tool: string; outcome: string }>()
    await Promise.all(
      Array.from({ length: people }, async () => {
        const person = await createPerson(server)
        const { access_token: token } = await (await registerPlainClient(server)).connect(person)
        const sub = await subOf(token)
        for (let index = 0; index < callsOfEach; index += 1) {
          const [name, input, outcome] = calls[index % calls.length] ?? ['', {}, '']
          const traceId = randomBytes(16).toString('hex')
          made.set(traceId, { sub, tool: name, outcome })
          const inMeta = index % 2 === 0
          const response = await postMcp(
            server,
            {
              method: 'tools/call',
              params: {
                name,
                arguments: input,
                ...(inMeta && { _meta: { traceparent: traceparent(traceId) } }),
              },
            },
            { authorization: `Bearer ${token}`, ...(!inMeta && { traceparent: traceparent(traceId) }) },
          )
          await response.text()
        }
      }),
    )
    const tracedNow = (): Facts[] =>
      audited().filter(({ event, trace_id: id }) => event === 'tool_called' && made.has(String(id)))
    await until(() => tracedNow().length >= people * callsOfEach, 'the last record')
    const traced = tracedNow()
    expect(traced).toHaveLength(people * callsOfEach)
    expect(new Set(traced.map((record) => record['trace_id'])).size).toBe(people * callsOfEach)
    const wrong = traced.filter((record) => {
      const { sub, tool, outcome } = made.get(String(record['trace_id'])) ?? {}
      return record['sub'] !== sub || record['tool'] !== tool || record['outcome'] !== outcome
    })
    expect(wrong).toEqual([])
  },
)

it('the audit file holds no secret, argument or result, and only its owner can read it', () => {
  const text = readFileSync(auditFile(), 'utf8')
  expect(server.secrets.findIn(text)).toEqual([])
  expect(text).not.toMatch(/nobody may find|@/)
  expect(statSync(auditFile()).mode & 0o777).toBe(0o600)
})

it('usage counts the calls of the audit file, in each of its ways', async () => {
  const text = readFileSync(auditFile(), 'utf8')
  const settings = { AUDIT: 'audit.jsonl' }
  const [command, piped, answer] = await Promise.all([
    runCommand(server, ['usage', '--json', '--since', '1d'], { settings }),
    runCommand(server, ['usage', '-', '--json'], { stdin: `not a line\n${text}` }),
    ask('GET', '/usage'),
  ])
  const usage = (await answer.json()) as Facts[]
  expect([JSON.parse(command.stdout), JSON.parse(piped.stdout)]).toEqual([usage, usage])
  expect([command.stderr, piped.stderr.trim()]).toEqual([
    '',
    'Skipped lines that are broken, or not of the audit trail: 1.',
  ])
  const recorded = text.match(/"event":"tool_called"/g) ?? []
  const totals = (member: string, of = usage): number => of.reduce((sum, row) => sum + Number(row[member]), 0)
  expect([totals('calls'), totals('refused')]).toEqual([recorded.length, 0])
  const added = usage.filter(({ tool }) => tool === 'add_note')
  expect(added.map(({ people }) => people)).toEqual(Array.from({ length: people }, () => 1))
  expect([totals('calls', added), totals('errors', added)]).toEqual([
    people * callsOfEach * (2 / calls.length),
    (people * callsOfEach) / calls.length,
  ])
  const unknown = usage.filter(({ tool }) => tool === null)
  expect([unknown.length, totals('errors', unknown)]).toEqual([people, (people * callsOfEach) / calls.length])
})

it('GET /usage chooses calls by tool, user and client', async () => {
  const usage = async (query: object) =>
    (await (await ask('GET', `/usage?${new URLSearchParams({ ...query }).toString()}`)).json()) as Facts[]
  const [one] = await usage({ tool: 'add_note' })
  const client = String(one?.['client_id'])
  expect(await usage({ tool: 'add_note', client, since: '1h' })).toEqual([one])
  const { sub } = audited().find((line) => line['client_id'] === client && line['sub']) ?? {}
  expect(await usage({ tool: 'add_note', user: sub })).toEqual([one])
  expect(await usage({ client, user: 'nobody' })).toEqual([])
})

it('the server reopens the audit file on SIGHUP after it was moved away', async () => {
  renameSync(auditFile(), `${auditFile()}.1`)
  server.signal('SIGHUP')
  await until(() => statSync(auditFile(), { throwIfNoEntry: false }) !== undefined, 'the new file')
  // A write under way still goes to the old one.
  await until(async () => {
    await registerPlainClient(server)
    return audited().some(({ event }) => event === 'client_registered')
  }, 'a record in the new file')
  expect(statSync(auditFile()).mode & 0o777).toBe(0o600)
})

import { Validator } from '@seriousme/openapi-schema-validator'
import { readFileSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AttemptBook } from '../core/attempts/attempt-book.ts'
import type { Store } from '../core/store.ts'
import { fixedKeyRing } from '../core/seal.ts'
import { openMemoryStore } from '../store/sqlite/sqlite.ts'
import {
  type AdminFixture,
  adminIssuer,
  createAdminFixture,
} from '../../tests/support/server/admin-fixture.ts'
import { addGrant, grantSample, start } from '../../tests/support/server/core/grant-sample.ts'
import { sampleKey, storeIsDown } from '../../tests/support/server/core/keeper-fixture.ts'
import { publicClient } from '../../tests/support/server/core/sign-in-sample.ts'
import { type AdminPorts, adminRoutes } from './admin-route.ts'

interface Document {
  openapi: string
  paths: Record<
    string,
    Record<
      string,
      {
        parameters: { name: string; in: string; required: boolean; schema: object }[]
        responses: Record<string, { content: Record<string, { schema: object }> }>
      }
    >
  >
}

let admin: AdminFixture
beforeEach(() => {
  admin = createAdminFixture()
})
afterEach(() => admin.close())

/** Creates a fixture with other ports. */
async function createAdmin(ports: Partial<AdminPorts>): Promise<AdminFixture> {
  await admin.close()
  admin = createAdminFixture(ports)
  return admin
}

async function factsOf(method: string, path: string, status = 200): Promise<Record<string, unknown>> {
  const response = await admin.ask(method, path)
  const facts = (await response.json()) as Record<string, unknown>
  expect({ status: response.status, facts }).toEqual({ status, facts })
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  return facts
}

const person = (sub: string) => ({
  user: { id: `${adminIssuer}#${sub}`, sub, email: `${sub}@example.com`, name: undefined },
})

const idsIn = (facts: Record<string, unknown>): unknown[] =>
  (facts['grants'] as { id: string }[]).map(({ id }) => id)

describe('listing grants', () => {
  beforeEach(async () => {
    await addGrant(admin.store, grantSample('a', { ...person('ada'), clientId: 'one' }))
    await addGrant(admin.store, grantSample('b', { ...person('ada'), clientId: 'two' }))
    await addGrant(admin.store, grantSample('c', { ...person('bob'), clientId: 'two' }))
    await addGrant(admin.store, grantSample('d', { ...person('bob'), clientId: 'two' }))
    await admin.store.endGrant('grant d', 'code_reuse', start)
  })

  it.each([
    ['', ['grant a', 'grant b', 'grant c']],
    ['?all=true', ['grant a', 'grant b', 'grant c', 'grant d']],
    ['?all=false', ['grant a', 'grant b', 'grant c']],
    ['?user=ada', ['grant a', 'grant b']],
    ['?user=BOB%40example.com&all=true', ['grant c', 'grant d']],
    ['?client=two', ['grant b', 'grant c']],
    ['?user=ada&client=two', ['grant b']],
    ['?user=nobody', []],
    ['?after=grant%20b', ['grant c']],
  ])('GET /grants%s selects grants', async (query, ids) => {
    expect(idsIn(await factsOf('GET', `/grants${query}`))).toEqual(ids)
  })

  it('GET /grants returns a page, and where the next begins', async () => {
    const first = await factsOf('GET', '/grants?limit=2')
    expect([idsIn(first), first['next']]).toEqual([['grant a', 'grant b'], 'grant b'])
    const second = await factsOf('GET', `/grants?limit=2&after=${encodeURIComponent(String(first['next']))}`)
    expect([idsIn(second), second['next']]).toEqual([['grant c'], undefined])
  })

  it('GET /grants returns 100 grants, or as many as limit says', async () => {
    for (let index = 0; index < 110; index += 1) await addGrant(admin.store, grantSample(`x${index}`))
    expect(idsIn(await factsOf('GET', '/grants'))).toHaveLength(100)
    expect(idsIn(await factsOf('GET', '/grants?limit=1000'))).toHaveLength(113)
  })
})

describe('ending grants', () => {
  it('DELETE /grants/{id} ends one grant, and records it', async () => {
    const { tokens } = await addGrant(admin.store, grantSample('a', person('ada')))
    expect(await factsOf('DELETE', '/grants/grant%20a')).toEqual({ revoked: 1, grants: ['grant a'] })
    expect(await admin.store.findAccessToken(tokens.accessHash, start + 60)).toBeUndefined()
    expect((await admin.store.findGrant('grant a'))?.end?.reason).toBe('revoked_by_operator')
    expect(await factsOf('DELETE', '/grants/grant%20a')).toEqual({ revoked: 0, grants: [] })
    expect(admin.logged('admin_grant_revoked')).toMatchObject([
      { audit: true, address: '192.0.2.5', grant_id: 'grant a', client_id: 'client a', sub: 'ada' },
    ])
  })

  it('DELETE /grants/{id} returns 404 for an unknown grant', async () => {
    expect(await factsOf('DELETE', '/grants/none', 404)).toEqual({
      error: 'not_found',
      error_description: 'There is no grant "none".',
    })
  })

  it('DELETE /users/{user}/grants ends all grants of a user, who may have none', async () => {
    await addGrant(admin.store, grantSample('a', person('ada')))
    await addGrant(admin.store, grantSample('c', person('bob')))
    const path = '/users/Ada%40example.com/grants'
    expect(await factsOf('DELETE', path)).toEqual({ revoked: 1, grants: ['grant a'] })
    expect(admin.logged('admin_grant_revoked')).toHaveLength(1)
    expect(await factsOf('DELETE', '/users/nobody/grants')).toEqual({ revoked: 0, grants: [] })
    expect(idsIn(await factsOf('GET', '/grants'))).toEqual(['grant c'])
  })

  it('DELETE /users/{user}/grants records the grants that ended before the store failed', async () => {
    const inner = openMemoryStore()
    for (let index = 0; index < 150; index += 1) {
      await addGrant(inner, grantSample(`${index}`, person('ada')))
    }
    let calls = 0
    const endGrants: Store['endGrants'] = (...given) =>
      ++calls === 2 ? storeIsDown() : inner.endGrants(...given)
    await createAdmin({ store: { ...inner, endGrants } })
    await factsOf('DELETE', '/users/ada/grants', 503)
    expect(admin.logged('admin_grant_revoked')).toHaveLength(100)
    expect(await factsOf('DELETE', '/users/ada/grants')).toMatchObject({ revoked: 50 })
  })
})

describe('clients', () => {
  it('GET /clients lists clients as clients list --json does', async () => {
    await admin.store.addClient(publicClient({ id: 'b', expiresAt: start + 86_400 }))
    await admin.store.addClient(publicClient({ id: 'a', expiresAt: undefined }))
    const ids = ({ clients }: Record<string, unknown>): unknown[] =>
      (clients as { client_id: string }[]).map(({ client_id: id }) => id)
    const few = await factsOf('GET', '/clients')
    expect([ids(few), few['unused']]).toEqual([['file-client', 'a'], 1])
    expect(ids(await factsOf('GET', '/clients?all=true'))).toEqual(['file-client', 'a', 'b'])
  })

  it.each(['plain', 'https://client.example/meta.json?a=b', '100% /..//', 'ümlaut'])(
    'DELETE /clients/{id} removes a client with its grants: %s',
    async (id) => {
      await admin.store.addClient(publicClient({ id }))
      await addGrant(admin.store, grantSample('a', { clientId: id }))
      const path = `/clients/${encodeURIComponent(id)}`
      expect(await factsOf('DELETE', path)).toEqual({ client_id: id, removed: true, grants_ended: 1 })
      expect(await admin.store.findClient(id)).toBeUndefined()
      expect((await admin.store.findGrant('grant a'))?.end?.reason).toBe('client_removed')
      expect(admin.logged('admin_client_removed')).toMatchObject([
        { audit: true, client_id: id, removed: true, grants_ended: 1 },
      ])
      await factsOf('DELETE', path, 404)
    },
  )

  it('DELETE /clients/{id} refuses a client of the file, whose grants stay', async () => {
    await addGrant(admin.store, grantSample('a', { clientId: 'file-client' }))
    const facts = await factsOf('DELETE', '/clients/file-client', 409)
    expect(facts['error_description']).toMatch(/^file-client is configured in the file of CLIENTS/)
    expect((await admin.store.findGrant('grant a'))?.end).toBeUndefined()
  })
})

describe('more than 10,000 clients', () => {
  it('GET /clients lists 10,000, those of the file first, and reads no more', async () => {
    let read = 0
    const listClients: Store['listClients'] = async ({ limit }) => {
      read += limit
      return Array.from({ length: limit }, (_, index) => publicClient({ id: `client ${read + index}` }))
    }
    await createAdmin({ store: { ...openMemoryStore(), listClients } })
    const { clients } = await factsOf('GET', '/clients?all=true')
    expect(clients).toHaveLength(10_000)
    expect((clients as object[])[0]).toMatchObject({ client_id: 'file-client' })
    expect(read).toBe(10_000)
  })
})

describe('rotating keys', () => {
  const kidsInFile = (): (string | undefined)[] =>
    readFileSync(admin.keyFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0])

  it('POST /keys/rotate adds a new key at the front of the file, and records it', async () => {
    const facts = await factsOf('POST', '/keys/rotate')
    const added = String(facts['added'])
    expect(facts).toEqual({
      ok: true,
      sealing_key: added,
      added,
      resealed: 0,
      unsettled: 0,
      unreadable: 0,
      left: 0,
      interrupted: false,
      keys: [
        { kid: added, role: 'seals', sessions: 0, in_use: false },
        { kid: 'old', role: 'opens', sessions: 0, in_use: false },
      ],
      removable_at: admin.runtime.now() + 3600,
    })
    expect(kidsInFile()).toEqual([added, 'old'])
    const [line] = admin.logged('admin_keys_rotated')
    expect(line).toMatchObject({ audit: true, sealing_key: added, added, left: 0 })
    const [entry = ''] = readFileSync(admin.keyFile, 'utf8').split('\n')
    expect(JSON.stringify([facts, line])).not.toContain(entry.slice(added.length + 1))
  })

  it('POST /keys/rotate refuses a second rotation while one is in progress', async () => {
    const both = await Promise.all([admin.ask('POST', '/keys/rotate'), admin.ask('POST', '/keys/rotate')])
    expect(both.map(({ status }) => status)).toEqual([200, 409])
    expect(kidsInFile()).toHaveLength(2)
    expect((await admin.ask('POST', '/keys/rotate')).status).toBe(200)
    expect(kidsInFile()).toHaveLength(3)
  })

  it('POST /keys/rotate needs a key file that can be changed', async () => {
    rmSync(admin.keyFile)
    expect((await factsOf('POST', '/keys/rotate', 409))['error_description']).toMatch(
      /^The key file .* cannot be changed: ENOENT/,
    )
    await createAdmin({ keyFile: undefined, ring: fixedKeyRing([sampleKey('one', 1)]) })
    expect(await factsOf('POST', '/keys/rotate', 409)).toEqual({
      error: 'conflict',
      error_description:
        'The keys are not in a file, so none can be added. Keep them in one: DRAWBRIDGE_SECRET_KEYS=file:PATH.',
    })
  })

  it('POST /keys/rotate ends when the server stops', async () => {
    await createAdmin({ isStopped: () => true })
    expect(await factsOf('POST', '/keys/rotate')).toMatchObject({ ok: false, interrupted: true })
  })
})

it('GET /events returns audit events in order, and where to continue', async () => {
  await admin.ask('GET', '/clients', 'Bearer wrong')
  await addGrant(admin.store, grantSample('a', person('ada')))
  await admin.ask('DELETE', '/grants/grant%20a')
  const first = await factsOf('GET', '/events?limit=1')
  expect(first['events']).toMatchObject([{ event: 'admin_refused', audit: true, address: '192.0.2.5' }])
  const { events, next } = await factsOf('GET', `/events?since=${String(first['next'])}`)
  expect(events).toMatchObject([{ event: 'admin_grant_revoked', sequence: Number(first['next']) + 1 }])
  expect(await factsOf('GET', `/events?since=${String(next)}`)).toEqual({ events: [], next })
})

describe('reading usage', () => {
  it('GET /usage without AUDIT returns 409, and says what to set', async () => {
    expect(await factsOf('GET', '/usage', 409)).toEqual({
      error: 'conflict',
      error_description:
        'There is no record of calls. Set DRAWBRIDGE_AUDIT to a file: it gets those from then on.',
    })
  })

  it('GET /usage reads the file of AUDIT, and takes no other', async () => {
    const asked: unknown[] = []
    await createAdmin({
      auditLines(from) {
        asked.push(from)
        return none()
      },
    })
    expect(await factsOf('GET', '/usage?since=1h')).toEqual([])
    await factsOf('GET', '/usage?from=-', 400)
    expect(asked).toEqual([undefined])
  })

  async function* none(): AsyncGenerator<string> {}
})

describe('a request', () => {
  it.each([
    ['/', 404],
    ['/grants/', 404],
    ['/users//grants', 404],
    ['/Grants', 404],
  ])('GET %s returns %i', async (path, status) => {
    expect((await factsOf('GET', path, status))['error']).toBe('not_found')
  })

  it.each([
    ['POST', '/grants', 'GET, HEAD'],
    ['OPTIONS', '/grants', 'GET, HEAD'],
    ['GET', '/grants/one', 'DELETE'],
    ['PUT', '/users/ada/grants', 'DELETE'],
    ['GET', '/keys/rotate', 'POST'],
  ])('%s %s returns 405 and allows %s', async (method, path, allow) => {
    const response = await admin.ask(method, path)
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
  })

  it.each([
    ['GET', '/grants?limit=0', 'limit: expected a whole number from 1 to 10000.'],
    ['GET', '/grants?limit=10001', 'limit: expected a whole number from 1 to 10000.'],
    ['GET', '/grants?limit=1e2', 'limit: expected a whole number from 1 to 10000.'],
    ['GET', '/grants?limit=', 'limit: expected a whole number from 1 to 10000.'],
    ['GET', '/grants?all=yes', 'all: expected true or false.'],
    ['GET', '/grants?all=', 'all: expected true or false.'],
    ['GET', '/grants?user=', 'user: expected a value.'],
    ['GET', '/grants?user=a&user=b', 'user: expected only once.'],
    ['GET', '/grants?usr=a', 'usr: unknown parameter. Did you mean user?'],
    ['GET', '/grants?__proto__=a', '__proto__: unknown parameter.'],
    [
      'GET',
      '/grants?limit=x&all=x',
      'all: expected true or false. limit: expected a whole number from 1 to 10000.',
    ],
    ['GET', '/events?since=-1', 'since: expected a whole number from 0 to 9007199254740991.'],
    ['GET', '/events?since=9999999999999999', 'since: expected a whole number from 0 to 9007199254740991.'],
    ['DELETE', '/grants/one?id=two', 'id: expected only once.'],
    ['POST', '/keys/rotate?force=true', 'force: unknown parameter.'],
    ['GET', '/usage?since=0d', 'since: expected a number and its unit, such as 12h or 7d.'],
    ['GET', '/usage?tool=', 'tool: expected a value.'],
    ['GET', '/usage?from=-', 'from: unknown parameter.'],
    ['GET', '/usage?limit=5', 'limit: unknown parameter.'],
  ])('%s %s returns 400', async (method, path, text) => {
    expect(await factsOf(method, path, 400)).toEqual({ error: 'invalid_request', error_description: text })
  })

  it('HEAD returns the status of GET without a body', async () => {
    const response = await admin.ask('HEAD', '/grants')
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  it('a failed request returns the id under which the log has its error', async () => {
    const mistake = (): Promise<never> => Promise.reject(new TypeError('a mistake'))
    await createAdmin({ store: { ...openMemoryStore(), listGrants: mistake } })
    const response = await admin.ask('GET', '/grants')
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('a mistake')
    expect(admin.logged('request_failed')).toMatchObject([
      { request_id: response.headers.get('x-request-id'), err: { message: 'a mistake' } },
    ])
  })

  it('a request returns 503 while the store is down', async () => {
    await createAdmin({ store: { ...openMemoryStore(), listGrants: storeIsDown } })
    const response = await admin.ask('GET', '/grants')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })
})

describe('GET /openapi.json', () => {
  const documentOf = async (): Promise<Document> =>
    (await factsOf('GET', '/openapi.json')) as unknown as Document

  it('GET /openapi.json returns a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator()
    const document = await documentOf()
    const { valid, errors } = await validator.validate({ ...document })
    expect([valid, errors]).toEqual([true, undefined])
    expect(validator.version).toBe('3.1')
  })

  it('the OpenAPI document describes every route, and no other', async () => {
    const { paths } = await documentOf()
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described).toEqual(adminRoutes.map(({ method, path }) => `${method} ${path}`))
  })

  it('the OpenAPI document describes parameters', async () => {
    const { paths } = await documentOf()
    expect(paths['/grants']?.['get']?.parameters).toContainEqual({
      name: 'limit',
      in: 'query',
      required: false,
      description: 'maximum number of entries',
      schema: { type: 'integer', minimum: 1, maximum: 10_000, default: 100 },
    })
    expect(paths['/grants/{id}']?.['delete']?.parameters).toEqual([
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'the id of the grant',
        schema: { type: 'string', minLength: 1 },
      },
    ])
  })

  async function addAttempt(): Promise<void> {
    const book = new AttemptBook(admin)
    const seen = { status: 400, ok: false, requestId: 'r', userAgent: 'client/1', address: '192.0.2.1' }
    book.note({ ...seen, step: 'page', clientId: 'c', detail: 'redirect_uri_mismatch' })
    await book.flush()
    admin.runtime.advance(60)
  }

  const addCall = (): Promise<AdminFixture> => createAdmin({ auditLines: () => oneCall() })

  async function* oneCall(): AsyncGenerator<string> {
    const time = new Date(start * 1000).toISOString()
    const call = { time, sub: 'ada', client_id: 'one', tool: 'add_note', outcome: 'ok', duration_ms: 3 }
    yield JSON.stringify({ ...call, event: 'tool_called' })
  }

  /** One with everything that a grant can have. */
  async function addWholeGrant(): Promise<void> {
    const workspace = { id: 'sales', name: 'Sales' }
    const { grant } = await addGrant(admin.store, grantSample('a', { workspace }))
    const use = { grantId: grant.id, usedAt: start, address: '192.0.2.1', tool: 'whoami' }
    const twoAddresses = { addresses: ['192.0.2.1', '192.0.2.2'], at: start } as const
    await admin.store.recordGrantUses([{ ...use, twoAddresses }])
    await admin.store.endGrant(grant.id, 'revoked_by_user', start)
  }

  it('the OpenAPI document describes every member of a grant', async () => {
    await addWholeGrant()
    const { grants } = (await factsOf('GET', '/grants?all=true', 200)) as { grants: object[] }
    const { paths } = await documentOf()
    const schema = paths['/grants']?.['get']?.responses['200']?.content['application/json']?.schema as {
      properties: { grants: { items: { properties: object } } }
    }
    const described = Object.keys(schema.properties.grants.items.properties).toSorted()
    expect(Object.keys(grants[0] ?? {})).toContain('two_addresses')
    expect(described.filter((name) => name !== 'client_name')).toEqual(
      Object.keys(grants[0] ?? {}).toSorted(),
    )
  })

  const cases: readonly [id: string, status: number, path: string, prepare?: () => Promise<unknown>][] = [
    ['listGrants', 200, '/grants', () => addGrant(admin.store, grantSample('a'))],
    ['listGrants', 200, '/grants?all=true', addWholeGrant],
    ['listGrants', 400, '/grants?limit=none'],
    ['revokeGrant', 200, '/grants/grant%20a', () => addGrant(admin.store, grantSample('a'))],
    ['revokeGrant', 404, '/grants/none'],
    [
      'revokeGrantsOfUser',
      200,
      '/users/a%40example.com/grants',
      () => addGrant(admin.store, grantSample('a')),
    ],
    ['listClients', 200, '/clients?all=true', () => admin.store.addClient(publicClient({ id: 'one' }))],
    ['removeClient', 200, '/clients/one', () => admin.store.addClient(publicClient({ id: 'one' }))],
    ['removeClient', 404, '/clients/none'],
    ['removeClient', 409, '/clients/file-client'],
    ['rotateKeys', 200, '/keys/rotate'],
    ['rotateKeys', 400, '/keys/rotate?a=b'],
    ['rotateKeys', 409, '/keys/rotate', () => createAdmin({ keyFile: undefined })],
    ['listEvents', 200, '/events', () => admin.ask('GET', '/', '')],
    ['listEvents', 400, '/events?since=x'],
    ['listAttempts', 200, '/attempts?client=c&failed=true', addAttempt],
    ['listAttempts', 400, '/attempts?failed=yes'],
    ['readUsage', 200, '/usage?since=7d&tool=add_note&user=ada&client=one', addCall],
    ['readUsage', 200, '/usage', addCall],
    ['readUsage', 400, '/usage?since=7'],
    ['readUsage', 409, '/usage'],
    ['getOpenApi', 200, '/openapi.json'],
  ]

  it.each(cases)('%s returns %i as the OpenAPI document says', async (id, status, path, prepare) => {
    await prepare?.()
    const operation = adminRoutes.find((row) => row.id === id)
    if (!operation) throw new Error(`There is no operation ${id}.`)
    const facts = await factsOf(operation.method, path, status)
    const { paths } = await documentOf()
    const described = paths[operation.path]?.[operation.method.toLowerCase()]
    expect(Object.keys(described?.responses ?? {})).toContain(String(status))
    // Parsing drops members missing from the schema.
    if (status === 200) expect(operation.schema.parse(facts)).toEqual(facts)
    else expect(Object.keys(facts)).toEqual(['error', 'error_description'])
  })

  it('the cases above try every route with each of its statuses', () => {
    const tried = new Set(cases.map(([id, status]) => `${id} ${status}`))
    const own = adminRoutes.flatMap(({ id, refusals }) =>
      ['200', ...Object.keys(refusals)].map((status) => `${id} ${status}`),
    )
    expect(own.filter((answer) => !tried.has(answer))).toEqual([])
  })
})

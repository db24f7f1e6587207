import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealerSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { resource, signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { openPostgresStore } from '../../store/postgres/postgres.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { isLive } from '../session/grant-pages.ts'
import type { Store } from '../store.ts'
import {
  clientIdOfToken,
  isPersonalToken,
  makePersonalToken,
  readTokenWish,
  tokenNameOf,
} from './personal-token.ts'
import { ScopeCatalogue } from './scope.ts'

const a = (count: number): string => 'A'.repeat(count)

// The checksums are of another implementation: zlib in Python.
it.each<[what: string, token: string, is: boolean]>([
  ['a checksum of six digits', `mcpt_${a(35)}s01U6lwF`, true],
  ['a checksum of three digits, after zeros', `mcpt_${a(32)}s2454000B2g`, true],
  ['zeros after its digits', `mcpt_${a(32)}s2454B2g000`, false],
  ['the checksum of another secret', `mcpt_${a(36)}B1U6lwF`, false],
  ['an empty checksum', `mcpt_${a(35)}s0`, false],
  ['text before it', ` mcpt_${a(35)}s01U6lwF`, false],
])('a personal token with %s: %s is %s', (_what, token, is) => {
  expect(isPersonalToken(token)).toBe(is)
})

it.each(['CI', 'Nightly <build> & more', 'Zoë’s “Büro” 山田 %41 %', '👩‍💻', 'a:b/c?d=e', "it's (mine)!*~"])(
  'the name %s becomes printable ASCII in a header and a variable, and is itself again on a page',
  (name) => {
    const clientId = clientIdOfToken({ name })
    expect(clientId).toMatch(/^personal_token:[!-~]+$/)
    expect(tokenNameOf(clientId)).toBe(name)
  },
)

it.each<[what: string, name: string, kept: string | undefined]>([
  ['40 letters beyond the first plane', '𝒜'.repeat(40), '𝒜'.repeat(40)],
  ['41 letters', '𝒜'.repeat(41), undefined],
  ['line breaks, tabs and marks of direction', ' a\r\n\tb\u202Ec ', 'a b c'],
  ['half a letter', 'a\uD83Db', 'a b'],
])('a name with %s becomes one that can be shown, or is refused', (_what, name, kept) => {
  expect(readTokenWish({ name, scopes: [], days: '7' }, [])?.name).toBe(kept)
})

describe('personal tokens of many sign-ins at the same moment', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.close())

  it.each<[where: string, open: () => Promise<readonly Store[]>]>([
    [
      'two instances on Postgres',
      async () => {
        const url = await postgres.createDatabase()
        const stores = [openPostgresStore(url), openPostgresStore(url)]
        for (const store of stores) await store.prepare()
        return stores
      },
    ],
    ['one on SQLite', async () => [openMemoryStore()]],
  ])('ten are the most for one user at %s, and another user has their own', async (_where, open) => {
    const stores = await open()
    const runtime = createFakeRuntime(start)
    const ports = {
      accessTokenTtlSeconds: 3600,
      sealer: sealerSample(),
      runtime,
      providerIssuer: 'https://provider',
      scopes: new ScopeCatalogue(),
      sessionTtlSeconds: 3600,
      reportGrantEnd: () => {},
    }
    const make = async (name: string, user = 'ada'): Promise<boolean> => {
      const store = stores[name.length % stores.length] ?? openMemoryStore()
      const about = { signIn: signInSample(user), resource, workspace: undefined }
      return (
        (await makePersonalToken({ name, scope: 'mcp', days: 7 }, about, { ...ports, store })) !== undefined
      )
    }
    const liveOf = async (user: string): Promise<number> => {
      const of = { userId: `https://provider#sub ${user}` }
      const records = (await stores[0]?.listGrants(of, { after: '', limit: 100 })) ?? []
      return records.filter((record) => isLive(record, start)).length
    }
    try {
      for (let made = 0; made < 8; made += 1) expect(await make('x'.repeat(made + 1))).toBe(true)
      const made = await Promise.all(Array.from({ length: 12 }, (_, at) => make('y'.repeat(at + 1))))
      expect(await liveOf('ada')).toBe(8 + made.filter(Boolean).length)
      expect(await liveOf('ada')).toBeLessThanOrEqual(10)
      for (let more = 0; more < 3; more += 1) await make('z')
      expect(await liveOf('ada')).toBe(10)
      expect(await make('z', 'grace')).toBe(true)
    } finally {
      for (const store of stores) await store.close()
    }
  })
})

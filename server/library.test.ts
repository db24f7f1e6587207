import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../tests/support/temporary-folder.ts'
import { ConfigError, createDrawbridge, environmentSettings } from './library.ts'

const memory = { store: 'memory:' }

const registration = (baseUrl: string, headers: Record<string, string> = {}): Request =>
  new Request(`${baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' }),
  })

describe('createDrawbridge', () => {
  it('createDrawbridge answers requests for its base URL, and for the web app beside it', async () => {
    const settings = { ...memory, baseUrl: 'http://localhost:3000', log: 'silent' }
    const { fetch, fetchApp, close } = createDrawbridge(settings)
    const metadata = await fetch(new Request('http://localhost:3000/.well-known/oauth-authorization-server'))
    expect(await metadata.json()).toMatchObject({ issuer: 'http://localhost:3000' })
    expect((await fetch(new Request('http://localhost:3000/mcp'))).status).toBe(401)
    expect((await fetchApp?.(new Request('http://localhost:8788/')))?.status).toBe(200)
    await close()
  })

  it('createDrawbridge keeps everything in the given file', async () => {
    const folder = temporaryFolder()
    const settings = {
      baseUrl: 'http://localhost:3000',
      store: `sqlite:${folder}/deep/server.db`,
      log: 'silent',
    }
    const first = createDrawbridge(settings)
    const registered = await first.fetch(registration('http://localhost:3000'))
    const { client_id: clientId } = (await registered.json()) as { client_id: string }
    await first.close()
    const second = createDrawbridge(settings)
    const ready = await second.fetch(new Request('http://localhost:3000/readyz'))
    expect(await ready.json()).toEqual({ status: 'ok', checks: { store: 'ok', keys: 'ok', provider: 'ok' } })
    const asked = new URLSearchParams({ client_id: clientId, redirect_uri: 'http://127.0.0.1:1/cb' })
    const known = await second.fetch(new Request(`http://localhost:3000/oauth/authorize?${asked.toString()}`))
    expect(known.status).toBe(303)
    await second.close()
  })

  it.each<[given: object, problem: unknown]>([
    [{ sesionTokens: 'off' }, 'sesionTokens: there is no such setting. Did you mean sessionTokens?'],
    [{ SESSION_TOKENS: 'off' }, 'SESSION_TOKENS: there is no such setting. Did you mean sessionTokens?'],
    [{ somethingElse: 1 }, 'somethingElse: there is no such setting.'],
    [
      { sessionTokens: false },
      'sessionTokens: expected a string, as a flag or variable would have it; got a value of type boolean.',
    ],
    [{ log: null }, 'log: expected a string, as a flag or variable would have it; got null.'],
    [
      { tools: './tools.mjs' },
      'tools: import the file and hand it over, createDrawbridge(config, { tools }).',
    ],
    [
      { adminListen: '127.0.0.1:9465' },
      'adminListen: the admin API is served by the program drawbridge-server only; leave this out.',
    ],
    [
      { adminTokenFile: '/nowhere' },
      'adminTokenFile: the admin API is served by the program drawbridge-server only; leave this out.',
    ],
    [{ upstream: 'ftp://upstream.example/mcp' }, expect.stringMatching(/^upstream: /)],
    [{ upstream: '/nowhere.json' }, expect.stringMatching(/^upstream: file not found: /)],
  ])('createDrawbridge refuses %j', (given, problem) => {
    expect(problemsOf({ ...memory, ...given })).toEqual([problem])
  })

  it('createDrawbridge refuses an upstream that is a command', () => {
    const path = join(temporaryFolder(), 'upstream.json')
    writeFileSync(path, JSON.stringify({ command: 'npx', args: ['-y', 'some-server'] }))
    expect(problemsOf({ ...memory, upstream: path })).toEqual([
      'upstream: the program drawbridge-server alone runs commands; name the URL of an MCP server.',
    ])
  })

  it('createDrawbridge refuses an upstream beside tools', () => {
    expect(
      problemsOf({ ...memory, upstream: 'https://upstream.example/mcp' }, { tools: { tools: [] } }),
    ).toEqual(['upstream: /mcp offers its tools or those of tools, not both. Leave one of them out.'])
  })

  it('createDrawbridge does nothing at an interval with waitUntil but check open streams, and hands it each request', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout'] })
    const works: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    const settings = {
      ...memory,
      provider: 'supabase',
      providerUrl: 'http://localhost:9/auth/v1',
      providerKey: 'sb_publishable_test',
      appUrl: 'http://localhost:9',
      secretKeys: `test:${Buffer.alloc(32).toString('base64')}`,
      log: 'silent',
    }
    const { fetch, upkeep, close } = createDrawbridge(settings, { waitUntil })
    expect(vi.getTimerCount()).toBe(1)
    const answer = fetch(new Request('http://localhost:8787/mcp'))
    // Before the answer: its client may leave first.
    expect(works).toHaveLength(1)
    expect((await answer).status).toBe(401)
    await Promise.all(works)
    await upkeep()
    expect(vi.getTimerCount()).toBe(1)
    await close()
    vi.useRealTimers()
  })

  it('createDrawbridge has written the events of a request to the audit file when its promise settles', async () => {
    const audit = join(temporaryFolder(), 'audit.jsonl')
    const works: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    const { fetch, close } = createDrawbridge({ ...memory, log: 'silent', audit }, { waitUntil })
    expect((await fetch(registration('http://localhost:8787'))).status).toBe(201)
    await Promise.all(works)
    expect(readFileSync(audit, 'utf8')).toContain('"client_registered"')
    await close()
  })

  it('createDrawbridge answers for the host that the client named, where the URL has that of the server', async () => {
    const { fetch, close } = createDrawbridge({ ...memory, baseUrl: 'http://localhost:3000', log: 'silent' })
    const statusFor = async (host: string): Promise<number> =>
      (await fetch(registration('http://127.0.0.1:9999', { host }))).status
    expect(await statusFor('localhost:3000')).toBe(201)
    for (const foreign of ['rebound.example:3000', 'localhost:3001', 'a b', 'localhost:3000/x']) {
      expect(await statusFor(foreign)).toBe(421)
    }
    await close()
  })

  it('createDrawbridge names every field of an unknown name or a wrong type, and every faulty file, at once', () => {
    const folder = temporaryFolder()
    const problems = problemsOf({
      sesionTokens: 'off',
      store: `sqlite:${folder}`,
      clients: join(folder, 'none'),
      secretKeys: 7,
      cookieNam: '',
      provider: true,
    })
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'sesionTokens',
      'cookieNam',
      'provider',
      'secretKeys',
      'store',
      'clients',
    ])
  })

  it('createDrawbridge never repeats a secret that it refuses', () => {
    const given = { ...memory, providerkey: 'hunter2', secretKeys: 'hunter2', providerJwtSecret: ['hunter2'] }
    expect(problemsOf(given)).toHaveLength(3)
    expect(problemsOf(given).join()).not.toContain('hunter2')
  })

  it.each<[config: unknown, options: unknown, problem: RegExp]>([
    [null, {}, /^createDrawbridge: expected an object/],
    ['memory:', {}, /^createDrawbridge: expected an object/],
    [[], {}, /^createDrawbridge: expected an object/],
    [memory, 'tools', /^createDrawbridge: expected an object/],
    [memory, { tool: { tools: [] } }, /^tool: there is no such option\. Did you mean tools\?$/],
    [memory, { tools: './tools.mjs' }, /^tools: expected an object/],
    [memory, { tools: null }, /^tools: expected an object/],
    [memory, { waitUntil: true }, /^waitUntil: expected a function/],
  ])('createDrawbridge refuses (%j, %j)', (config, options, problem) => {
    expect(problemsOf(config, options)).toEqual([expect.stringMatching(problem)])
  })

  it('environmentSettings returns the settings of variables by field, and no empty or other ones', () => {
    const environment = {
      DRAWBRIDGE_BASE_URL: 'http://localhost:3000',
      DRAWBRIDGE_TEXTS: 'fr.json,it.json',
      DRAWBRIDGE_STORE: '',
      DRAWBRIDGE_ACCESS: undefined,
      PATH: '/usr/bin',
      // Of the host server, on Windows perhaps a pipe.
      PORT: '\\\\.\\pipe\\app',
    }
    expect(environmentSettings(environment)).toEqual({
      baseUrl: 'http://localhost:3000',
      texts: 'fr.json,it.json',
    })
  })

  it('environmentSettings refuses a variable of an unknown setting', () => {
    expect(() => environmentSettings({ DRAWBRIDGE_BASEURL: 'http://localhost:3000' })).toThrow(
      'DRAWBRIDGE_BASEURL: there is no such setting. Did you mean DRAWBRIDGE_BASE_URL?',
    )
  })

  it('createDrawbridge takes a field that is undefined as omitted', async () => {
    await createDrawbridge({ ...memory, log: 'silent', sessionTokens: undefined } as object).close()
  })

  it.each(['production', 'Production', 'PRODUCTION', 'prod', ' production '])(
    'createDrawbridge refuses the embedded provider with NODE_ENV=%j',
    (environment) => {
      vi.stubEnv('NODE_ENV', environment)
      expect(problemsOf(memory)).toEqual([expect.stringContaining('NODE_ENV=production')])
      vi.unstubAllEnvs()
    },
  )
})

describe('the client address of requests', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each<
    [
      what: string,
      given: { settings?: object; peer?: object },
      registered: [forwardedFor: string | undefined, count: number][],
      warnings?: number,
    ]
  >([
    [
      'limits each address that it is given, and believes no header',
      { peer: { address: '192.0.2.1' } },
      [
        ['203.0.113.9', 3],
        ['198.51.100.8', 0],
      ],
    ],
    [
      'reads X-Forwarded-For behind a proxy that it is told to trust',
      { settings: { trustedProxies: '127.0.0.1' }, peer: { address: '127.0.0.1' } },
      [
        ['203.0.113.9', 3],
        ['198.51.100.8', 3],
        ['192.0.2.1, 198.51.100.8', 0],
      ],
    ],
    [
      'takes the word of such a proxy also when it is given no address',
      { settings: { trustedProxies: '10.0.0.0/8' } },
      [
        ['203.0.113.9', 3],
        ['198.51.100.8', 3],
      ],
    ],
    [
      'takes the word of such a proxy also when private says who is trusted',
      { settings: { trustedProxies: 'private' } },
      [
        ['203.0.113.9', 3],
        ['198.51.100.8, 10.1.2.3', 3],
        ['192.0.2.1, 198.51.100.8', 0],
      ],
    ],
    [
      'takes the word of such a proxy also when private stands behind a single address',
      { settings: { trustedProxies: '192.0.2.77, private' } },
      [
        ['203.0.113.9', 3],
        ['198.51.100.8, 10.1.2.3, 192.0.2.77', 3],
      ],
    ],
    ['warns once when it is given no address, and limits nothing', {}, [['203.0.113.9', 10]], 1],
    [
      'warns once when it is given the environment that servers hand to a fetch function',
      { peer: { incoming: { socket: { remoteAddress: '192.0.2.1' } } } },
      [[undefined, 10]],
      1,
    ],
  ])('%s', async (_what, { settings, peer }, registered, warnings = 0) => {
    const log: string[] = []
    vi.spyOn(pino, 'destination').mockReturnValue({ write: (line: string) => log.push(line) } as never)
    const { fetch, close } = createDrawbridge({ ...memory, registrationLimit: '3', ...settings })
    for (const [forwardedFor, expected] of registered) {
      const statuses: number[] = []
      while (statuses.length < 10) {
        const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
        const request = registration('http://localhost:8787', headers)
        statuses.push((await fetch(request, peer)).status)
      }
      expect(statuses.filter((status) => status === 201)).toHaveLength(expected)
    }
    expect(log.filter((line) => line.includes('"address_unknown"'))).toHaveLength(warnings)
    await close()
  })
})

/** The problems of the ConfigError that the arguments of a program without types get. */
function problemsOf(...given: unknown[]): readonly string[] {
  try {
    void Reflect.apply(createDrawbridge, undefined, given).close()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

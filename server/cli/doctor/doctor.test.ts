import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { createCommandFixture } from '../../../tests/support/server/command-fixture.ts'
import { startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { exitCode } from '../command.ts'
import { doctor } from './doctor.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

/** What doctor says about `settings`; `fetch` is the network. */
async function examine(
  settings: Readonly<Record<string, string>>,
  fetch: (request: Request) => Promise<Response> = refuseConnection,
): Promise<{ code: number; text: string; ok: unknown; checks: Finding[]; settings: Record<string, string> }> {
  const runtime = { ...createFakeRuntime(), fetch }
  const [plain, json] = [false, true].map((isJson) =>
    createCommandFixture({ STORE: `sqlite:${folder}/server.db`, ...settings }, { json: isJson, runtime }),
  )
  if (!plain || !json) throw new Error('There are two.')
  const code = await doctor(plain.input)
  expect(await doctor(json.input)).toBe(code)
  const facts = json.facts() as unknown as {
    ok: boolean
    checks: Finding[]
    settings: Record<string, string>
  }
  return { code, text: plain.said().stdout, ...facts }
}

const refuseConnection = (): Promise<Response> =>
  Promise.reject(
    new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }),
  )

const supabase = {
  BASE_URL: 'https://mcp.example.com',
  APP_URL: 'https://app.example.com',
  PROVIDER: 'supabase',
  PROVIDER_URL: 'https://ref.supabase.co/auth/v1',
  PROVIDER_KEY: 'sb_publishable_material',
  SECRET_KEYS: `a:${Buffer.alloc(32, 'secret').toString('base64')}`,
}

/** A Supabase project, and a server at BASE_URL. */
async function project(request: Request): Promise<Response> {
  const { hostname, pathname } = new URL(request.url)
  if (hostname === 'mcp.example.com') return ownServer(request)
  switch (pathname) {
    case '/auth/v1/settings':
      return Response.json({ external: { email: true, google: true }, mailer_autoconfirm: false })
    case '/auth/v1/.well-known/jwks.json':
      return Response.json({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'k' }] })
    default:
      return new Response('', { status: 404 })
  }
}

function ownServer(request: Request): Response {
  const base = 'https://mcp.example.com'
  if (request.method === 'POST') {
    const error = request.headers.has('authorization') ? ', error="invalid_token"' : ''
    const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"${error}`
    const exposed = 'WWW-Authenticate, MCP-Protocol-Version, Mcp-Session-Id'
    const headers = { 'www-authenticate': challenge, 'access-control-expose-headers': exposed }
    return new Response('', { status: 401, headers })
  }
  if (request.url === `${base}/mcp/stream-check`) return new Response(ReadableStream.from(twoEvents()))
  return Response.json({ issuer: base, resource: `${base}/mcp` })
}

async function* twoEvents(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('data: 1\n\n')
  await delay(400)
  yield new TextEncoder().encode('data: 2\n\n')
}

it('doctor reports a sound configuration in a fixed order, with notes on facts that no program can see', async () => {
  const { code, ok, checks, text } = await examine(supabase, project)
  expect(checks.map(({ name, state }) => `${state} ${name}`)).toEqual([
    'ok configuration',
    'note tools',
    'ok key-ring',
    'ok store',
    'ok transport',
    'warn trusted-proxies',
    'ok base-url',
    'ok public-port',
    'ok challenge',
    'ok answers-programs',
    'ok keeps-headers',
    'ok no-buffering',
    'ok exact-paths',
    'ok provider',
    'ok sign-in-methods',
    'warn issuer',
    'ok signing-keys',
    'note redirect-url',
    'ok cookie-name',
    'note cookie-reach',
  ])
  expect([code, ok]).toEqual([exitCode.ok, true])
  expect(text).toContain('\n15 ok, 3 notes to check yourself, 2 warnings, 0 failed.')
})

it('doctor continues after a failed check, and ends with the next step', async () => {
  const { code, ok, checks, text } = await examine({ ...supabase, SECRET_KEYS: 'file:/none' })
  const failed = checks.filter(({ state }) => state === 'fail')
  expect(failed.map(({ name }) => name)).toEqual(['key-ring', 'provider'])
  expect(failed.every(({ fix }) => fix !== undefined)).toBe(true)
  expect([code, ok]).toEqual([exitCode.failed, false])
  expect(checks.at(-1)?.name).toBe('cookie-reach')
  expect(text.trim().split('\n').at(-1)).toContain('run doctor again')
})

it('doctor prints one line for each check, with its fix below', async () => {
  const { text, checks } = await examine(supabase, project)
  for (const { name, state, message, fix } of checks) {
    const line = `${state.padEnd(4)}  ${name.padEnd(18)}  ${message}\n`
    expect(text).toContain(line)
    if (fix !== undefined) expect(text).toContain(`\n                          -> ${fix}\n`)
  }
})

it('doctor changes nothing', async () => {
  await examine({})
  expect(readdirSync(folder)).toEqual([])
})

it('doctor reports every fault of the configuration, and where settings came from', async () => {
  const { code, checks, settings } = await examine({ LISTEN: 'nowhere', LOG: 'verbose' })
  expect(code).toBe(exitCode.failed)
  const faults = checks.filter(({ name }) => name === 'configuration')
  expect(faults.map(({ message }) => message)).toEqual([
    expect.stringContaining('DRAWBRIDGE_LISTEN: expected'),
    expect.stringContaining('DRAWBRIDGE_LOG: expected'),
  ])
  expect(checks.at(-1)).toMatchObject({ name: 'everything-else', state: 'warn' })
  expect(settings).toMatchObject({
    listen: 'variable',
    log: 'variable',
    store: 'variable',
  })
  expect(settings).not.toHaveProperty('baseUrl')
})

it('doctor prints no secret, whatever the fault', async () => {
  writeFileSync(join(folder, 'ring'), 'a:bWF0ZXJpYWwtdGhhdC1pcy1zZWNyZXQ', { mode: 0o600 })
  const secrets = {
    PROVIDER_KEY: 'sb_publishable_material',
    PROVIDER_JWT_SECRET: 'jwt-material-that-nobody-may-see',
    STORE: 'postgres://user:password-material@127.0.0.1:1/db',
    SECRET_KEYS: `file:${folder}/ring`,
  }
  const { text, checks } = await examine({ ...supabase, ...secrets })
  expect(checks.filter(({ state }) => state === 'fail').map(({ name }) => name)).toContain('store')
  expect(text + JSON.stringify(checks)).not.toMatch(/material|bWF0ZXJpYWw/)
})

it('doctor reads the embedded provider from the running server', async () => {
  const sleep = (ms: number): Promise<void> => delay(ms)
  const server = await startDrawbridge({}, { ...createFakeRuntime(), sleep })
  const fetch = (request: Request): Promise<Response> =>
    new URL(request.url).port === '8788'
      ? (server.app.sandbox?.fetch(request) ?? refuseConnection())
      : server.app.fetch(request)
  const { code, checks } = await examine({}, fetch)
  await server.close()
  expect(checks.filter(({ state }) => state !== 'ok').map(({ name }) => name)).toEqual([])
  expect(code).toBe(exitCode.ok)
})

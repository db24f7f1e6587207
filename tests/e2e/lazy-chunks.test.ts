import { spawn, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const built = fileURLToPath(new URL('../../server/dist', import.meta.url))
const folder = temporaryFolder(afterAll)
beforeAll(() => {
  cpSync(built, folder, { recursive: true })
  const unused = [
    'sandbox',
    'doctor',
    'migrate',
    'operation-command',
    'audit-lines',
    'open-admin',
    'open-telemetry',
  ]
  for (const chunk of unused) remove(folder, (name) => name.startsWith(`${chunk}-`))
})

function remove(from: string, which: (name: string) => boolean): void {
  const chunks = readdirSync(from).filter((name) => name.endsWith('.mjs') && which(name))
  expect(chunks).not.toEqual([])
  for (const chunk of chunks) rmSync(join(from, chunk))
}

/** Starts the bundle without these chunks; returns its first output, or all of it if it ends. */
async function start(settings: Record<string, string>): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [join(folder, 'main.mjs')], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      DRAWBRIDGE_BASE_URL: `http://localhost:${port}`,
      DRAWBRIDGE_LISTEN: `127.0.0.1:${port}`,
      DRAWBRIDGE_STORE: 'memory:',
      ...settings,
    },
  })
  return new Promise((resolve) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      child.kill('SIGINT')
    })
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.on('close', () => resolve(text))
  })
}

const outside = {
  NODE_ENV: 'production',
  DRAWBRIDGE_APP_URL: 'https://app.example.com',
  DRAWBRIDGE_SECRET_KEYS: `a:${'A'.repeat(43)}`,
}

it.each([
  ['supabase', { DRAWBRIDGE_PROVIDER_URL: 'https://auth.example.com/auth/v1', DRAWBRIDGE_PROVIDER_KEY: 'k' }],
  ['oidc', { DRAWBRIDGE_PROVIDER_URL: 'https://auth.example.com', DRAWBRIDGE_PROVIDER_CLIENT_ID: 'c' }],
])(
  'PROVIDER=%s serves without the chunks of the sandbox and of other commands',
  async (provider, settings) => {
    expect(await start({ ...outside, ...settings, DRAWBRIDGE_PROVIDER: provider })).toContain('is ready.')
  },
)

it('the embedded provider loads the chunk of the sandbox', async () => {
  const text = await start({ DRAWBRIDGE_APP_URL: 'http://localhost:1' })
  expect(text).toMatch(/Cannot find module .*sandbox-/)
  expect(text).not.toContain('is ready.')
})

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }

it('OTEL_EXPORTER_OTLP_ENDPOINT alone loads OpenTelemetry', async () => {
  const settings = {
    DRAWBRIDGE_PROVIDER_URL: 'https://auth.example.com/auth/v1',
    DRAWBRIDGE_PROVIDER_KEY: 'k',
  }
  const given = { ...outside, ...settings, DRAWBRIDGE_PROVIDER: 'supabase', ...collector }
  const missing = /Cannot find module .*open-telemetry-/
  expect(await start(given)).toMatch(missing)
  expect(await start({ ...given, OTEL_SDK_DISABLED: 'true' })).not.toMatch(missing)
})

it('a gateway in front of an HTTP server runs without the MCP SDK', async () => {
  const textOfSdk = 'Server does not support tools'
  remove(folder, (name) => readFileSync(join(folder, name), 'utf8').includes(textOfSdk))
  const provider = { DRAWBRIDGE_PROVIDER: 'oidc', DRAWBRIDGE_PROVIDER_CLIENT_ID: 'c' }
  const given = { ...outside, ...provider, DRAWBRIDGE_PROVIDER_URL: 'https://auth.example.com' }
  expect(await start({ ...given, DRAWBRIDGE_UPSTREAM: 'http://127.0.0.1:1/mcp' })).toContain('is ready.')
  expect(await start(given)).toMatch(/Cannot find module/)
})

it('the commands of operators run without the chunk that serving adds', () => {
  const copy = temporaryFolder()
  cpSync(built, copy, { recursive: true })
  remove(copy, (name) => name.startsWith('serve-'))
  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [join(copy, 'main.mjs'), ...argv], { cwd: copy, encoding: 'utf8' })
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('attempts [options]') })
  expect(run('keys', 'generate')).toMatchObject({ status: 0, stderr: '' })
  expect(run('serve').stderr).toMatch(/Cannot find module .*serve-/)
})

import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-chunks-'))
  cpSync(fileURLToPath(new URL('../../server/dist', import.meta.url)), folder, { recursive: true })
  const chunks = readdirSync(folder).filter((name) => name.startsWith('sandbox-'))
  expect(chunks).toHaveLength(1)
  for (const chunk of chunks) rmSync(join(folder, chunk))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Starts the bundle without its sandbox chunk; returns its first output, or all of it if it ends. */
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
])('PROVIDER=%s serves without the chunk of the sandbox', async (provider, settings) => {
  expect(await start({ ...outside, ...settings, DRAWBRIDGE_PROVIDER: provider })).toContain('is ready.')
})

it('the embedded provider loads it', async () => {
  const text = await start({ DRAWBRIDGE_APP_URL: 'http://localhost:1' })
  expect(text).toMatch(/Cannot find module .*sandbox-/)
  expect(text).not.toContain('is ready.')
})

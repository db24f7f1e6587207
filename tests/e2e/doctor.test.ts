import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from './command-process.ts'
import { type ServerProcess, type ServerSettings, startServer } from './server-process.ts'

interface Facts {
  ok: boolean
  checks: { name: string; state: string; message: string; fix?: string }[]
}

let server: ServerProcess
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.close())

async function doctor(
  options: { settings?: ServerSettings; input?: string; argv?: readonly string[] } = {},
): Promise<Facts & { code: number | null; said: string; state: (name: string) => string | undefined }> {
  const end = await runCommand(server, ['doctor', '--json', ...(options.argv ?? [])], options)
  const facts = JSON.parse(end.stdout) as Facts
  return {
    ...facts,
    code: end.code,
    said: end.stdout + end.stderr,
    state: (name) => facts.checks.find((check) => check.name === name)?.state,
  }
}

describe('doctor', () => {
  it('beside a running server finds everything in order', async () => {
    const { code, ok, checks, state } = await doctor()
    expect(checks.filter((check) => check.state !== 'ok').map(({ name }) => name)).toEqual([
      'embedded-provider',
    ])
    expect([code, ok, state('base-url'), state('provider')]).toEqual([0, true, 'ok', 'ok'])
    expect(checks.find(({ name }) => name === 'store')?.message).toContain('a server is running')
  })

  it('judges the same provider as any other Supabase Auth', async () => {
    const settings = {
      PROVIDER: 'supabase',
      PROVIDER_URL: `${server.appUrl}/auth/v1`,
      STORE: 'sqlite:elsewhere/server.db',
      SECRET_KEYS: `k:${Buffer.alloc(32, 'k').toString('base64')}`,
    }
    const { code, state } = await doctor({ settings })
    expect([code, state('provider'), state('signing-keys'), state('issuer')]).toEqual([0, 'ok', 'ok', 'ok'])
    const wrong = await doctor({ settings: { ...settings, PROVIDER_URL: server.appUrl } })
    expect([wrong.code, wrong.ok, wrong.state('provider')]).toEqual([1, false, 'fail'])
  })
})

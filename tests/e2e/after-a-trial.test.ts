import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommand } from './command-process.ts'
import { createPerson } from './person.ts'
import {
  callTool,
  createPlainClient,
  registerPlainClient,
  statusOfCall,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, type ServerSettings, startServer } from './server-process.ts'

// The folder of a trial, in which the operator then starts the server of the real provider. An embedded provider plays that one.
let trial: ServerProcess
let provider: ServerProcess
let tokens: Tokens
const servers: ServerProcess[] = []

beforeAll(async () => {
  trial = await startServer()
  provider = await startServer()
  servers.push(trial, provider)
  const client = await createPlainClient(trial, await registerPlainClient(trial))
  tokens = await client.connect(await createPerson(trial))
  expect(await statusOfCall(trial, tokens.access_token)).toBe(200)
  await trial.kill('SIGTERM')
})
afterAll(async () => {
  for (const server of servers) await server.close()
})

const realSettings = (): ServerSettings => ({
  // The address of the trial, for which its tokens are good.
  BASE_URL: trial.baseUrl,
  LISTEN: `127.0.0.1:${new URL(trial.baseUrl).port}`,
  PROVIDER: 'supabase',
  PROVIDER_URL: `${provider.appUrl}/auth/v1`,
  APP_URL: provider.appUrl,
  SECRET_KEYS: `real:${Buffer.alloc(32, 'key of the real server').toString('base64')}`,
})

/** Starts the server of the real provider with what the trial has left in its folder. */
async function startReal(more: ServerSettings = {}): Promise<ServerProcess> {
  const real = await startServer({ ...realSettings(), ...more })
  servers.push(real)
  await real.kill('SIGTERM')
  cpSync(join(trial.directory, '.drawbridge'), join(real.directory, '.drawbridge'), { recursive: true })
  await real.start()
  return real
}

it('a client of the trial gets 401 from the real server, is unknown there, and signs in again', async () => {
  const real = await startReal()
  expect(await statusOfCall(real, tokens.access_token)).toBe(401)
  const refused = await real.fetch(`${real.baseUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      client_id: 'of-the-trial',
    }),
  })
  expect([refused.status, await refused.json()]).toEqual([
    401,
    expect.objectContaining({ error: 'invalid_client' }),
  ])
  const person = await createPerson(real)
  const anew = await (await createPlainClient(real, await registerPlainClient(real))).connect(person)
  expect(await callTool(real, anew.access_token, 'whoami')).toContain(person.email)
  await real.kill('SIGTERM')
})

it('a store given to both the trial and the real server holds sessions that no key opens: 503, and log and doctor say what to do', async () => {
  const store = { STORE: 'sqlite:.drawbridge/trial.db' }
  const real = await startReal(store)
  expect(await statusOfCall(real, tokens.access_token)).toBe(503)
  expect(await real.waitForEvent('provider_session_unreadable')).toMatchObject({
    next_step: expect.stringMatching(/If it was the key of a trial, set STORE to a new store/),
  })
  const { stdout } = await runCommand(real, ['doctor'], { settings: { ...realSettings(), ...store } })
  expect(stdout).toMatch(
    /fail {2}sealing-keys .*`generated`.*\n +-> They are from a trial in this store\. Set DRAWBRIDGE_STORE/,
  )
})

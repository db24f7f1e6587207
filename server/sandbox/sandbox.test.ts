import { afterEach, expect, it } from 'vitest'
import { createFakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'

const appUrl = 'http://localhost:8788'

let sandbox: Sandbox
afterEach(() => sandbox.close())

function open(): Sandbox {
  const config = {
    appUrl,
    providerUrl: `${appUrl}/auth/v1`,
    baseUrl: 'http://localhost:8787',
    cookieName: 'sb-localhost-auth-token',
    tokenTtlSeconds: 3600,
    database: ':memory:',
  }
  return (sandbox = createSandbox(config, createFakeRuntime()))
}

const statusOf = async (path: string, origin = appUrl): Promise<number> =>
  (await open().fetch(new Request(origin + path))).status

it.each([
  ['/', 200],
  ['/auth/v1/settings', 200],
  ['/google/authorize', 200],
  ['/company/authorize', 200],
  ['/auth/v10', 404],
])('the sandbox answers GET %s with %i', async (path, status) => {
  expect(await statusOf(path)).toBe(status)
})

it.each(['http://evil.example:8788', 'http://localhost.evil.example:8788', 'http://localhost:9999'])(
  'the sandbox serves no request for %s, to which a rebound name could lead',
  async (origin) => {
    expect(await statusOf('/mail', origin)).toBe(421)
  },
)

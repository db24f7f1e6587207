import { afterEach, describe, expect, it } from 'vitest'
import { startTcpProxy } from '../support/server/tcp-proxy.ts'
import { startAuthServer } from './auth-server.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})
const closeLater = <Opened extends { close(): Promise<unknown> }>(given: Opened): Opened => {
  opened.push(() => given.close())
  return given
}

/** Returns the provider's state in `/readyz`, with its status. */
async function readiness(server: ServerProcess): Promise<[status: number, provider: unknown]> {
  const response = await server.fetch(`${server.baseUrl}/readyz`)
  const { checks } = (await response.json()) as { checks: Record<string, unknown> }
  return [response.status, checks['provider']]
}

async function becomes(server: ServerProcess, wanted: number): Promise<number> {
  const startedAt = Date.now()
  await until(async () => (await readiness(server))[0] === wanted, `${wanted} from /readyz`)
  return Date.now() - startedAt
}

describe('/readyz of a server in front of Supabase Auth', () => {
  it('is 503 within seconds after the process of the provider was killed, and 200 again once it is back', async () => {
    const provider = closeLater(await startServer())
    const settings = { PROVIDER: 'supabase', PROVIDER_URL: `${provider.appUrl}/auth/v1` }
    const server = closeLater(
      await startServer({ ...settings, APP_URL: provider.appUrl, SECRET_KEYS: `a:${'a'.repeat(43)}=` }),
    )
    await becomes(server, 200)
    await provider.kill('SIGKILL')
    expect(await becomes(server, 503)).toBeLessThan(8000)
    expect(await readiness(server)).toEqual([503, 'failed'])
    await provider.start()
    expect(await becomes(server, 200)).toBeLessThan(8000)
  })

  it('is 503 within ten seconds after the provider hangs, and 200 again once it answers', async () => {
    const auth = closeLater(await startAuthServer())
    const wire = closeLater(await startTcpProxy(Number(new URL(auth.url).port)))
    const PROVIDER_URL = `http://127.0.0.1:${wire.port}/auth/v1`
    const server = closeLater(await startServer({ ...auth.settings, PROVIDER_URL }))
    await becomes(server, 200)
    wire.freeze()
    const hangs = await becomes(server, 503)
    expect(hangs).toBeGreaterThan(4000)
    expect(hangs).toBeLessThan(14_000)
    wire.thaw()
    await becomes(server, 200)
  }, 60_000)
})

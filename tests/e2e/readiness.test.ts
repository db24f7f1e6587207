import { afterEach, expect, it } from 'vitest'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const opened: ServerProcess[] = []
afterEach(async () => {
  for (const server of opened.splice(0).toReversed()) await server.close()
})

async function open(settings: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServer(settings)
  opened.push(server)
  return server
}

it('/readyz is 503 within seconds after the process of the provider was killed, and 200 again once it is back', async () => {
  const provider = await open()
  const server = await open({
    PROVIDER: 'supabase',
    PROVIDER_URL: `${provider.appUrl}/auth/v1`,
    APP_URL: provider.appUrl,
    SECRET_KEYS: `a:${'a'.repeat(43)}=`,
  })
  const becomes = async (wanted: number, state: string): Promise<void> => {
    const ready = async (): Promise<unknown> => {
      const response = await server.fetch(`${server.baseUrl}/readyz`)
      const { checks } = (await response.json()) as { checks: Record<string, unknown> }
      return [response.status, checks['provider']]
    }
    const before = Date.now()
    await until(async () => JSON.stringify(await ready()) === JSON.stringify([wanted, state]), `${wanted}`)
    expect(Date.now() - before).toBeLessThan(8000)
  }
  await becomes(200, 'ok')
  await provider.kill('SIGKILL')
  await becomes(503, 'failed')
  await provider.start()
  await becomes(200, 'ok')
})

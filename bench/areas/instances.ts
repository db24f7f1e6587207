import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { startPostgres } from '../../tests/support/server/postgres-server.ts'
import type { Bench } from '../bench.ts'
import { contest } from '../contest.ts'
import { connect, createSite, startSite, unlimited } from '../drawbridge.ts'
import { atLeast, atMost, type Figure, listed, reported } from '../figure.ts'
import { repeating } from '../load.ts'
import { callRequest } from '../requests.ts'

/** The processors that two instances, Postgres and the load need to run beside each other. */
const processorsOfTwo = 6

/** Measures calls at one instance and at two that share a Postgres. */
export async function measureInstances(bench: Bench): Promise<Figure[]> {
  const postgres = await startPostgres({ durable: true })
  bench.endings.push(() => postgres.close())
  const provider = await createSite(bench, 'instances-provider')
  await startSite(bench, provider)
  const settings = {
    ...unlimited,
    PROVIDER: 'supabase',
    PROVIDER_URL: `${provider.appUrl}/auth/v1`,
    PROVIDER_KEY: 'sb_publishable_bench',
    SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    STORE: await postgres.createDatabase(),
  }
  const one = { ...(await createSite(bench, 'instance-1')), appUrl: provider.appUrl }
  const two = { ...one, ...(await createSite(bench, 'instance-2')) }
  const { baseUrl, appUrl } = one
  const first = await startSite(bench, one, { settings })
  const second = await startSite(bench, { ...two, baseUrl, appUrl }, { settings })
  const walkers = repeating(bench.connections, callRequest(one.mcpUrl, await connect(one)))
  const { rate, cpu } = await contest(bench.plan, [
    { name: 'one', cpuMs: first.cpuMs, ports: [one.port], walkers },
    // Alone too, so that its code is compiled as far as that of the first.
    { name: 'the other', cpuMs: second.cpuMs, ports: [two.port], walkers },
    { name: 'two', cpuMs: () => first.cpuMs() + second.cpuMs(), ports: [one.port, two.port], walkers },
  ])
  const title = 'calls at two instances, times one'
  const ratio = rate.ratio('two', 'one')
  return [
    availableParallelism() < processorsOfTwo
      ? reported(`${title} (a bar from six processors on)`, ratio, 'x')
      : atLeast(1.7, title, ratio, 'x'),
    atMost(1.1, 'CPU of a call at two instances, times one', cpu.ratio('two', 'one'), 'x'),
    ...listed(rate, 'calls', '/s', ['two', 'one']),
  ]
}

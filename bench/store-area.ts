import { type Bench, refreshedGrants, refreshTokenLife, startFilledDrawbridge } from './bench.ts'
import { compete, type Summary } from './contest.ts'
import { atMost, type BarredFigure, reported } from './figure.ts'
import { openLoad } from './load.ts'
import { refreshTarget } from './refresh-area.ts'
import { filledRefreshToken } from './store-fill.ts'
import { createRefreshWalker } from './walkers.ts'

/** Measures a refresh with few and with many live grants in the store. */
export async function measureStore(bench: Bench): Promise<BarredFigure[]> {
  const stores = []
  for (const grants of bench.storeSizes) {
    const name = `${grants.toLocaleString('en')} grants`
    bench.say(`filling a store with ${name}`)
    stores.push({
      name,
      grants,
      ...(await startFilledDrawbridge(bench, `store-${grants}`, grants, refreshTokenLife)),
    })
  }
  const contenders = []
  // Only now: filling takes longer than a server keeps an idle connection.
  for (const { name, grants, site, child, connected, fillSeconds } of stores) {
    const target = refreshTarget(site, connected.clientId)
    const seen = new Set<string>()
    const walkers = Array.from({ length: bench.connections }, (_, connection) =>
      createRefreshWalker(target, spreadTokens(connection, bench.connections, grants), seen),
    )
    contenders.push({ name, child, load: await openLoad(site.port, walkers), fillSeconds })
  }
  const summaries = await compete(contenders, bench.plan)
  const measured = []
  for (const { name, load, child, fillSeconds } of contenders) {
    const summary = summaries.get(name)
    if (!summary) throw new Error(`${name} were not measured.`)
    measured.push({ name, summary, fillSeconds, megabytes: child.memoryBytes() / 1024 ** 2 })
    load.close()
    await child.stop()
  }
  return storeFigures(measured)
}

interface MeasuredStore {
  name: string
  summary: Summary
  fillSeconds: number
  megabytes: number
}

function storeFigures(measured: readonly MeasuredStore[]): BarredFigure[] {
  const [small, large] = measured
  if (!small || !large) throw new Error('Two stores are compared.')
  const area = 'store'
  return [
    atMost(1.3, {
      area,
      name: `CPU per refresh, ${large.name} to ${small.name}`,
      value: large.summary.cpuMicroseconds / small.summary.cpuMicroseconds,
      unit: 'x',
    }),
    ...measured.flatMap(({ name, summary, fillSeconds, megabytes }) => [
      reported({ area, name: `CPU per refresh, ${name}`, value: summary.cpuMicroseconds, unit: 'us' }),
      reported({ area, name: `refreshes, best round, ${name}`, value: summary.bestPerSecond, unit: '/s' }),
      reported({ area, name: `latency p99, ${name}`, value: summary.p99Milliseconds, unit: 'ms' }),
      reported({ area, name: `memory under load, ${name}`, value: megabytes, unit: 'MB' }),
      reported({ area, name: `filling the store, ${name}`, value: fillSeconds, unit: 's' }),
    ]),
    atMost(0, { area, name: 'errors', value: small.summary.errors + large.summary.errors, unit: '' }),
  ]
}

/** Returns refresh tokens for one of `connections`, spread over a store of `grants` and not shared with another. */
function spreadTokens(connection: number, connections: number, grants: number): string[] {
  const chains = Math.max(1, Math.floor(Math.min(refreshedGrants, grants) / connections))
  return Array.from({ length: chains }, (_, chain) =>
    filledRefreshToken(Math.floor(((chain * connections + connection) / (chains * connections)) * grants)),
  )
}

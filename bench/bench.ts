import { join } from 'node:path'
import type { Child } from './child.ts'
import type { Plan, Summary } from './contest.ts'
import {
  connect,
  type Connected,
  createSite,
  databaseOf,
  type DrawbridgeOptions,
  type DrawbridgeSite,
  startDrawbridge,
} from './drawbridge.ts'
import { type BarredFigure, atLeast, atMost, reported } from './figure.ts'
import type { RivalSite } from './rival.ts'
import { fillStore } from './store-fill.ts'

/** Settings of one run of the bench. */
export interface Bench extends RivalSite {
  /** The script that starts the built server. */
  launcher: string
  /** The script that starts the built bridge. */
  bridgeLauncher: string
  plan: Plan
  /** Number of grants in the small and in the large store. */
  storeSizes: readonly [small: number, large: number]
  startRounds: number
  /** Duration of the flood of bad requests. */
  floodSeconds: number
}

/** A running Drawbridge and the first connection in its store. */
export interface RunningDrawbridge {
  site: DrawbridgeSite
  child: Child
  connected: Connected
}

/**
 * Grants that are refreshed in turn, and an access token lifetime with which each may be refreshed 15 times a second:
 * no worker comes near the refresh limit of one grant.
 */
export const refreshedGrants = 1000
export const refreshTokenLife: DrawbridgeOptions = { accessTokenTtl: '2s' }

/** Starts Drawbridge with `grants` grants in addition to the signed-in one. All its files are below `name`. */
export async function startFilledDrawbridge(
  bench: Bench,
  name: string,
  grants: number,
  options: DrawbridgeOptions & { prepare?: (site: DrawbridgeSite) => void } = {},
): Promise<RunningDrawbridge & { fillSeconds: number }> {
  const site = await createSite(bench.launcher, join(bench.scratch, name))
  const first = await startDrawbridge(site)
  const connected = await connect(site)
  await first.stop()
  options.prepare?.(site)
  const fillSeconds = grants === 0 ? 0 : fillStore(databaseOf(site), grants)
  return { site, child: await startDrawbridge(site, options), connected, fillSeconds }
}

/** Required answers per second and maximum microseconds of processor time per answer in an area. */
export interface Bars {
  perSecond: number
  cpuMicroseconds: number | undefined
}

/** Returns the figures of Drawbridge in `area`, next to those of its peers from the same rounds. */
export function contestFigures(
  area: string,
  summaries: ReadonlyMap<string, Summary>,
  bars: Bars,
): BarredFigure[] {
  const ours = summaries.get('Drawbridge')
  if (!ours) throw new Error(`${area} was not measured.`)
  const others = [...summaries].filter(([name]) => name !== 'Drawbridge')
  const cpu = { area, name: 'CPU per request', value: ours.cpuMicroseconds, unit: 'us' }
  const beside = (name: string, unit: string, pick: (summary: Summary) => number): BarredFigure[] =>
    others.map(([peer, summary]) =>
      reported({
        area,
        name: `${name}, ${peer}`,
        value: pick(summary),
        unit,
        peer,
        ratio: pick(ours) / pick(summary),
      }),
    )
  return [
    atLeast(bars.perSecond, { area, name: 'requests, best round', value: ours.bestPerSecond, unit: '/s' }),
    reported({ area, name: 'requests, median round', value: ours.medianPerSecond, unit: '/s' }),
    ...beside('requests, best round', '/s', ({ bestPerSecond }) => bestPerSecond),
    bars.cpuMicroseconds === undefined ? reported(cpu) : atMost(bars.cpuMicroseconds, cpu),
    ...beside('CPU per request', 'us', ({ cpuMicroseconds }) => cpuMicroseconds),
    reported({ area, name: 'latency p50', value: ours.p50Milliseconds, unit: 'ms' }),
    reported({ area, name: 'latency p99', value: ours.p99Milliseconds, unit: 'ms' }),
    reported({ area, name: 'CPU of the load generator', value: ours.generatorMicroseconds, unit: 'us' }),
    atMost(0, {
      area,
      name: 'errors, all systems',
      value: [...summaries.values()].reduce((sum, { errors }) => sum + errors, 0),
      unit: '',
    }),
  ]
}

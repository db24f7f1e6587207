import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from './child.ts'
import type { Plan, Summary } from './contest.ts'
import {
  connect,
  type Connected,
  createSite,
  databaseOf,
  type DrawbridgeSite,
  startDrawbridge,
} from './drawbridge.ts'
import { type BarredFigure, atLeast, atMost, reported } from './figure.ts'
import { fillStore } from './store-fill.ts'

/** How one run of the bench measures. */
export interface Bench {
  /** The script that starts the built server. */
  launcher: string
  /** An empty folder on a real disk: what is written there is flushed. */
  scratch: string
  plan: Plan
  /** Connections that are open at once. */
  connections: number
  /** Grants in the small and in the large store. */
  storeSizes: readonly [small: number, large: number]
  startRounds: number
  /** Tells the person who waits what is being done. */
  say(text: string): void
}

/** A running Drawbridge and the connection that its store began with. */
export interface RunningDrawbridge {
  site: DrawbridgeSite
  child: Child
  connected: Connected
}

/** A running floor or peer: it says what it has in its ready line. */
export interface RunningRival {
  child: Child
  port: number
  host: string
  refreshTokens: readonly string[]
  clientId: string
  accessToken: string
}

/** Name of the peer in tables and figures. */
export const peerName = 'oidc-provider 9.13.3, in memory'

/** Name of the floor in tables and figures. */
export const floorName = 'node:http floor'

/** Starts Drawbridge with `grants` more grants than the one that signed in. Everything of it is below `name`. */
export async function startFilledDrawbridge(
  bench: Bench,
  name: string,
  grants: number,
): Promise<RunningDrawbridge & { fillSeconds: number }> {
  const site = await createSite(bench.launcher, join(bench.scratch, name))
  const first = await startDrawbridge(site)
  const connected = await connect(site)
  await first.stop()
  const fillSeconds = grants === 0 ? 0 : fillStore(databaseOf(site), grants)
  return { site, child: await startDrawbridge(site), connected, fillSeconds }
}

/** Starts the floor; `samples` are answers of Drawbridge that it repeats. */
export function startFloor(
  bench: Bench,
  samples: { metadata?: string; toolsList?: string } = {},
): Promise<RunningRival> {
  return startRival(bench, floorName, 'raw-server.ts', {
    ...(samples.metadata !== undefined && { BENCH_METADATA: samples.metadata }),
    ...(samples.toolsList !== undefined && { BENCH_TOOLS_LIST: samples.toolsList }),
  })
}

/** Starts the peer. */
export function startPeer(bench: Bench): Promise<RunningRival> {
  return startRival(bench, peerName, 'oidc-server.ts', {})
}

async function startRival(
  bench: Bench,
  name: string,
  script: string,
  environment: Readonly<Record<string, string>>,
): Promise<RunningRival> {
  const child = await startChild({
    name,
    script: fileURLToPath(new URL(script, import.meta.url)),
    argv: [String(bench.connections)],
    directory: bench.scratch,
    environment,
    logFile: join(bench.scratch, `${script}.log`),
  })
  const ready = child.ready as {
    port: number
    clientId?: string
    refreshTokens: string[]
    accessToken?: string
  }
  return {
    child,
    port: ready.port,
    host: `localhost:${ready.port}`,
    refreshTokens: ready.refreshTokens,
    clientId: ready.clientId ?? '',
    accessToken: ready.accessToken ?? '',
  }
}

/** What an area is held against: answers per second and microseconds of processor time for each. */
export interface Bars {
  perSecond: number
  cpuMicroseconds: number | undefined
}

/** The figures of Drawbridge in `area`, beside those of the others that were loaded in the same rounds. */
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

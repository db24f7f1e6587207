import { join } from 'node:path'
import type { Child } from './child.ts'
import type { Plan, Results } from './contest.ts'
import {
  connect,
  type Connected,
  createSite,
  databaseOf,
  type DrawbridgeOptions,
  type DrawbridgeSite,
  startDrawbridge,
} from './drawbridge.ts'
import { type BarredFigure, atLeast, atMost, type Line, quantity, reported } from './figure.ts'
import { floor, type RivalSite } from './rival.ts'
import type { Rounds } from './rounds.ts'
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
  /** Numbers of sessions of a gateway. */
  sessionCounts: readonly number[]
  startRounds: number
  /** Measures the bridge beside mcp-remote alone, without the peers that have no bar of their own in most areas. */
  fewPeers: boolean
  /** Duration of the flood of bad requests. */
  floodSeconds: number
}

/** The name of Drawbridge in figures. */
export const ours = 'Drawbridge'

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

/** The bars of an area: ratios to what was measured in the same rounds. */
export interface Bars {
  /** Maximum processor time per request, as a multiple of the floor's. */
  floor?: number
  /** Minimum advantage over the peer of that name, in processor time per request or in requests per second. */
  peer?: { name: string; by: 'cpu' | 'rate'; atLeast: number }
}

/** Returns the figures of Drawbridge in `area`, next to those of `peers` from the same rounds. */
export function contestFigures(
  area: string,
  { cpu, rate, p50, p99, errors }: Results,
  { peers, bars }: { peers: readonly string[]; bars: Bars },
): BarredFigure[] {
  const [best] = peers.toSorted((one, other) => cpu.of(one).value - cpu.of(other).value)
  const cpuText = (name: string): string => quantity(cpu.of(name).value, 'us')
  const line: Line = {
    path: area,
    ours: cpuText(ours),
    floor: cpuText(floor),
    ...(best !== undefined && { peer: `${cpuText(best)} ${best}` }),
  }
  const overFloor = { area, name: 'CPU per request, times the floor', ...cpu.ratio(ours, floor), unit: 'x' }
  return [
    bars.floor === undefined ? reported(overFloor) : atMost(bars.floor, { ...overFloor, line }),
    ...(bars.peer ? [peerFigure(area, { cpu, rate }, bars.peer)] : []),
    ...besideFigures(cpu, { area, title: 'CPU per request', unit: 'us', peers: [floor, ...peers] }),
    ...besideFigures(rate, { area, title: 'requests', unit: '/s', peers: [floor, ...peers] }),
    reported({ area, name: 'latency p50', ...p50.of(ours), unit: 'ms' }),
    reported({ area, name: 'latency p99', ...p99.of(ours), unit: 'ms' }),
    atMost(0, { area, name: 'errors, all systems', value: errors, unit: '' }),
  ]
}

function peerFigure(
  area: string,
  { cpu, rate }: Pick<Results, 'cpu' | 'rate'>,
  { name: peer, by, atLeast: bar }: NonNullable<Bars['peer']>,
): BarredFigure {
  const [rounds, unit] = by === 'cpu' ? [cpu, 'us'] : [rate, '/s']
  const advantage = by === 'cpu' ? cpu.ratio(peer, ours) : rate.ratio(ours, peer)
  return atLeast(bar, {
    area,
    name: `${by === 'cpu' ? 'requests per second of processor time' : 'requests per second'}, times ${peer}`,
    ...advantage,
    unit: 'x',
    line: {
      path: `${area}, beside a peer`,
      ours: quantity(rounds.of(ours).value, unit),
      peer: `${quantity(rounds.of(peer).value, unit)} ${peer}`,
    },
  })
}

/** Returns a figure of Drawbridge and one of each of `peers`, with the ratio of Drawbridge to it in the same rounds. */
export function besideFigures(
  rounds: Rounds,
  { area, title, unit, peers }: { area: string; title: string; unit: string; peers: readonly string[] },
): BarredFigure[] {
  return [
    reported({ area, name: title, ...rounds.of(ours), unit }),
    ...peers.map((peer) =>
      reported({
        area,
        name: `${title}, ${peer}`,
        ...rounds.of(peer),
        unit,
        peer,
        ratio: rounds.ratio(ours, peer).value,
      }),
    ),
  ]
}

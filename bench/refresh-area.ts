import {
  type Bench,
  contestFigures,
  ours,
  refreshedGrants,
  refreshTokenLife,
  startFilledDrawbridge,
} from './bench.ts'
import { compete } from './contest.ts'
import type { DrawbridgeSite } from './drawbridge.ts'
import type { BarredFigure } from './figure.ts'
import { openLoad } from './load.ts'
import { floor, oidcProvider, rivals, startRival } from './rival.ts'
import { filledRefreshToken } from './store-fill.ts'
import { createRefreshWalker, type RefreshTarget } from './walkers.ts'

/** Measures refresh token grants over HTTP, each committed to disk before it is answered. */
export async function measureRefresh(bench: Bench): Promise<BarredFigure[]> {
  const { connections } = bench
  const drawbridge = await startFilledDrawbridge(bench, 'refresh', refreshedGrants, refreshTokenLife)
  const chains = Math.floor(refreshedGrants / connections)
  const { site, connected } = drawbridge
  const own = {
    port: site.port,
    target: refreshTarget(site, connected.clientId),
    chains: Array.from({ length: connections }, (_, connection) =>
      Array.from({ length: chains }, (_each, chain) => filledRefreshToken(connection * chains + chain)),
    ),
  }
  const others = []
  for (const rival of rivals) {
    if (rival.refreshPath === undefined) continue
    const { name, child, port, host, clientId, resource, refreshTokens } = await startRival(rival, bench)
    const target = { host, path: rival.refreshPath, clientId, resource }
    others.push({ name, child, port, target, chains: refreshTokens.map((token) => [token]) })
  }
  const contenders = []
  for (const { name, child, port, target, chains: ofEach } of [
    { name: ours, child: drawbridge.child, ...own },
    ...others,
  ]) {
    const seen = new Set<string>()
    const walkers = ofEach.map((tokens) => createRefreshWalker(target, tokens, seen))
    contenders.push({ name, child, load: await openLoad(port, walkers) })
  }
  const results = await compete(contenders, bench.plan)
  for (const { load, child } of contenders) {
    load.close()
    await child.stop()
  }
  const peers = others.map(({ name }) => name).filter((name) => name !== floor)
  return contestFigures('refresh', results, {
    peers,
    bars: { peer: { name: oidcProvider, by: 'rate', atLeast: 1.1 } },
  })
}

/** Returns the token endpoint of a Drawbridge. */
export function refreshTarget(site: DrawbridgeSite, clientId: string): RefreshTarget {
  return { host: new URL(site.baseUrl).host, path: '/oauth/token', clientId, resource: `${site.baseUrl}/mcp` }
}

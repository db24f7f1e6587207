import { type Bench, startScript } from '../bench.ts'
import { contest, ours } from '../contest.ts'
import { startDrawbridge } from '../drawbridge.ts'
import { atLeast, type Figure, listed } from '../figure.ts'
import { refreshContender, refreshedGrants, refreshing, refreshSettings } from '../requests.ts'

const peer = 'oidc-provider 9.13.3, in memory'

/** Measures refresh token grants over HTTP, ours each committed to disk before it is answered. */
export async function measureRefresh(bench: Bench): Promise<Figure[]> {
  const grants = refreshedGrants
  const running = await startDrawbridge(bench, 'refresh', { grants, settings: refreshSettings })
  const other = await startScript(bench, 'oidc-server.ts', { argv: [String(bench.connections)] })
  const { clientId, refreshTokens } = other.ready as unknown as { clientId: string; refreshTokens: string[] }
  const target = { url: `http://localhost:${other.port}/token`, clientId }
  const seen = new Set<string>()
  const walkers = refreshTokens.map((token) => refreshing(target, [token], seen))
  const { rate, cpu, p50 } = await contest(bench.plan, [
    refreshContender(ours, running, { grants, connections: bench.connections }),
    { name: peer, cpuMs: other.cpuMs, ports: [other.port], walkers },
  ])
  return [
    atLeast(0.9, `refreshes, times ${peer}`, rate.ratio(ours, peer), 'x'),
    ...listed(rate, 'refreshes', '/s', [ours, peer]),
    ...listed(cpu, 'CPU per refresh', 'us', [ours, peer]),
    ...listed(p50, 'p50', 'ms', [ours, peer]),
  ]
}

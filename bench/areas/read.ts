import { type Bench, startScript } from '../bench.ts'
import { type Contender, contender, contest, floor, ours } from '../contest.ts'
import { startDrawbridge, unlimited } from '../drawbridge.ts'
import { atLeast, atMost, compared, type Figure, listed } from '../figure.ts'
import type { Answer } from '../load.ts'
import { bearer, getRequest, listRequest, postMessage } from '../requests.ts'

const metadataPath = '/.well-known/oauth-authorization-server'
export const sdk = 'MCP SDK 1.32.2, in memory'

/** Measures the discovery document. */
export async function measureMetadata(bench: Bench): Promise<Figure[]> {
  const running = await startDrawbridge(bench, 'metadata')
  const metadata = await (await fetch(running.site.baseUrl + metadataPath)).text()
  const raw = await startScript(bench, 'floor-server.ts', { environment: { BENCH_METADATA: metadata } })
  const { cpu } = await contest(bench.plan, [
    contender(bench, ours, running, getRequest(running.site.baseUrl + metadataPath)),
    contender(bench, floor, raw, getRequest(`http://localhost:${raw.port}${metadataPath}`)),
  ])
  return compared(cpu, 'CPU per request', 'us', { ours, peer: floor, bar: 2.5 })
}

/** Measures `tools/list` with an access token, as sent by clients of revisions up to 2025-11-25. */
export async function measureToolsList(bench: Bench): Promise<Figure[]> {
  const running = await startDrawbridge(bench, 'tools-list', { settings: unlimited })
  const { site, connected } = running
  const sample = await postMessage(site.mcpUrl, { id: 1, method: 'tools/list' }, bearer(connected))
  const environment = { BENCH_TOOLS_LIST: await sample.text() }
  const isRight = ({ status, body }: Answer): boolean => status === 200 && body.includes('"whoami"')
  const startPeer = async (name: string, script: string): Promise<Contender> => {
    const peer = await startScript(bench, script, { environment })
    const request = listRequest(`http://localhost:${peer.port}/mcp`, peer.ready as { accessToken: string })
    return contender(bench, name, peer, request, isRight)
  }
  const { cpu, rate } = await contest(bench.plan, [
    contender(bench, ours, running, listRequest(site.mcpUrl, connected), isRight),
    await startPeer(floor, 'floor-server.ts'),
    await startPeer(sdk, 'sdk-server.ts'),
  ])
  return [
    atMost(5.5, 'CPU per request, times the floor', cpu.ratio(ours, floor), 'x'),
    atLeast(2, `requests per second of processor time, times ${sdk}`, cpu.ratio(sdk, ours), 'x'),
    ...listed(cpu, 'CPU per request', 'us', [ours, floor, sdk]),
    ...listed(rate, 'requests', '/s', [ours, floor, sdk]),
  ]
}

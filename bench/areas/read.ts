import { type Bench, startScript } from '../bench.ts'
import { contest, floor, ours } from '../contest.ts'
import { startDrawbridge, unlimited } from '../drawbridge.ts'
import { type AreaFigure, atLeast, atMost, listed } from '../figure.ts'
import type { Answer } from '../load.ts'
import { bearer, getRequest, listRequest, repeating } from '../requests.ts'

const metadataPath = '/.well-known/oauth-authorization-server'
export const sdk = 'MCP SDK 1.32.2, in memory'

/** Measures the discovery document. */
export async function measureMetadata(bench: Bench): Promise<AreaFigure[]> {
  const { site, child } = await startDrawbridge(bench, 'metadata')
  const metadata = await (await fetch(site.baseUrl + metadataPath)).text()
  const raw = await startScript(bench, 'floor-server.ts', { environment: { BENCH_METADATA: metadata } })
  const contender = (name: string, process: { cpuMs(): number }, port: number) => {
    const request = getRequest(`http://localhost:${port}${metadataPath}`)
    return { name, child: process, ports: [port], walkers: repeating(bench.connections, request) }
  }
  const { cpu } = await contest(bench.plan, [
    contender(ours, child, site.port),
    contender(floor, raw, raw.port),
  ])
  return [
    atMost(2.5, 'CPU per request, times the floor', cpu.ratio(ours, floor), 'x'),
    ...listed(cpu, 'CPU per request', 'us', [ours, floor]),
  ]
}

/** Measures `tools/list` with an access token, as sent by clients of revisions up to 2025-11-25. */
export async function measureToolsList(bench: Bench): Promise<AreaFigure[]> {
  const { site, child, connected } = await startDrawbridge(bench, 'tools-list', { settings: unlimited })
  const sample = await fetch(site.mcpUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...bearer(connected),
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  })
  const environment = { BENCH_TOOLS_LIST: await sample.text() }
  const isRight = ({ status, body }: Answer): boolean => status === 200 && body.includes('"whoami"')
  const contenders = [
    {
      name: ours,
      child,
      ports: [site.port],
      walkers: repeating(bench.connections, listRequest(site.mcpUrl, connected), isRight),
    },
  ]
  for (const [name, script] of [
    [floor, 'floor-server.ts'],
    [sdk, 'sdk-server.ts'],
  ] as const) {
    const other = await startScript(bench, script, { environment })
    const { accessToken } = other.ready as { accessToken: string }
    const request = listRequest(`http://localhost:${other.port}/mcp`, { accessToken })
    const walkers = repeating(bench.connections, request, isRight)
    contenders.push({ name, child: other, ports: [other.port], walkers })
  }
  const { cpu, rate } = await contest(bench.plan, contenders)
  return [
    atMost(5.5, 'CPU per request, times the floor', cpu.ratio(ours, floor), 'x'),
    atLeast(2, `requests per second of processor time, times ${sdk}`, cpu.ratio(sdk, ours), 'x'),
    ...listed(cpu, 'CPU per request', 'us', [ours, floor, sdk]),
    ...listed(rate, 'requests', '/s', [ours, floor, sdk]),
  ]
}

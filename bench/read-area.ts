import { type Bench, contestFigures, ours, startFilledDrawbridge } from './bench.ts'
import { unlimited } from './call-area.ts'
import type { Child } from './child.ts'
import type { Answer } from './connection.ts'
import { compete, type Results } from './contest.ts'
import type { BarredFigure } from './figure.ts'
import { openLoad } from './load.ts'
import { floor, rivals, sdkRouter, startRival } from './rival.ts'
import { createRepeatingWalker, getRequest, toolsListRequest } from './walkers.ts'

const metadataPath = '/.well-known/oauth-authorization-server'
const toolsListMessage = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

/** Measures the discovery document. */
export async function measureMetadata(bench: Bench): Promise<BarredFigure[]> {
  const { site, child } = await startFilledDrawbridge(bench, 'metadata', 0)
  const metadata = await (await fetch(site.baseUrl + metadataPath)).text()
  const host = new URL(site.baseUrl).host
  const isRight = ({ status, body }: Answer): boolean => status === 200 && body.includes('"token_endpoint"')
  const systems = [{ name: ours, child, port: site.port, request: getRequest({ host, path: metadataPath }) }]
  for (const rival of rivals) {
    if (rival.metadataPath === undefined) continue
    const running = await startRival(rival, { ...bench, connections: 1 }, { metadata })
    systems.push({ ...running, request: getRequest({ host: running.host, path: rival.metadataPath }) })
  }
  const results = await contend(bench, isRight, systems)
  return contestFigures('metadata', results, { peers: peersOf(systems), bars: { floor: 2.5 } })
}

/** Measures `tools/list` at `/mcp` with an access token, as sent by clients of revisions up to 2025-11-25. */
export async function measureToolsList(bench: Bench): Promise<BarredFigure[]> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'tools-list', 0, {
    settings: unlimited,
  })
  const host = new URL(site.baseUrl).host
  const sample = await fetch(`${site.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${connected.accessToken}`,
    },
    body: toolsListMessage,
  })
  const toolsList = await sample.text()
  const isRight = ({ status, body }: Answer): boolean => status === 200 && body.includes('"whoami"')
  const systems = [{ name: ours, child, port: site.port, request: toolsListRequest(host, connected) }]
  for (const rival of rivals.filter((each) => each.toolsList)) {
    const running = await startRival(rival, { ...bench, connections: 1 }, { toolsList })
    systems.push({ ...running, request: toolsListRequest(running.host, running) })
  }
  const results = await contend(bench, isRight, systems)
  const peer = { name: sdkRouter, by: 'cpu', atLeast: 2.6 } as const
  return contestFigures('tools/list', results, { peers: peersOf(systems), bars: { floor: 5.5, peer } })
}

function peersOf(systems: readonly { name: string }[]): string[] {
  return systems.map(({ name }) => name).filter((name) => name !== ours && name !== floor)
}

async function contend(
  bench: Bench,
  isRight: (answer: Answer) => boolean,
  systems: readonly { name: string; child: Child; port: number; request: string }[],
): Promise<Results> {
  const contenders = []
  for (const { name, child, port, request } of systems) {
    const walkers = Array.from({ length: bench.connections }, () => createRepeatingWalker(request, isRight))
    contenders.push({ name, child, load: await openLoad(port, walkers) })
  }
  const results = await compete(contenders, bench.plan)
  for (const { load, child } of contenders) {
    load.close()
    await child.stop()
  }
  return results
}

import { type Bench, contestFigures, startFilledDrawbridge } from './bench.ts'
import type { Child } from './child.ts'
import type { Answer } from './connection.ts'
import { compete, type Summary } from './contest.ts'
import type { BarredFigure } from './figure.ts'
import { openLoad } from './load.ts'
import { rivals, startRival } from './rival.ts'
import { createRepeatingWalker, getRequest, postRequest } from './walkers.ts'

const metadataPath = '/.well-known/oauth-authorization-server'
const toolsListMessage = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

/** Measures the discovery document. */
export async function measureMetadata(bench: Bench): Promise<BarredFigure[]> {
  const { site, child } = await startFilledDrawbridge(bench, 'metadata', 0)
  const metadata = await (await fetch(site.baseUrl + metadataPath)).text()
  const host = new URL(site.baseUrl).host
  const isRight = ({ status, body }: Answer): boolean => status === 200 && body.includes('"token_endpoint"')
  const systems = [
    { name: 'Drawbridge', child, port: site.port, request: getRequest({ host, path: metadataPath }) },
  ]
  for (const rival of rivals) {
    if (rival.metadataPath === undefined) continue
    const running = await startRival(rival, { ...bench, connections: 1 }, { metadata })
    systems.push({ ...running, request: getRequest({ host: running.host, path: rival.metadataPath }) })
  }
  const summaries = await contend(bench, isRight, systems)
  return contestFigures('metadata', summaries, { perSecond: 20_000, cpuMicroseconds: undefined })
}

/** Measures `tools/list` at `/mcp` with an access token, as sent by clients of revisions up to 2025-11-25. */
export async function measureToolsList(bench: Bench): Promise<BarredFigure[]> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'tools-list', 0)
  const host = new URL(site.baseUrl).host
  const ask = (asked: string, accessToken: string): string =>
    postRequest({ host: asked, path: '/mcp' }, 'application/json', toolsListMessage, [
      'Accept: application/json, text/event-stream',
      `Authorization: Bearer ${accessToken}`,
    ])
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
  const systems = [{ name: 'Drawbridge', child, port: site.port, request: ask(host, connected.accessToken) }]
  for (const rival of rivals.filter((each) => each.toolsList)) {
    const running = await startRival(rival, { ...bench, connections: 1 }, { toolsList })
    systems.push({ ...running, request: ask(running.host, running.accessToken) })
  }
  const summaries = await contend(bench, isRight, systems)
  return contestFigures('tools/list', summaries, { perSecond: 7000, cpuMicroseconds: 150 })
}

async function contend(
  bench: Bench,
  isRight: (answer: Answer) => boolean,
  systems: readonly { name: string; child: Child; port: number; request: string }[],
): Promise<Map<string, Summary>> {
  const contenders = []
  for (const { name, child, port, request } of systems) {
    const walkers = Array.from({ length: bench.connections }, () => createRepeatingWalker(request, isRight))
    contenders.push({ name, child, load: await openLoad(port, walkers) })
  }
  const summaries = await compete(contenders, bench.plan)
  for (const { load, child } of contenders) {
    load.close()
    await child.stop()
  }
  return summaries
}

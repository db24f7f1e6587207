import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServingProcess } from '../tests/peers/serving-process.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { type Bench, startFilledDrawbridge } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { compete, type Contender, type Summary } from './contest.ts'
import { atLeast, atMost, type BarredFigure, reported } from './figure.ts'
import { type Load, openLoad, type Walker } from './load.ts'
import { installPeers } from './peer-install.ts'
import { createRepeatingWalker, postRequest } from './walkers.ts'

const area = 'gateway'
const packages = { supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }
const accept = 'Accept: application/json, text/event-stream'
const upstreamName = 'upstream itself'

/** A program that answers `tools/call` at `/mcp`, and the headers that it requires. */
interface Gateway {
  name: string
  port: number
  headers: readonly string[]
  child: Pick<Child, 'cpuMs'>
  stop(): Promise<void>
}

/**
 * Measures `tools/call` of a server of the MCP SDK: directly, through Drawbridge, and through two programs that make
 * the same stdio tool available over HTTP. Those require no sign-in, and use one process and one session for all
 * calls.
 */
export async function measureGateway(bench: Bench): Promise<BarredFigure[]> {
  const upstream = await startUpstream(bench)
  const gateways = [upstream, await startDoor(bench, upstream.port), ...(await startPeers(bench))]
  try {
    const single = await contend(bench, gateways, 1)
    const many = await contend(bench, gateways, bench.connections)
    return figures(bench, single, many)
  } finally {
    for (const gateway of gateways.toReversed()) await gateway.stop()
  }
}

async function startUpstream(bench: Bench): Promise<Gateway> {
  const child = await startChild({
    name: upstreamName,
    script: fileURLToPath(new URL('bridge/sdk-mcp-server.ts', import.meta.url)),
    directory: bench.scratch,
    logFile: join(bench.scratch, 'gateway-upstream.log'),
  })
  return {
    name: upstreamName,
    port: Number(child.ready['port']),
    headers: [],
    child,
    stop: () => child.stop(),
  }
}

async function startDoor(bench: Bench, upstreamPort: number): Promise<Gateway> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'gateway', 0, {
    settings: {
      UPSTREAM: `http://127.0.0.1:${upstreamPort}/mcp`,
      CALL_LIMIT: 'off',
      CALLS_AT_ONCE: 'off',
    },
  })
  const headers = [`Authorization: Bearer ${connected.accessToken}`]
  return { name: 'Drawbridge', port: site.port, headers, child, stop: () => child.stop() }
}

async function startPeers(bench: Bench): Promise<Gateway[]> {
  const manifest = installPeers(packages, {
    ...bench,
    packageFolder: join(bench.packageFolder, 'gateway'),
  })
  const modules = join(dirname(manifest), 'node_modules')
  const script = fileURLToPath(new URL('stdio-mcp-server.ts', import.meta.url))
  const stdio = `${process.execPath} ${script}`
  const supergateway = join(modules, 'supergateway', 'dist', 'index.js')
  const mcpProxy = createRequire(manifest)
    .resolve('mcp-proxy')
    .replace(/dist.*$/, 'dist/bin/mcp-proxy.mjs')
  const toHttp = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none']
  const programs: Record<string, (port: string) => string[]> = {
    [`supergateway ${packages.supergateway}`]: (port) =>
      [supergateway, '--stdio', stdio, '--port', port].concat(toHttp),
    [`mcp-proxy ${packages['mcp-proxy']}`]: (port) =>
      [mcpProxy, '--server', 'stream', '--host', '127.0.0.1', '--port', port, '--'].concat(stdio.split(' ')),
  }
  const started: Gateway[] = []
  for (const [name, argv] of Object.entries(programs)) {
    const port = await freePort()
    const serving = await startServingProcess({ command: process.execPath, args: argv(String(port)), port })
    const session = await openSession(serving.url)
    started.push({
      name,
      port,
      headers: [`Mcp-Session-Id: ${session}`, 'Mcp-Protocol-Version: 2025-11-25'],
      child: { cpuMs: () => 0 },
      stop: () => serving.close(),
    })
  }
  return started
}

async function openSession(url: string): Promise<string> {
  const send = async (message: unknown, headers: Record<string, string> = {}): Promise<Response> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(message),
    })
    await response.text()
    return response
  }
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  }
  const opened = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id')
  if (session === null) throw new Error(`${url} answered ${opened.status} and opened no session.`)
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-session-id': session })
  return session
}

async function contend(
  bench: Bench,
  gateways: readonly Gateway[],
  connections: number,
): Promise<Map<string, Summary>> {
  const contenders: Contender[] = []
  for (const { name, port, headers, child } of gateways) {
    const walkers = Array.from({ length: connections }, (_, lane) => {
      // One session cannot use the same id twice at a time.
      const id = lane + 1
      const params = { name: 'echo', arguments: { text: 'hello' } }
      const call = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
      const request = postRequest({ host: `localhost:${port}`, path: '/mcp' }, 'application/json', call, [
        accept,
        ...headers,
      ])
      return createRepeatingWalker(
        request,
        ({ status, body }) => status === 200 && body.includes('hello') && body.includes(`"id":${id}`),
      )
    })
    contenders.push({ name, child, load: freshLoad(port, walkers) })
  }
  return compete(contenders, bench.plan)
}

/** Opens new connections in each round: some programs close idle ones while the others are measured. */
function freshLoad(port: number, walkers: readonly Walker[]): Load {
  return {
    async run(milliseconds) {
      const load = await openLoad(port, walkers)
      try {
        return await load.run(milliseconds)
      } finally {
        load.close()
      }
    },
    close() {},
  }
}

function figures(
  bench: Bench,
  single: ReadonlyMap<string, Summary>,
  many: ReadonlyMap<string, Summary>,
): BarredFigure[] {
  const [ours, upstream] = [single.get('Drawbridge'), single.get(upstreamName)]
  const [oursBusy, upstreamBusy] = [many.get('Drawbridge'), many.get(upstreamName)]
  if (!ours || !upstream || !oursBusy || !upstreamBusy) throw new Error(`${area} was not measured.`)
  const atOnce = `${bench.connections} at a time`
  const peers = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  return [
    atMost(0.4, {
      area,
      name: 'added to a call, p50',
      value: ours.p50Milliseconds - upstream.p50Milliseconds,
      unit: 'ms',
    }),
    atLeast(0.5, {
      area,
      name: `calls with ${atOnce}, times those of the upstream itself`,
      value: oursBusy.medianPerSecond / upstreamBusy.medianPerSecond,
      unit: '',
    }),
    reported({
      area,
      name: 'a call of the upstream itself, p50',
      value: upstream.p50Milliseconds,
      unit: 'ms',
    }),
    reported({ area, name: 'a call, p50', value: ours.p50Milliseconds, unit: 'ms' }),
    ...peers.flatMap((peer) => beside(single.get(peer), ours, peer)),
    reported({
      area,
      name: `calls of the upstream itself, ${atOnce}`,
      value: upstreamBusy.medianPerSecond,
      unit: '/s',
    }),
    reported({ area, name: `calls, ${atOnce}`, value: oursBusy.medianPerSecond, unit: '/s' }),
    ...peers.flatMap((peer) => besideBusy(many.get(peer), oursBusy, { peer, atOnce })),
    reported({ area, name: 'CPU per call', value: oursBusy.cpuMicroseconds, unit: 'us' }),
    atMost(0, {
      area,
      name: 'errors, Drawbridge',
      value: ours.errors + oursBusy.errors,
      unit: '',
    }),
  ]
}

function beside(theirs: Summary | undefined, ours: Summary, peer: string): BarredFigure[] {
  if (!theirs) return []
  const value = theirs.p50Milliseconds
  const ratio = ours.p50Milliseconds / value
  return [reported({ area, name: `a call, p50, ${peer}`, value, unit: 'ms', peer, ratio })]
}

function besideBusy(
  theirs: Summary | undefined,
  ours: Summary,
  { peer, atOnce }: { peer: string; atOnce: string },
): BarredFigure[] {
  if (!theirs) return []
  const value = theirs.medianPerSecond
  const ratio = ours.medianPerSecond / value
  return [reported({ area, name: `calls, ${atOnce}, ${peer}`, value, unit: '/s', peer, ratio })]
}

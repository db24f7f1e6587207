import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServingProcess } from '../tests/peers/serving-process.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { type Bench, besideFigures, ours, startFilledDrawbridge } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { compete, type Contender, type Results } from './contest.ts'
import { atLeast, atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { type Load, openLoad, type Walker } from './load.ts'
import { installPeers } from './peer-install.ts'
import { createRepeatingWalker, postRequest } from './walkers.ts'

const area = 'gateway'
const packages = { supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }
const supergateway = `supergateway ${packages.supergateway}`
const mcpProxy = `mcp-proxy ${packages['mcp-proxy']}`
const accept = 'Accept: application/json, text/event-stream'
const upstreamName = 'upstream itself'
const floorName = 'floor'

/** A program that answers `tools/call` at `/mcp`, and the headers that it requires. */
interface Gateway {
  name: string
  port: number
  headers: readonly string[]
  child: Pick<Child, 'cpuMs'>
  stop(): Promise<void>
}

/**
 * Measures `tools/call` of a server of the MCP SDK: directly, through Drawbridge and the floor, and through two programs
 * that make the same stdio tool available over HTTP. Those require no sign-in, and use one process and one session for
 * all calls.
 */
export async function measureGateway(bench: Bench): Promise<BarredFigure[]> {
  const upstream = await startOpen(bench, upstreamName, new URL('bridge/sdk-mcp-server.ts', import.meta.url))
  const floor = await startOpen(
    bench,
    floorName,
    new URL('floor-gateway.ts', import.meta.url),
    mcpUrl(upstream.port),
  )
  const gateways = [upstream, floor, await startDoor(bench, upstream.port), ...(await startPeers(bench))]
  try {
    const single = await contend(bench, gateways, 1)
    const many = await contend(bench, gateways, bench.connections)
    return figures(bench.connections, single, many)
  } finally {
    for (const gateway of gateways.toReversed()) await gateway.stop()
  }
}

function mcpUrl(port: number): string {
  return `http://127.0.0.1:${port}/mcp`
}

async function startOpen(bench: Bench, name: string, script: URL, ...argv: string[]): Promise<Gateway> {
  const child = await startChild({
    name,
    script: fileURLToPath(script),
    argv,
    directory: bench.scratch,
    logFile: join(bench.scratch, `gateway-${name.replace(' ', '-')}.log`),
  })
  return { name, port: Number(child.ready['port']), headers: [], child, stop: () => child.stop() }
}

async function startDoor(bench: Bench, upstreamPort: number): Promise<Gateway> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'gateway', 0, {
    settings: {
      UPSTREAM: mcpUrl(upstreamPort),
      CALL_LIMIT: 'off',
      CALLS_AT_ONCE: 'off',
    },
  })
  const headers = [`Authorization: Bearer ${connected.accessToken}`]
  return { name: ours, port: site.port, headers, child, stop: () => child.stop() }
}

async function startPeers(bench: Bench): Promise<Gateway[]> {
  const manifest = installPeers(packages, {
    ...bench,
    packageFolder: join(bench.packageFolder, 'gateway'),
  })
  const modules = join(dirname(manifest), 'node_modules')
  const script = fileURLToPath(new URL('stdio-mcp-server.ts', import.meta.url))
  const stdio = `${process.execPath} ${script}`
  const supergatewayScript = join(modules, 'supergateway', 'dist', 'index.js')
  const mcpProxyScript = createRequire(manifest)
    .resolve('mcp-proxy')
    .replace(/dist.*$/, 'dist/bin/mcp-proxy.mjs')
  const toHttp = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none']
  const programs: Record<string, (port: string) => string[]> = {
    [supergateway]: (port) => [supergatewayScript, '--stdio', stdio, '--port', port].concat(toHttp),
    [mcpProxy]: (port) =>
      [mcpProxyScript, '--server', 'stream', '--host', '127.0.0.1', '--port', port, '--'].concat(
        stdio.split(' '),
      ),
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

async function contend(bench: Bench, gateways: readonly Gateway[], connections: number): Promise<Results> {
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

function figures(connections: number, single: Results, many: Results): BarredFigure[] {
  const atOnce = `${connections} at a time`
  const peers = [upstreamName, floorName, supergateway, mcpProxy]
  const p50 = (name: string): string => quantity(single.p50.of(name).value, 'ms')
  const perSecond = (name: string): string => quantity(many.rate.of(name).value, '/s')
  const timeBar = (bar: number, peer: string): BarredFigure =>
    atMost(bar, {
      area,
      name: `a call, p50, times ${peer}`,
      ...single.p50.ratio(ours, peer),
      unit: 'x',
      line: {
        path: 'gateway, one call',
        ours: p50(ours),
        floor: p50(floorName),
        peer: `${p50(peer)} ${peer}`,
      },
    })
  const rateBar = (bar: number, other: string, line: { floor?: string; peer?: string }): BarredFigure =>
    atLeast(bar, {
      area,
      name: `calls, ${atOnce}, times ${other}`,
      ...many.rate.ratio(ours, other),
      unit: 'x',
      line: { path: `gateway, ${atOnce}`, ours: perSecond(ours), ...line },
    })
  const addedBy = (name: string) => single.p50.difference(name, upstreamName)
  const addedText = (name: string): string => quantity(addedBy(name).value, 'ms')
  return [
    atMost(0.35, {
      area,
      name: 'added to a call, p50',
      ...addedBy(ours),
      unit: 'ms',
      line: { path: 'gateway, added to a call', ours: addedText(ours), floor: addedText(floorName) },
    }),
    timeBar(1, mcpProxy),
    // It signs nobody in.
    timeBar(1.5, supergateway),
    rateBar(0.75, upstreamName, { floor: perSecond(floorName) }),
    rateBar(1, mcpProxy, { peer: `${perSecond(mcpProxy)} ${mcpProxy}` }),
    ...besideFigures(single.p50, { area, title: 'a call, p50', unit: 'ms', peers }),
    ...besideFigures(many.rate, {
      area,
      title: `calls, ${atOnce}`,
      unit: '/s',
      peers,
    }),
    reported({ area, name: 'CPU per call', ...many.cpu.of(ours), unit: 'us' }),
    reported({ area, name: 'CPU per call, times the floor', ...many.cpu.ratio(ours, floorName), unit: 'x' }),
    atMost(0, { area, name: 'errors, all systems', value: single.errors + many.errors, unit: '' }),
  ]
}

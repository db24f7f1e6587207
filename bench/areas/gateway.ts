import { fileURLToPath } from 'node:url'
import { startServingProcess } from '../../tests/peers/serving-process.ts'
import { freePort } from '../../tests/support/server/free-port.ts'
import { type Bench, peerFile, peerName, startScript, writeScript } from '../bench.ts'
import { type Contender, contest, ours, type Results } from '../contest.ts'
import { startDrawbridge, unlimited } from '../drawbridge.ts'
import { atLeast, atMost, type Figure, listed } from '../figure.ts'
import type { Walker } from '../load.ts'
import { bearer, mcpRequest, openSession } from '../requests.ts'
import type { Spread } from '../rounds.ts'

const upstream = 'the server itself'
const passThrough = 'pass-through of 20 lines'

/** The time of one call, and the rate of 64 at a time, as multiples of a peer's: at most and at least. */
interface Bar {
  peer: string
  time: number
  rate: number
}
const [fastmcp, toolhive] = [peerName('FastMCP'), peerName('ToolHive')]
const httpBars: readonly Bar[] = [
  { peer: passThrough, time: 3, rate: 0.55 },
  { peer: fastmcp, time: 1, rate: 1 },
  { peer: toolhive, time: 1.5, rate: 1 },
]
const [supergateway, mcpProxy] = [peerName('supergateway'), peerName('mcp-proxy')]
const mcpProxyOfPypi = peerName('mcp-proxy of PyPI')
const commandBars: readonly Bar[] = [
  { peer: supergateway, time: 1.9, rate: 0.55 },
  { peer: mcpProxy, time: 1, rate: 1 },
  { peer: mcpProxyOfPypi, time: 1, rate: 1 },
]

/** A program that serves the tool `echo` at `/mcp`, and the headers that it requires. */
interface Gateway {
  name: string
  port: number
  headers?: Readonly<Record<string, string>>
  cpuMs?(): number
}

/**
 * Measures a call to a server of the MCP SDK: directly, through Drawbridge, through 20 lines of node:http, and through
 * two doors that check a token, too. A door that has sessions has one for all calls.
 */
export async function measureGatewayToHttp(bench: Bench): Promise<Figure[]> {
  const behind = await startScript(bench, 'echo-server.ts')
  const url = mcpUrl(behind.port)
  const relay = await startScript(bench, 'pass-through.ts', { argv: [url] })
  const issuer = await startScript(bench, 'issuer.ts')
  const settings = { ...unlimited, UPSTREAM: url }
  const { port, connected, cpuMs } = await startDrawbridge(bench, 'gateway', { settings })
  const argv = (port: string, server: string): string[] => [port, server, `http://127.0.0.1:${issuer.port}`]
  const script = fileURLToPath(new URL('../programs/fastmcp-proxy.py', import.meta.url))
  const headers = bearer(issuer.ready as { accessToken: string })
  const python = peerFile(bench, 'fastmcp', 'bin/python')
  const fast = await startPeer(bench, fastmcp, (port) => [python, script, ...argv(port, url)], headers)
  const binary = peerFile(bench, 'toolhive', 'toolhive')
  const { origin } = new URL(url)
  const tool = await startPeer(bench, toolhive, (port) => [binary, ...argv(port, origin)], headers)
  for (const { name, port } of [fast, tool]) {
    const { status } = await fetch(mcpUrl(port), { method: 'POST' })
    if (status !== 401) throw new Error(`${name} answered ${status} to a call without a token.`)
  }
  const gateways: Gateway[] = [
    { name: ours, port, headers: bearer(connected), cpuMs },
    { ...relay, name: passThrough },
    { ...fast, headers: { ...headers, ...(await openSession(mcpUrl(fast.port), headers)) } },
    tool,
    { ...behind, name: upstream },
  ]
  return compareCalls(bench, 'added to a call', httpBars, gateways, ({ p50 }, peer) => {
    // Nothing can be said where the noise is larger than what one of them adds.
    const added = (name: string): number => {
      const { value } = p50.difference(name, upstream)
      return value > 0 ? value : Number.NaN
    }
    return added(ours) / added(peer)
  })
}

/**
 * Measures a call to a command, through Drawbridge and through programs that make the same command available over
 * HTTP to anyone. Each has one session for all calls.
 */
export async function measureGatewayToCommand(bench: Bench): Promise<Figure[]> {
  const command = [process.execPath, await writeScript('echo-server.ts'), 'stdio'] as const
  const { site, port, connected, cpuMs } = await startDrawbridge(bench, 'gateway-command', {
    settings: { ...unlimited, UPSTREAM: './upstream.json' },
    files: { 'upstream.json': JSON.stringify({ command: command[0], args: command.slice(1) }) },
  })
  const headers = { ...bearer(connected), ...(await openSession(site.mcpUrl, bearer(connected))) }
  const gateways: Gateway[] = [{ name: ours, port, headers, cpuMs }]
  const inNpm = (file: string): string[] => [process.execPath, peerFile(bench, 'npm', `node_modules/${file}`)]
  const programs: Record<string, (port: string) => string[]> = {
    [supergateway]: (port) =>
      inNpm('supergateway/dist/index.js').concat(
        ['--stdio', command.join(' '), '--port', port],
        '--stateful --logLevel none --outputTransport streamableHttp'.split(' '),
      ),
    [mcpProxy]: (port) =>
      inNpm('mcp-proxy/dist/bin/mcp-proxy.mjs').concat(
        `--host 127.0.0.1 --port ${port} --server stream --`.split(' '),
        command,
      ),
    [mcpProxyOfPypi]: (port) =>
      [peerFile(bench, 'mcp-proxy', 'bin/mcp-proxy')].concat(
        `--log-level ERROR --port ${port} --`.split(' '),
        command,
      ),
  }
  for (const [name, commandOn] of Object.entries(programs)) {
    const peer = await startPeer(bench, name, commandOn)
    gateways.push({ ...peer, headers: await openSession(mcpUrl(peer.port)) })
  }
  return compareCalls(bench, 'a call', commandBars, gateways, ({ p50 }, peer) => p50.ratio(ours, peer))
}

/** Starts the command that serves a peer on a free port. */
async function startPeer(
  bench: Bench,
  name: string,
  commandOn: (port: string) => readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Gateway> {
  const port = await freePort()
  const [command = '', ...args] = commandOn(String(port))
  const serving = await startServingProcess({ command, args, port })
  bench.endings.push(() => serving.close())
  return { name, port, headers }
}

function mcpUrl(port: number): string {
  return `http://127.0.0.1:${port}/mcp`
}

/** Measures single calls, of which `timeOf` makes the multiple of a peer, and calls at a time on all connections. */
async function compareCalls(
  { plan, connections }: Bench,
  title: string,
  bars: readonly Bar[],
  gateways: readonly Gateway[],
  timeOf: (single: Results, peer: string) => number | Spread,
): Promise<Figure[]> {
  const single = await contest(
    plan,
    gateways.map((gateway) => calling(gateway, 1)),
  )
  const many = await contest(
    plan,
    gateways.map((gateway) => calling(gateway, connections)),
  )
  const names = gateways.map(({ name }) => name)
  return [
    ...bars.flatMap(({ peer, time, rate }) => [
      atMost(time, `${title}, p50, times ${peer}`, timeOf(single, peer), 'x'),
      atLeast(rate, `calls, 64 at a time, times ${peer}`, many.rate.ratio(ours, peer), 'x'),
    ]),
    ...listed(single.p50, 'a call, p50', 'ms', names),
    ...listed(many.rate, 'calls, 64 at a time', '/s', names),
  ]
}

function calling({ name, port, headers = {}, cpuMs = () => 0 }: Gateway, connections: number): Contender {
  // One session cannot use the same id twice at a time.
  const walkers = Array.from({ length: connections }, (_, index): Walker => {
    const id = index + 1
    const params = { name: 'echo', arguments: { text: 'hello' } }
    const request = mcpRequest(mcpUrl(port), { id, method: 'tools/call', params }, headers)
    return {
      next: () => request,
      accept: ({ status, body }) => status === 200 && body.includes('hello') && body.includes(`"id":${id}`),
    }
  })
  return { name, cpuMs, ports: [port], walkers }
}

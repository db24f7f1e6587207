import { startServingProcess } from '../../tests/peers/serving-process.ts'
import { freePort } from '../../tests/support/server/free-port.ts'
import { type Bench, peerFile, peerName, startScript, writeScript } from '../bench.ts'
import { type Contender, contest, ours, type Results } from '../contest.ts'
import { startDrawbridge, unlimited } from '../drawbridge.ts'
import { type AreaFigure, atLeast, atMost, listed } from '../figure.ts'
import { bearer, mcpRequest, openSession } from '../requests.ts'

const upstream = 'the server itself'
const passThrough = 'pass-through of 20 lines'
const supergateway = peerName('supergateway')
const mcpProxy = peerName('mcp-proxy')

/** A program that serves the tool `echo` at `/mcp`, and the headers that it requires. */
interface Gateway {
  name: string
  port: number
  headers?: Readonly<Record<string, string>>
  child?: { cpuMs(): number }
}

/** Measures a call to a server of the MCP SDK: directly, through Drawbridge, and through 20 lines of node:http. */
export async function measureGatewayToHttp(bench: Bench): Promise<AreaFigure[]> {
  const behind = await startScript(bench, 'echo-server.ts')
  const url = mcpUrl(behind.port)
  const relay = await startScript(bench, 'pass-through.ts', { argv: [url] })
  const settings = { ...unlimited, UPSTREAM: url }
  const { site, child, connected } = await startDrawbridge(bench, 'gateway', { settings })
  const gateways = [
    { name: ours, port: site.port, headers: bearer(connected), child },
    { name: passThrough, port: relay.port, child: relay },
    { name: upstream, port: behind.port, child: behind },
  ]
  const { single, many } = await callAll(bench, gateways)
  const added = (name: string): number => single.p50.difference(name, upstream).value
  return [
    atMost(2.2, `added to a call, p50, times ${passThrough}`, added(ours) / added(passThrough), 'x'),
    atLeast(0.85, `calls, 64 at a time, times ${passThrough}`, many.rate.ratio(ours, passThrough), 'x'),
    ...tables([ours, passThrough, upstream], single, many),
  ]
}

/**
 * Measures a call to a command, through Drawbridge and through two programs that make the same command available over
 * HTTP to anyone. Each has one session for all calls.
 */
export async function measureGatewayToCommand(bench: Bench): Promise<AreaFigure[]> {
  const command = [process.execPath, await writeScript('echo-server.ts'), 'stdio'] as const
  const { site, child, connected } = await startDrawbridge(bench, 'gateway-command', {
    settings: { ...unlimited, UPSTREAM: './upstream.json' },
    files: { 'upstream.json': JSON.stringify({ command: command[0], args: command.slice(1) }) },
  })
  const headers = { ...bearer(connected), ...(await openSession(site.mcpUrl, bearer(connected))) }
  const gateways: Gateway[] = [{ name: ours, port: site.port, headers, child }]
  const flags = '--stateful --logLevel none --outputTransport streamableHttp'.split(' ')
  const [one, other] = [
    peerFile(bench, 'supergateway', 'dist/index.js'),
    peerFile(bench, 'mcp-proxy', 'dist/bin/mcp-proxy.mjs'),
  ]
  const programs: Record<string, (port: string) => string[]> = {
    [supergateway]: (port) => [one, '--stdio', command.join(' '), '--port', port].concat(flags),
    [mcpProxy]: (port) =>
      [other, '--host', '127.0.0.1', '--port', port, '--server', 'stream', '--'].concat(command),
  }
  for (const [name, argv] of Object.entries(programs)) {
    const port = await freePort()
    const args = argv(String(port))
    const serving = await startServingProcess({ command: process.execPath, args, port })
    bench.endings.push(() => serving.close())
    gateways.push({ name, port, headers: await openSession(serving.url) })
  }
  const { single, many } = await callAll(bench, gateways)
  return [
    atMost(1.25, `a call, p50, times ${supergateway}`, single.p50.ratio(ours, supergateway), 'x'),
    atMost(1, `a call, p50, times ${mcpProxy}`, single.p50.ratio(ours, mcpProxy), 'x'),
    atLeast(0.85, `calls, 64 at a time, times ${supergateway}`, many.rate.ratio(ours, supergateway), 'x'),
    atLeast(1, `calls, 64 at a time, times ${mcpProxy}`, many.rate.ratio(ours, mcpProxy), 'x'),
    ...tables([ours, supergateway, mcpProxy], single, many),
  ]
}

function mcpUrl(port: number): string {
  return `http://127.0.0.1:${port}/mcp`
}

async function callAll(
  bench: Bench,
  gateways: readonly Gateway[],
): Promise<{ single: Results; many: Results }> {
  const calling = (connections: number): Contender[] =>
    gateways.map(({ name, port, headers = {}, child = { cpuMs: () => 0 } }) => ({
      name,
      child,
      ports: [port],
      // One session cannot use the same id twice at a time.
      walkers: Array.from({ length: connections }, (_, index) => {
        const id = index + 1
        const params = { name: 'echo', arguments: { text: 'hello' } }
        const request = mcpRequest(mcpUrl(port), { id, method: 'tools/call', params }, headers)
        return {
          next: () => request,
          accept: ({ status, body }) =>
            status === 200 && body.includes('hello') && body.includes(`"id":${id}`),
        }
      }),
    }))
  const single = await contest(bench.plan, calling(1))
  return { single, many: await contest(bench.plan, calling(bench.connections)) }
}

function tables(names: readonly string[], single: Results, many: Results): AreaFigure[] {
  return [
    ...listed(single.p50, 'a call, p50', 'ms', names),
    ...listed(many.rate, 'calls, 64 at a time', '/s', names),
  ]
}

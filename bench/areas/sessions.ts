import { type Bench, startScript } from '../bench.ts'
import { contest } from '../contest.ts'
import { connect, type Connected, startDrawbridge, unlimited } from '../drawbridge.ts'
import { type AreaFigure, atMost } from '../figure.ts'
import { bearer, callRequest, openSession, repeating } from '../requests.ts'
import { growth } from './growth.ts'

const sessionsOfUser = 50

/** Measures calls and memory of the gateway with few and with many sessions, each with its GET stream. */
export async function measureSessions(bench: Bench): Promise<AreaFigure[]> {
  const upstream = await startScript(bench, 'session-server.ts')
  const contenders = []
  let kilobytes = 0
  for (const count of [1, bench.isQuick ? 300 : 1000]) {
    const url = `http://127.0.0.1:${upstream.port}/mcp`
    const { site, child, connected } = await startDrawbridge(bench, `sessions-${count}`, {
      settings: { ...unlimited, UPSTREAM: url, SIGN_IN_LIMIT: '1000' },
    })
    const users = [connected]
    while (users.length * sessionsOfUser < count) users.push(await connect(site))
    await openStream(site.mcpUrl, connected)
    // After the sign-ins: hashing the passwords of twenty people leaves 64 MB with the allocator.
    const memoryBefore = child.memoryBytes()
    for (let index = 1; index < count; index += 1) {
      await openStream(site.mcpUrl, users[Math.floor(index / sessionsOfUser)] ?? connected)
    }
    kilobytes = (child.memoryBytes() - memoryBefore) / (count - 1) / 1024
    const walkers = repeating(bench.connections, callRequest(site.mcpUrl, connected, 'echo'))
    contenders.push({ name: `${count} sessions`, child, ports: [site.port], walkers })
  }
  const results = await contest(bench.plan, contenders)
  const names = contenders.map(({ name }) => name)
  return [
    ...growth(results, 'CPU of a call', names, 1.3),
    atMost(128, `memory of a session with its stream, ${names.at(-1)}`, kilobytes, 'KB'),
  ]
}

/** Opens a session and a GET stream, which the end of the server ends. */
async function openStream(url: string, connected: Connected): Promise<void> {
  const session = await openSession(url, bearer(connected))
  const headers = { ...bearer(connected), ...session, accept: 'text/event-stream' }
  const stream = await fetch(url, { headers })
  if (!stream.ok) throw new Error(`${url} answered ${stream.status} and opened no stream.`)
  stream.body
    ?.getReader()
    .read()
    .catch(() => {})
}

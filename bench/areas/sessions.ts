import { type Bench, startScript } from '../bench.ts'
import { contender } from '../contest.ts'
import { connect, type Connected, startDrawbridge, unlimited } from '../drawbridge.ts'
import { atMost, type Figure } from '../figure.ts'
import { bearer, callRequest, openSession } from '../requests.ts'
import { growth } from './growth.ts'

const sessionsOfUser = 50

/** Measures calls and memory of the gateway with few and with many sessions, each with its GET stream. */
export async function measureSessions(bench: Bench): Promise<Figure[]> {
  const upstream = await startScript(bench, 'session-server.ts')
  const settings = {
    ...unlimited,
    UPSTREAM: `http://127.0.0.1:${upstream.port}/mcp`,
    SIGN_IN_LIMIT: '1000',
  }
  const most = bench.isQuick ? 300 : 1000
  let kilobytes = 0
  const figures = await growth(bench, 'CPU of a call', 1.3, [1, most], async (count) => {
    const running = await startDrawbridge(bench, `sessions-${count}`, { settings })
    const { site, connected, memoryBytes } = running
    const users = [connected]
    while (users.length * sessionsOfUser < count) users.push(await connect(site))
    await openStream(site.mcpUrl, connected)
    // After the sign-ins: hashing the passwords of twenty people leaves 64 MB with the allocator.
    const memoryBefore = memoryBytes()
    for (let index = 1; index < count; index += 1) {
      await openStream(site.mcpUrl, users[Math.floor(index / sessionsOfUser)] ?? connected)
    }
    kilobytes = (memoryBytes() - memoryBefore) / (count - 1) / 1024
    return contender(bench, `${count} sessions`, running, callRequest(site.mcpUrl, connected, 'echo'))
  })
  return [...figures, atMost(128, `memory of a session with its stream, ${most} sessions`, kilobytes, 'KB')]
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

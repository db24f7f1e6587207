import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { createControlledProvider } from '../tests/support/sandbox/controlled-provider.ts'
import { drawFault, type FaultMix, faults } from './faults.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

/** How long an instance certainly has for a refresh: its lease in `server/core/session` is 15 seconds, from before it asks. */
const turnSeconds = 10

/**
 * Starts the embedded provider on a free port, behind a proxy that injects faults. Accuses whoever presents a refresh token that
 * another connection is presenting: instances take turns.
 */
export async function startFaultyProvider(
  options: { tokenTtlSeconds: number; runtime: Runtime },
  random: Random,
  tally: Tally,
) {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const { tokenTtlSeconds, runtime } = options
  const url = `${origin}/auth/v1`
  const provider = createControlledProvider(
    { url, siteUrl: origin, redirectAllowList: [], tokenTtlSeconds, database: ':memory:' },
    runtime,
  )
  let mix: FaultMix = {}
  let refreshesAnswered = 0
  const presented = new Map<string, number>()

  async function pass(request: Request): Promise<Response> {
    const response = await provider.fetch(request)
    if (response.status === 200 && isRefresh(request)) refreshesAnswered += 1
    return response
  }

  async function watchTurns(request: Request, { outgoing }: HttpBindings): Promise<void> {
    const { refresh_token: token = '' } = (await request.clone().json()) as { refresh_token?: string }
    const now = runtime.now()
    // An instance that takes longer loses its turn, as it does when a moved clock jumps.
    if (runtime === systemRuntime && now - (presented.get(token) ?? 0) < turnSeconds)
      tally.accuse('refreshes at once', 'one refresh token from two connections')
    presented.set(token, now)
    outgoing.once('close', () => presented.delete(token))
  }

  async function answer(request: Request, bindings: HttpBindings): Promise<Response> {
    const { incoming } = bindings
    const fault = drawFault(mix, random)
    if (fault !== undefined) tally.add(`fault ${fault}`)
    try {
      if (isRefresh(request)) await watchTurns(request, bindings)
      const response = await (fault === undefined
        ? pass(request)
        : faults[fault](() => pass(request), random))
      if (response) return response
    } catch (error) {
      // A killed instance leaves an incomplete request.
      if (!incoming.destroyed) tally.accuse('failures of the soak itself', String(error))
    }
    incoming.socket.destroy()
    return RESPONSE_ALREADY_SENT
  }

  const listener = getRequestListener((request, bindings) => answer(request, bindings as HttpBindings))
  const server = createServer({ keepAliveTimeout: 65_000 }, (...exchange) => void listener(...exchange))
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return {
    /** The auth API is below `/auth/v1`. */
    origin,
    admin: provider.admin,
    setFaults(next: FaultMix) {
      mix = next
    },
    /** Counts from here on what {@link report} adds to the tally. */
    resetCounters() {
      provider.admin.resetCounters()
      refreshesAnswered = 0
    },
    report() {
      const { rotations, reuseRevocations } = provider.admin.counters
      tally.add('provider rotations', rotations)
      tally.add('replayed parents', refreshesAnswered - rotations)
      tally.add('reuse revocations', reuseRevocations)
    },
    async close() {
      const closed = once(server.close(), 'close')
      server.closeAllConnections()
      await closed
      provider.close()
    },
  }
}

function isRefresh({ url }: Request): boolean {
  return url.includes('grant_type=refresh_token')
}

import { createServer } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createControlledProvider } from '../tests/support/sandbox/controlled-provider.ts'
import type { ProviderAdmin } from '../tests/support/sandbox/provider-admin.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { drawFault, type Fault, type FaultMix } from './faults.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

/** A session provider behind an unreliable network. */
export interface FaultyProvider {
  /** Its origin; the auth API is below `/auth/v1`. */
  origin: string
  admin: ProviderAdmin
  setFaults(mix: FaultMix): void
  close(): Promise<void>
}

/** Starts the embedded provider on a free port, behind a proxy that injects faults. */
export async function startFaultyProvider(
  options: { tokenTtlSeconds: number; runtime?: Runtime },
  random: Random,
  tally: Tally,
): Promise<FaultyProvider> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const provider = createControlledProvider(
    {
      url: `${origin}/auth/v1`,
      siteUrl: origin,
      redirectAllowList: [],
      tokenTtlSeconds: options.tokenTtlSeconds,
      database: ':memory:',
    },
    options.runtime ?? systemRuntime,
  )
  let mix: FaultMix = {}

  async function pass(request: Request): Promise<Response> {
    const response = await provider.fetch(request)
    if (response.status === 200 && request.url.includes('grant_type=refresh_token')) {
      tally.add('provider refreshes answered')
    }
    return response
  }

  async function answer(request: Request, { incoming }: HttpBindings): Promise<Response> {
    const fault = drawFault(mix, random)
    if (fault.kind !== 'none') tally.add(`fault ${fault.kind}`)
    try {
      const response = await respond(fault, () => pass(request))
      if (response) return response
      incoming.socket.destroy()
    } catch (error) {
      // A killed instance leaves an incomplete request.
      if (!incoming.destroyed) tally.accuse('failures of the soak itself', String(error))
      incoming.socket.destroy()
    }
    return RESPONSE_ALREADY_SENT
  }

  const listener = getRequestListener((request, bindings) => answer(request, bindings as HttpBindings))
  const server = createServer({ keepAliveTimeout: 65_000 }, (...exchange) => void listener(...exchange))
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    origin,
    admin: provider.admin,
    setFaults: (next) => {
      mix = next
    },
    async close() {
      const closed = new Promise((resolve) => {
        server.close(resolve)
      })
      server.closeAllConnections()
      await closed
      provider.close()
    },
  }
}

/** Returns the response under `fault`; undefined breaks the connection. */
async function respond(fault: Fault, pass: () => Promise<Response>): Promise<Response | undefined> {
  switch (fault.kind) {
    case 'none':
      return pass()
    case 'slow':
      await sleep(fault.ms)
      return pass()
    case 'held': {
      const response = await pass()
      await sleep(fault.ms)
      return response
    }
    case 'rate_limited':
      return Response.json(
        { code: 429, error_code: 'over_request_rate_limit', msg: 'Request rate limit reached' },
        {
          status: 429,
          headers:
            fault.retryAfterSeconds === undefined ? {} : { 'retry-after': String(fault.retryAfterSeconds) },
        },
      )
    case 'gateway_page':
      return new Response('<!doctype html><title>Gateway error</title>', {
        status: fault.status,
        headers: { 'content-type': 'text/html; charset=utf-8' },
      })
    case 'dropped':
      return undefined
    case 'reply_lost':
      await pass()
      return undefined
  }
}

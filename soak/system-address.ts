import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { exchange } from './exchange.ts'

/** Returns the system as clients and browsers know it. Every request goes to another instance. */
export function systemAddress(baseUrl: string, appUrl: string, anyPort: () => number): ServerAddress {
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    async fetch(input, init) {
      const request = new Request(input, init)
      const { pathname, search, host } = new URL(request.url)
      const answer = await exchange(anyPort(), {
        method: request.method,
        path: pathname + search,
        headers: { ...Object.fromEntries(request.headers), host },
        ...(request.method === 'POST' && { body: await request.text() }),
      })
      const headers = new Headers()
      for (const [name, value] of Object.entries(answer.headers)) {
        for (const one of [value ?? []].flat()) headers.append(name, one)
      }
      const bodiless = answer.status === 204 || answer.status === 304
      return new Response(bodiless ? null : answer.text, { status: answer.status, headers })
    },
  }
}

import type { HttpClient, HttpRequest, HttpResponse } from './http-client.ts'

/** One request and what came of it. */
export interface ObservedRequest {
  request: HttpRequest
  /** When it was sent, in milliseconds since 1970. */
  sentAt: number
  /** Until the response began, or there was to be none. */
  durationMs: number
  /** Undefined when there was no response. */
  response: Pick<HttpResponse, 'status' | 'headers'> | undefined
}

/** Wraps a client: every request that it sends is told to `observe`, in the order of the responses. */
export function observedClient(http: HttpClient, observe: (seen: ObservedRequest) => void): HttpClient {
  return {
    async send(request) {
      const sentAt = Date.now()
      const begin = performance.now()
      let response: HttpResponse | undefined
      try {
        return (response = await http.send(request))
      } finally {
        const durationMs = Math.round(performance.now() - begin)
        observe({ request, sentAt, durationMs, response })
      }
    },
    close: () => http.close(),
  }
}

import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { type HttpClient, type HttpRequest, type HttpResponse, mediaTypeOf } from '../../http/http-client.ts'
import { challengesOf } from '../../transport/failed-response.ts'

/** The steps that work without a user and without registering a client. */
export type TraceStep = Extract<
  AttemptStep,
  'challenge' | 'resource_metadata' | 'server_metadata' | 'page' | 'first_call' | 'list'
>

/** One request and its outcome. */
interface ObservedRequest {
  request: HttpRequest
  /** When it was sent, in milliseconds since 1970. */
  sentAt: number
  /** Until the response began, or the request failed. */
  durationMs: number
  /** Undefined when there was no response. */
  response: HttpResponse | undefined
}

/** Wraps a client to report every request to `observe`, in the order of the responses. */
export function observedClient(http: HttpClient, observe: (seen: ObservedRequest) => void): HttpClient {
  return {
    async send(request) {
      const sentAt = Date.now()
      const begin = performance.now()
      let response: HttpResponse | undefined
      try {
        return (response = await http.send(request))
      } finally {
        observe({ request, sentAt, durationMs: Math.round(performance.now() - begin), response })
      }
    },
    close: () => http.close(),
  }
}

/** A request that belongs to a step of a connection. */
export interface StepRequest extends ObservedRequest {
  step: TraceStep
}

/** Returns the step that a request belongs to, given the earlier ones; undefined for a request that decides nothing. */
export function stepOf(
  { request: { method, url, body } }: ObservedRequest,
  before: readonly StepRequest[],
  serverUrl: string,
): TraceStep | undefined {
  const { href, pathname } = new URL(url)
  if (method === 'GET' && href !== new URL(serverUrl).href) return documentStep(pathname, before)
  const opening = before.every(({ step }) => step === 'challenge') ? 'challenge' : 'first_call'
  if (method === 'GET') {
    // HTTP+SSE starts with it. After a successful start it asks for a stream, which is optional.
    const opened = before.findLast(({ step }) => step === opening)
    return opened !== undefined && isAccepted(opened) ? undefined : opening
  }
  const called = methodOf(body)
  if (called === 'tools/list') return 'list'
  return called === 'initialize' || called === 'server/discover' ? opening : undefined
}

function methodOf(body: Uint8Array | string | undefined): unknown {
  const text = typeof body === 'object' ? new TextDecoder().decode(body) : body
  return parseJsonObject(text ?? '')?.['method']
}

function documentStep(path: string, before: readonly StepRequest[]): TraceStep {
  if (/\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(path)) {
    // Once the server is found, the metadata of its sign-in page's host is read.
    const isFound = before.some((each) => each.step === 'server_metadata' && isDocument(each))
    return isFound ? 'page' : 'server_metadata'
  }
  // Any other address comes from the challenge or a redirect.
  const last = before.at(-1)?.step
  return last === 'server_metadata' || last === 'page' ? last : 'resource_metadata'
}

/** Returns whether there was a successful response. */
export function isAccepted({ response }: ObservedRequest): boolean {
  return response !== undefined && response.status < 400
}

/** Returns whether the response is a document, not a web page. */
export function isDocument({ response }: ObservedRequest): boolean {
  return response?.status === 200 && mediaTypeOf(response) !== 'text/html'
}

/** Returns whether a 401 does not mention bearer tokens, which many clients require. */
export function hasNoChallenge({ response }: ObservedRequest): boolean {
  return response?.status === 401 && challengesOf(response).every(({ scheme }) => scheme !== 'bearer')
}

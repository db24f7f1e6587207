import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type AuthenticateChallenge,
  parseWwwAuthenticate,
} from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { ObservedRequest } from '../../http/observed-client.ts'

/** The steps that can be walked without a person, and without leaving a registration behind. */
export type TraceStep = Extract<
  AttemptStep,
  'challenge' | 'resource_metadata' | 'server_metadata' | 'page' | 'first_call' | 'list'
>

/** A request that belongs to a step of a connection. */
export interface StepRequest extends ObservedRequest {
  step: TraceStep
}

/** Returns the step that a request belongs to, given those before it; undefined for one that decides nothing. */
export function stepOf(
  seen: ObservedRequest,
  before: readonly StepRequest[],
  serverUrl: string,
): TraceStep | undefined {
  const { method, url } = seen.request
  const { pathname } = new URL(url)
  const last = before.at(-1)
  if (method === 'GET' && last?.response !== undefined && isNextPlace(url, last)) return last.step
  if (pathname.includes('/.well-known/oauth-protected-resource') || isNamedByChallenge(url, before))
    return 'resource_metadata'
  if (/\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(pathname)) {
    // Once the server is found, what its sign-in page's host publishes is looked at.
    const isFound = before.some((each) => each.step === 'server_metadata' && isDocument(each))
    return isFound ? 'page' : 'server_metadata'
  }
  return callStep(seen, before, serverUrl)
}

function callStep(
  { request: { method, url, headers, body } }: ObservedRequest,
  before: readonly StepRequest[],
  serverUrl: string,
): TraceStep | undefined {
  const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  const isFirst = !hasToken && before.every(({ step }) => step === 'challenge')
  const opening = isFirst ? 'challenge' : 'first_call'
  const last = before.findLast(({ step }) => step === opening)
  // HTTP+SSE opens with a GET. After an opening that succeeded it is a stream that servers need not have.
  if (method === 'GET') return url === serverUrl && !isAccepted(last) ? opening : undefined
  const called = method === 'POST' ? parseJsonObject(textOf(body))?.['method'] : undefined
  if (called === 'tools/list') return 'list'
  return called === 'initialize' || called === 'server/discover' ? opening : undefined
}

function textOf(body: Uint8Array | string | undefined): string {
  return typeof body === 'object' ? new TextDecoder().decode(body) : (body ?? '')
}

function isNextPlace(url: string, { request, response }: StepRequest): boolean {
  const { location } = response?.headers ?? {}
  const isRedirect = response !== undefined && response.status >= 300 && response.status < 400
  if (!isRedirect || typeof location !== 'string' || !URL.canParse(location, request.url)) return false
  return new URL(location, request.url).href === url
}

function isNamedByChallenge(url: string, before: readonly StepRequest[]): boolean {
  const named = before
    .filter(({ step }) => step === 'challenge')
    .flatMap(challengesOf)
    .map(({ params }) => params.get('resource_metadata'))
  return named.some((place) => place !== undefined && URL.canParse(place) && new URL(place).href === url)
}

/** Returns the challenges of a response. */
export function challengesOf({ response }: ObservedRequest): AuthenticateChallenge[] {
  return parseWwwAuthenticate(String(response?.headers['www-authenticate'] ?? ''))
}

/** Returns whether there was a response that refuses nothing. */
export function isAccepted(seen: ObservedRequest | undefined): boolean {
  return seen?.response !== undefined && seen.response.status < 400
}

/** Returns the media type of a response, without its parameters. */
export function mediaTypeOf({ response }: ObservedRequest): string {
  return String(response?.headers['content-type'] ?? '')
    .replace(/;.*/, '')
    .trim()
    .toLowerCase()
}

/** Returns whether there is a document, and no web page in its place. */
export function isDocument(seen: ObservedRequest): boolean {
  return seen.response?.status === 200 && mediaTypeOf(seen) !== 'text/html'
}

import { randomInt } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'

/** A `fetch` whose requests seem to come from one address of their own. */
export type CaseFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * A {@link CaseFetch} with a new address: servers that limit by `X-Forwarded-For` do not take the cases for one
 * impatient visitor, and a second factor is challenged and verified from the same place.
 */
export function createCaseFetch(): CaseFetch {
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`
  return (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', address)
    return fetch(request)
  }
}

/** An answer as it came over the wire. `body` is undefined where there is no JSON object. */
export interface WireAnswer {
  status: number
  headers: Headers
  body: JsonObject | undefined
}

/** What a call may carry besides its path. */
export interface WireOptions {
  body?: unknown
  bearer?: string
  /** Sent in place of the usual one. */
  apiKey?: string
  /** Default the version that today's clients ask for; null asks for none. */
  apiVersion?: string | null
}

/** A call of the auth API without any client. Follows no redirect. */
export type Wire = (method: string, path: string, options?: WireOptions) => Promise<WireAnswer>

/** A {@link Wire} to the auth API at `authUrl`. */
export function createWire(authUrl: string, apiKey: string, send: CaseFetch): Wire {
  return async (method, path, { body, bearer, apiVersion = '2024-01-01', ...options } = {}) => {
    const headers = new Headers({ apikey: options.apiKey ?? apiKey, 'content-type': 'application/json' })
    if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`)
    if (apiVersion !== null) headers.set('x-supabase-api-version', apiVersion)
    const response = await send(`${authUrl}${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: parse(text) }
  }
}

/** The error code of an answer, in either dialect. */
export function codeOf({ body }: WireAnswer): unknown {
  return typeof body?.['code'] === 'string' ? body['code'] : body?.['error_code']
}

/** The text under `name`; throws when there is none, saying what came instead. */
export function textOf(answer: WireAnswer, name: string): string {
  const value = answer.body?.[name]
  if (typeof value === 'string') return value
  throw new Error(`The auth API answered ${answer.status} ${String(codeOf(answer))} without ${name}.`)
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

import { randomInt } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'

/** A `fetch` whose requests seem to come from a separate address. */
export type CaseFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Creates a {@link CaseFetch} with a new address: servers that limit by `X-Forwarded-For` do not mistake the cases
 * for one impatient visitor, and a second factor is challenged and verified from the same address.
 */
export function createCaseFetch(): CaseFetch {
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`
  return (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', address)
    return fetch(request)
  }
}

/** A response on the wire. `body` is undefined unless it is a JSON object. */
export interface WireAnswer {
  status: number
  headers: Headers
  body: JsonObject | undefined
}

/** Optional parts of a call. */
interface WireOptions {
  body?: unknown
  bearer?: string
  /** Replaces the default one. */
  apiKey?: string
  /** Defaults to the version of current clients; null sends none. */
  apiVersion?: string | null
}

/** Calls the auth API without a client. Follows no redirect. */
export type Wire = (method: string, path: string, options?: WireOptions) => Promise<WireAnswer>

/** Creates a {@link Wire} to the auth API at `authUrl`. */
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

/** Returns the error code of a response, in either dialect. */
export function codeOf({ body }: WireAnswer): unknown {
  return typeof body?.['code'] === 'string' ? body['code'] : body?.['error_code']
}

/** Returns the text under `name`; throws with the response when it is missing. */
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

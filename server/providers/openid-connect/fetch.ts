import { type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CustomFetch, TokenEndpointResponse } from 'openid-client'
import { fetchFromProvider } from '../provider-response.ts'

/** Creates the `fetch` for the OpenID Connect library: follows no redirect. The caller's signal is the time-out. */
export function createOidcFetch(runtime: Pick<Runtime, 'fetch'>): CustomFetch {
  return (url, { body, headers, method, signal }) => {
    const request = new Request(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body && { body: body as Exclude<RequestInit['body'], undefined> }),
    })
    return fetchFromProvider(request, runtime, signal)
  }
}

/** The member under which {@link setIdTokenAside} passes on an ID token. */
const asideName = 'unchecked_id_token'

/**
 * Renames the ID token of every successful response, so that the library does not check it. For a refresh: the library discards the
 * whole response if it rejects the ID token, for example because our clock is ahead, and with it the only valid refresh token.
 * Responses that are not JSON objects pass unchanged.
 */
export function setIdTokenAside(fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, options)
    const answer = response.ok ? parseJsonObject(await response.clone().text()) : undefined
    if (answer?.['id_token'] === undefined) return response
    const { id_token: idToken, ...rest } = answer
    const renamed: JsonObject = { ...rest, [asideName]: idToken }
    return new Response(JSON.stringify(renamed), { status: response.status, headers: response.headers })
  }
}

/** Returns the renamed ID token, if any. None of it has been checked. */
export function uncheckedIdToken(answer: TokenEndpointResponse): string | undefined {
  const idToken: unknown = answer[asideName]
  return typeof idToken === 'string' ? idToken : undefined
}

import { type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { CustomFetch, TokenEndpointResponse } from 'openid-client'

/** The member under which {@link setIdTokenAside} hands an ID token on. */
const asideName = 'unchecked_id_token'

/**
 * Gives the ID token of every good answer another name, so that the library does not check it. For a refresh: the
 * library throws the whole answer away when it dislikes its ID token, as when our clock is ahead, and the only refresh
 * token that is still good with it. Answers that are not JSON objects pass unchanged.
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

/** The ID token that was set aside; undefined when there was none. Nothing of it has been checked. */
export function uncheckedIdToken(answer: TokenEndpointResponse): string | undefined {
  const idToken: unknown = answer[asideName]
  return typeof idToken === 'string' ? idToken : undefined
}

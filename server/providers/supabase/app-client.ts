import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError, type SocialMethod } from '../../core/session/session-provider.ts'
import type { GotrueRequest } from './call.ts'
import { approvalFailure, clientRefreshFailure, codeFailure, type ReadRefusal } from './failure.ts'

/** This server as a client of the OAuth server of the project. */
export interface AppClientConfig {
  id: string
  secret: string
  /** Name of the web app, whose page of consent is then a way to sign in; undefined: the web app has a page for this server. */
  label: string | undefined
}

/** The way to sign in through the web app's page of consent. No provider of the API has this name. */
export const appMethod = 'oauth_server'

/** Describes {@link appMethod}, if it is offered. */
export function appMethods(client: AppClientConfig | undefined): SocialMethod[] {
  return client?.label === undefined ? [] : [{ id: appMethod, label: client.label }]
}

/** Begins PKCE; `secret` stays on the server. */
export async function startPkce(
  runtime: Pick<Runtime, 'randomBytes'>,
): Promise<{ secret: string; challenge: Record<'code_challenge' | 'code_challenge_method', string> }> {
  const secret = createCodeVerifier(runtime.randomBytes)
  const code_challenge = await deriveCodeChallenge(secret)
  return { secret, challenge: { code_challenge, code_challenge_method: 's256' } }
}

type Call = (request: GotrueRequest, readRefusal: ReadRefusal) => Promise<unknown>

/** A sign-in that has left: `secret` stays on the server. */
interface Started {
  url: string
  secret: string
}

/** Calls of the client. Tokens are returned as the API sent them. */
export interface AppClient {
  /** Returns where a browser asks the web app's page of consent. */
  start(callbackUrl: string): Promise<Started & { state: string }>
  /** Asks and approves in the name of the user of `bearer`, who has agreed; the URL is the return with the code. */
  approve(bearer: string, request: { callbackUrl: string; state: string }): Promise<Started>
  redeem(code: string, verifier: string, callbackUrl: string): Promise<unknown>
  refresh(refreshToken: string): Promise<unknown>
}

/** Creates the calls of a client at the API at `url`, to which `call` sends. */
export function createAppClient(
  { url, id, secret }: AppClientConfig & { url: string },
  call: Call,
  runtime: Pick<Runtime, 'randomBytes'>,
): AppClient {
  const path = '/oauth/authorize'
  const basic = { id, secret }

  async function request(callbackUrl: string, state: string) {
    const pkce = await startPkce(runtime)
    const parameters = {
      response_type: 'code',
      client_id: id,
      redirect_uri: callbackUrl,
      // With openid, a project that signs with HS256 cannot answer.
      scope: 'email',
      state,
      ...pkce.challenge,
    }
    return { query: new URLSearchParams(parameters).toString(), secret: pkce.secret }
  }

  const token = (fields: Record<string, string>, readRefusal: ReadRefusal): Promise<unknown> =>
    call({ method: 'POST', path: '/oauth/token', body: new URLSearchParams(fields), basic }, readRefusal)

  return {
    async start(callbackUrl) {
      const state = encodeBase64url(runtime.randomBytes(16))
      const { query, secret } = await request(callbackUrl, state)
      return { url: `${url}${path}?${query}`, secret, state }
    },

    async approve(bearer, { callbackUrl, state }) {
      const { query, secret } = await request(callbackUrl, state)
      const page = await call(
        { method: 'GET', path: `${path}?${query}`, expects: 'redirect' },
        approvalFailure,
      )
      const authorization = `/oauth/authorizations/${readAuthorizationId(page)}`
      const known = await call({ method: 'GET', path: authorization, bearer }, approvalFailure)
      const approval = { path: `${authorization}/consent`, body: { action: 'approve' }, bearer }
      // An earlier consent of this user is approved at once.
      const redirect =
        redirectOf(known) ?? redirectOf(await call({ method: 'POST', ...approval }, approvalFailure))
      const parameters = URL.parse(redirect ?? '')?.searchParams
      const isOurs = redirect?.split('?')[0] === callbackUrl && parameters?.get('state') === state
      if (redirect !== undefined && isOurs && parameters.get('code')) return { url: redirect, secret }
      throw new ProviderError('protocol', 'The OAuth server approved without the code of this sign-in.')
    },

    redeem: (code, verifier, callbackUrl) =>
      token(
        { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: callbackUrl },
        codeFailure,
      ),

    refresh: (refreshToken) =>
      token({ grant_type: 'refresh_token', refresh_token: refreshToken }, clientRefreshFailure),
  }
}

/** Reads where the OAuth server sends the browser: to the page of consent, or back with an error. */
function readAuthorizationId(location: unknown): string {
  const parameters = URL.parse(String(location))?.searchParams
  const id = parameters?.get('authorization_id') ?? ''
  if (/^[\w-]{1,128}$/.test(id)) return id
  const error = /^\w{1,64}$/.exec(parameters?.get('error') ?? '')?.[0] ?? 'no authorization_id'
  throw new ProviderError('protocol', `The OAuth server began no authorization: ${error}.`)
}

function redirectOf(body: unknown): string | undefined {
  const url = isJsonObject(body) ? body['redirect_url'] : undefined
  return typeof url === 'string' ? url : undefined
}

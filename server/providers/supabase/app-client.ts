import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
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

/** Begins PKCE; `secret` stays on the server. */
export async function startPkce(
  runtime: Pick<Runtime, 'randomBytes'>,
): Promise<{ secret: string; challenge: Record<'code_challenge' | 'code_challenge_method', string> }> {
  const secret = createCodeVerifier(runtime.randomBytes)
  const code_challenge = await deriveCodeChallenge(secret)
  return { secret, challenge: { code_challenge, code_challenge_method: 's256' } }
}

type Call = (request: GotrueRequest, readRefusal: ReadRefusal) => Promise<unknown>

interface AppClientPorts extends AppClientConfig {
  /** Base URL of the API to which `call` sends. */
  url: string
  call: Call
  runtime: Pick<Runtime, 'randomBytes'>
}

/** The calls of a client. Tokens are returned as the API sent them. */
export class AppClient {
  readonly #ports: AppClientPorts

  constructor(ports: AppClientPorts) {
    this.#ports = ports
  }

  /** Returns where a browser asks the web app's page of consent; `secret` stays on the server. */
  async start({
    callbackUrl,
    state = encodeBase64url(this.#ports.runtime.randomBytes(16)),
  }: {
    callbackUrl: string
    state?: string
  }): Promise<{ url: string; secret: string; state: string }> {
    const { url, id, runtime } = this.#ports
    const { secret, challenge } = await startPkce(runtime)
    const parameters = {
      response_type: 'code',
      client_id: id,
      redirect_uri: callbackUrl,
      // With openid, a project that signs with HS256 cannot answer.
      scope: 'email',
      state,
      ...challenge,
    }
    return { url: `${url}/oauth/authorize?${new URLSearchParams(parameters).toString()}`, secret, state }
  }

  /** Asks and approves in the name of the user of `bearer`, who has agreed; the URL is the return with the code. */
  async approve(
    bearer: string,
    to: { callbackUrl: string; state: string },
  ): Promise<{ url: string; secret: string }> {
    const { url, call } = this.#ports
    const { url: asked, secret } = await this.start(to)
    const send = async (request: GotrueRequest): Promise<unknown> => call(request, approvalFailure)
    const page = await send({ method: 'GET', path: asked.slice(url.length), expects: 'redirect' })
    const path = `/oauth/authorizations/${readAuthorizationId(page)}`
    const approval = { path: `${path}/consent`, body: { action: 'approve' }, bearer }
    // An earlier consent of this user is approved at once.
    const redirect =
      redirectOf(await send({ method: 'GET', path, bearer })) ??
      redirectOf(await send({ method: 'POST', ...approval }))
    const parameters = URL.parse(redirect ?? '')?.searchParams
    const isOurs = redirect?.split('?')[0] === to.callbackUrl && parameters?.get('state') === to.state
    if (redirect !== undefined && isOurs && parameters.get('code')) return { url: redirect, secret }
    throw new ProviderError('protocol', 'The OAuth server approved without the code of this sign-in.')
  }

  redeem(code: string, code_verifier: string, redirect_uri: string): Promise<unknown> {
    return this.#token({ grant_type: 'authorization_code', code, code_verifier, redirect_uri }, codeFailure)
  }

  refresh(refresh_token: string): Promise<unknown> {
    return this.#token({ grant_type: 'refresh_token', refresh_token }, clientRefreshFailure)
  }

  #token(fields: Record<string, string>, readRefusal: ReadRefusal): Promise<unknown> {
    const { call, id, secret } = this.#ports
    const request = { path: '/oauth/token', body: new URLSearchParams(fields), basic: { id, secret } }
    return call({ method: 'POST', ...request }, readRefusal)
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

import { generateKeyPairSync, sign } from 'node:crypto'
import {
  account,
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  type Tokens,
} from '../support/server/drawbridge-fixture.ts'
import { sessionCookieHeader, signInToWebApp } from '../support/server/web-app-session.ts'

/** Values that a table row may use in braces, as in `{refresh_token}`. Each is created on first use. */
export interface Stage {
  /** Replaces every name in braces in `text` with its value. */
  fill(text: string): Promise<string>
  /** Sets the value of `name` for later steps of the same case. */
  keep(name: string, value: string): void
  /** Returns every secret created so far: no refusal may contain any of them. */
  secrets(): Promise<string[]>
}

type Values = Record<string, (get: (name: string) => Promise<string>) => Promise<string>>

/** Names of secret values. */
const secretNames =
  /^(?:code|refresh_token|access_token|client_secret|device_code|assertion|session_cookie|web_\w+_token)$/

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const deviceGrants = ['authorization_code', 'refresh_token', deviceGrant]

/**
 * Creates the values of one case: `client` and `other` are public, `web` has a secret, `keyed` a key, `code_only` registered one
 * grant type; `code`, `refresh_token` and `access_token` belong to `client`, `device_code` to `device`, `assertion` to `keyed`.
 * `session_cookie` is what a browser signed in to the web app sends.
 */
export function createStage(drawbridge: DrawbridgeFixture): Stage {
  const values = new Map<string, Promise<string>>()
  const registered = (metadata?: Record<string, unknown>) => async () =>
    (await drawbridge.register(metadata)).client_id

  async function tokens(clientId: string, secret?: string): Promise<Tokens> {
    const fields = secret === undefined ? {} : { client_secret: secret }
    const response = await drawbridge.redeem(clientId, await drawbridge.code(clientId), fields)
    if (response.status !== 200) throw new Error(`The stage got ${response.status} for a good code.`)
    return (await response.json()) as Tokens
  }

  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  const makers: Values = {
    origin: async () => baseUrl,
    resource: async () => `${baseUrl}/mcp`,
    redirect_uri: async () => redirectUri,
    challenge: async () => drawbridge.authorizeUrl('').searchParams.get('code_challenge') ?? '',
    // The verifier behind every code of the fixture: 32 times the byte 7.
    verifier: async () => 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc',
    email: async () => account.email,
    device_grant: async () => deviceGrant,
    client: registered(),
    other: registered(),
    code_only: registered({ grant_types: ['authorization_code'] }),
    device: registered({ grant_types: deviceGrants }),
    other_device: registered({ grant_types: deviceGrants }),
    two_uris: registered({ redirect_uris: [redirectUri, 'https://client.example/callback'] }),
    keyed: registered({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key.publicKey.export({ format: 'jwk' })] },
    }),
    code: async (get) => drawbridge.code(await get('client')),
    other_code: async (get) => drawbridge.code(await get('other')),
    web_code: async (get) => drawbridge.code(await get('web')),
    keyed_code: async (get) => drawbridge.code(await get('keyed')),
    code_only_code: async (get) => drawbridge.code(await get('code_only')),
    web: async () => {
      const { client_id: id, client_secret: secret = '' } = await drawbridge.register({
        token_endpoint_auth_method: 'client_secret_post',
      })
      values.set('client_secret', Promise.resolve(secret))
      return id
    },
    client_secret: async (get) => {
      await get('web')
      return (await values.get('client_secret')) ?? ''
    },
    assertion: async (get) => {
      const id = await get('keyed')
      const now = drawbridge.runtime.now()
      const claims = { iss: id, sub: id, aud: baseUrl, jti: 'one', iat: now, exp: now + 300 }
      const text = [{ alg: 'ES256' }, claims].map(encodeJson).join('.')
      const signature = sign('sha256', Buffer.from(text), {
        key: key.privateKey,
        dsaEncoding: 'ieee-p1363',
      })
      return `${text}.${signature.toString('base64url')}`
    },
    session_cookie: async () => sessionCookieHeader(await signInToWebApp(drawbridge)),
    basic: async (get) => basic(await get('web'), await get('client_secret')),
    basic_wrong: async (get) => basic(await get('web'), 'wrong'),
    basic_public: async (get) => basic(await get('client'), ''),
    access_token: (get) => pair('', get).then(({ access_token: token }) => token),
    refresh_token: (get) => pair('', get).then(({ refresh_token: token }) => token),
    web_access_token: (get) => pair('web_', get).then(({ access_token: token }) => token),
    web_refresh_token: (get) => pair('web_', get).then(({ refresh_token: token }) => token),
    device_code: (get) => device(get).then((body) => body['device_code'] ?? ''),
    user_code: (get) => device(get).then((body) => body['user_code'] ?? ''),
  }
  const pairs = new Map<string, Promise<Tokens>>()
  let started: Promise<Record<string, string>> | undefined

  function pair(prefix: string, get: (name: string) => Promise<string>): Promise<Tokens> {
    const known = pairs.get(prefix)
    if (known) return known
    const made = (async () =>
      prefix === 'web_'
        ? tokens(await get('web'), await get('client_secret'))
        : tokens(await get('client')))()
    pairs.set(prefix, made)
    return made
  }

  function device(get: (name: string) => Promise<string>): Promise<Record<string, string>> {
    started ??= (async () => {
      const fields = { client_id: await get('device') }
      const response = await drawbridge.postForm('/oauth/device_authorization', fields)
      if (response.status !== 200) throw new Error(`Starting a device answered ${response.status}.`)
      return (await response.json()) as Record<string, string>
    })()
    return started
  }

  function get(name: string): Promise<string> {
    const known = values.get(name)
    if (known) return known
    const maker = makers[name]
    if (!maker) throw new Error(`A row names {${name}}, which the stage does not have.`)
    const made = maker(get)
    // Creating it may already have set the value.
    const value = values.get(name) ?? made
    values.set(name, value)
    return value
  }

  return {
    async fill(text) {
      const names = new Set([...text.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name))
      let filled = text
      for (const name of names) filled = filled.replaceAll(`{${name}}`, await get(name))
      return filled
    },
    keep: (name, value) => void values.set(name, Promise.resolve(value)),
    async secrets() {
      const made = [...values].filter(([name]) => secretNames.test(name)).map(([, value]) => value)
      const both = (await Promise.all(pairs.values())).flatMap((each) => [
        each.access_token,
        each.refresh_token,
      ])
      return [...(await Promise.all(made)), ...both]
    },
  }
}

function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

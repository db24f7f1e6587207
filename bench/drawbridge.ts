import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { randomBytes } from 'node:crypto'
import { createBrowser } from '../tests/support/server/browser.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { type Child, startChild } from './child.ts'

/** Ports and data folder of one Drawbridge. */
export interface DrawbridgeSite {
  launcher: string
  directory: string
  port: number
  baseUrl: string
  appUrl: string
}

/** A client's credentials after signing in once. */
export interface Connected {
  clientId: string
  accessToken: string
  refreshToken: string
}

/**
 * Creates a site with an empty data folder below `directory`. `launcher` is the script that starts the built server.
 */
export async function createSite(launcher: string, directory: string): Promise<DrawbridgeSite> {
  mkdirSync(directory, { recursive: true })
  const port = await freePort()
  return {
    launcher,
    directory,
    port,
    baseUrl: `http://localhost:${port}`,
    appUrl: `http://localhost:${await freePort()}`,
  }
}

/** Returns the path of the store of `site`. */
export function databaseOf(site: DrawbridgeSite): string {
  return join(site.directory, '.drawbridge', 'server.db')
}

/** Differences of a measured server from its defaults. */
export interface DrawbridgeOptions {
  /** Value of NODE_OPTIONS. */
  nodeOptions?: string
  /** The setting of that name: short lifetimes allow refreshing a grant more often than every ten seconds. */
  accessTokenTtl?: string
  /** Further settings, by variable name without the prefix. */
  settings?: Readonly<Record<string, string>>
}

/**
 * Starts the built server with its defaults except for `options`, as users run it: SQLite, and its log kept in a
 * file.
 */
export function startDrawbridge(
  site: DrawbridgeSite,
  { nodeOptions = '', accessTokenTtl, settings = {} }: DrawbridgeOptions = {},
): Promise<Child> {
  return startChild({
    name: 'Drawbridge',
    script: site.launcher,
    argv: ['--json'],
    directory: site.directory,
    environment: {
      DRAWBRIDGE_BASE_URL: site.baseUrl,
      DRAWBRIDGE_LISTEN: `127.0.0.1:${site.port}`,
      DRAWBRIDGE_APP_URL: site.appUrl,
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])),
      ...(nodeOptions !== '' && { NODE_OPTIONS: nodeOptions }),
      ...(accessTokenTtl !== undefined && { DRAWBRIDGE_ACCESS_TOKEN_TTL: accessTokenTtl }),
    },
    logFile: join(site.directory, 'log'),
  })
}

/** Creates an account and a client at a running server, signs in on the login page and redeems the code. */
export async function connect(site: DrawbridgeSite, email: string = 'ada@example.com'): Promise<Connected> {
  const account = { email, password: 'correct horse battery' }
  const redirectUri = 'http://127.0.0.1:4711/callback'
  await post(`${site.appUrl}/auth/v1/signup`, 'application/json', JSON.stringify(account))
  const { client_id: clientId } = (await post(
    `${site.baseUrl}/oauth/register`,
    'application/json',
    JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
  )) as { client_id: string }
  const codeVerifier = createCodeVerifier((length) => randomBytes(length))
  const served = new Set([site.baseUrl, site.appUrl])
  const browser = createBrowser((request) =>
    served.has(new URL(request.url).origin) ? fetch(request) : undefined,
  )
  const login = new URL(`${site.baseUrl}/oauth/authorize`)
  login.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'mcp offline_access',
    resource: `${site.baseUrl}/mcp`,
    code_challenge: await deriveCodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  }).toString()
  const { url } = await browser.submit(await browser.visit(login), 'password', account)
  const tokens = (await post(
    `${site.baseUrl}/oauth/token`,
    'application/x-www-form-urlencoded',
    new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: clientId,
      code: url.searchParams.get('code') ?? '',
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    }).toString(),
  )) as { access_token: string; refresh_token: string }
  return { clientId, accessToken: tokens.access_token, refreshToken: tokens.refresh_token }
}

async function post(url: string, type: string, body: string): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

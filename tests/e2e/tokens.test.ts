import { spawnSync } from 'node:child_process'
import {
  Client as ClientTwo,
  ClientCredentialsProvider as CredentialsTwo,
  type OAuthClientProvider as ProviderTwo,
  PrivateKeyJwtProvider as SignedTwo,
  StreamableHTTPClientTransport as TransportTwo,
} from '@modelcontextprotocol/client'
import {
  ClientCredentialsProvider as CredentialsOne,
  PrivateKeyJwtProvider as SignedOne,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import type { OAuthClientProvider as ProviderOne } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { runCommand as runBridge } from '../support/bridge/cli/command-run.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBridge, type BridgeHome, createBridgeHome } from './bridge-process.ts'
import { runCommand } from './command-process.ts'
import { createPerson, type Person } from './person.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { addService, addSigningService, makePersonalToken, type SigningService } from './tokens.ts'

let server: ServerProcess
let person: Person
let home: BridgeHome
let service: { client_id: string; client_secret: string }
let signer: SigningService

beforeAll(async () => {
  home = createBridgeHome()
  server = await startServer({ PERSONAL_TOKENS: 'on' })
  person = await createPerson(server)
  service = await addService(server, 'Nightly report')
  signer = await addSigningService(server, 'Signer')
})
afterAll(async () => {
  home.remove()
  await server.close()
})

/** How a client is let in: by a provider of the SDK, or by a header that its user set. */
type Way =
  | { authProvider: ProviderOne | ProviderTwo }
  | { requestInit: { headers: { authorization: string } } }

async function whoami(way: Way, era: 1 | 2): Promise<unknown> {
  const about = { name: 'job', version: '1' }
  const url = new URL(server.mcpUrl)
  const options = { ...way, fetch: server.fetch }
  if (era === 1) {
    const client = new ClientOne(about)
    await client.connect(new TransportOne(url, options))
    const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} })
    await client.close()
    return structuredContent
  }
  const client = new ClientTwo(about, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new TransportTwo(url, options))
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} })
  await client.close()
  return structuredContent
}

const bySecret = () => ({
  clientId: service.client_id,
  clientSecret: service.client_secret,
  expectedIssuer: server.baseUrl,
})

const byKey = () => ({
  clientId: signer.client_id,
  privateKey: { ...signer.privateKey },
  algorithm: 'ES256',
  expectedIssuer: server.baseUrl,
})

async function serviceToken(of: typeof service): Promise<string> {
  const credentials = btoa(`${of.client_id}:${of.client_secret}`)
  const answer = await server.fetch(`${server.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  server.secrets.note('access_token', token)
  return token
}

/** Returns how `drawbridge doctor` ends with a token, and its last finding. */
async function diagnose(token: string): Promise<[code: number, finding: string]> {
  const environment = { DRAWBRIDGE_TOKEN: token }
  const { code, json } = await runBridge(['doctor', server.mcpUrl, '--json'], {
    home: home.path,
    environment,
  })
  const { checks } = json() as { checks: { message: string; fix?: string }[] }
  const { message = '', fix = '' } = checks.at(-1) ?? {}
  return [code, `${message} ${fix}`]
}

describe('a service', () => {
  it.each<[sdk: string, era: 1 | 2, provider: () => ProviderOne | ProviderTwo, name: string]>([
    ['SDK 1, with a secret', 1, () => new CredentialsOne(bySecret()), 'Nightly report'],
    ['SDK 1, signing', 1, () => new SignedOne(byKey()), 'Signer'],
    ['SDK 2, with a secret', 2, () => new CredentialsTwo(bySecret()), 'Nightly report'],
    ['SDK 2, signing', 2, () => new SignedTwo(byKey()), 'Signer'],
  ])('the %s client gets tokens by itself and calls as the service', async (_sdk, era, provider, name) => {
    const clientId = name === 'Signer' ? signer.client_id : service.client_id
    expect(await whoami({ authProvider: provider() }, era)).toEqual({
      sub: `service:${clientId}`,
      name,
      credential: 'service',
    })
  })

  it('the bridge calls as the service, without a person or browser', async () => {
    const info = { client_id: service.client_id, client_secret: service.client_secret }
    const bridge = startBridge(server.mcpUrl, home, {
      flags: ['--client-credentials', '--store', 'file'],
      environment: { DRAWBRIDGE_STATIC_OAUTH_CLIENT_INFO: JSON.stringify(info) },
    })
    await bridge.open()
    expect(await bridge.call('whoami')).toContain(`service:${service.client_id}`)
    await bridge.close()
  })

  it('the list of grants shows its tokens, and removing it ends them', async () => {
    const other = await addService(server, 'Short-lived')
    const token = await serviceToken(other)
    const ping = async (): Promise<number> =>
      (
        await server.fetch(server.mcpUrl, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        })
      ).status
    expect(await ping()).toBe(200)
    const { stdout } = await runCommand(server, ['grants', 'list', '--client', other.client_id, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      grants: [{ sub: `service:${other.client_id}`, client_name: 'Short-lived', state: 'live' }],
    })
    expect((await runCommand(server, ['clients', 'remove', other.client_id])).code).toBe(0)
    expect(await ping()).toBe(401)
  })
})

describe('a personal token', () => {
  let token: string
  let ended: string
  beforeAll(async () => {
    token = await makePersonalToken(server, person)
    ended = await makePersonalToken(server, person)
    const argv = ['grants', 'revoke', '--token', '-', '--json']
    expect((await runCommand(server, argv, { stdin: `${ended}\n` })).code).toBe(0)
  })

  it.each([1, 2] as const)('a client of SDK %i calls with it in a header', async (era) => {
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const caller = { email: person.email, credential: 'personal_token' }
    expect(await whoami({ requestInit }, era)).toMatchObject(caller)
  })

  it('curl calls with it in a header that no argument shows, and is refused when a character is wrong', () => {
    const call = { name: 'whoami', arguments: {} }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const headers = ['content-type: application/json', 'accept: application/json, text/event-stream']
    const options = ['-sS', '-w', '%{http_code}', '-H', '@-', ...headers.flatMap((text) => ['-H', text])]
    const curl = (bearer: string): string => {
      const argv = [...options, '-d', JSON.stringify(message), server.mcpUrl]
      const { stdout, stderr } = spawnSync('curl', argv, {
        input: `Authorization: Bearer ${bearer}\n`,
        encoding: 'utf8',
      })
      expect(stderr).toBe('')
      return stdout
    }
    expect(curl(token)).toMatch(new RegExp(`You are ${person.email}.*200$`, 's'))
    const last = token.endsWith('0') ? '1' : '0'
    expect(curl(token.slice(0, -1) + last)).toMatch(/invalid_token.*401$/s)
  })

  it.each<[what: string, token: () => string | Promise<string>, code: number, finding: RegExp]>([
    ['a personal token', () => token, 0, /has 4 tools/],
    ['the token of a service', () => serviceToken(service), 0, /has 4 tools/],
    [
      'a mistyped personal token',
      () => token.replace(/^mcpt_./, 'mcpt_~'),
      3,
      /mistyped, expired or ended.*unset/,
    ],
    ['half a personal token', () => token.slice(0, 30), 3, /mistyped, expired or ended.*unset/],
    ['a token that has ended', () => ended, 3, /mistyped, expired or ended.*unset/],
  ])(
    'doctor says with %s in DRAWBRIDGE_TOKEN whether the server takes it',
    async (_what, of, code, finding) => {
      expect(await diagnose(await of())).toEqual([code, expect.stringMatching(finding)])
    },
  )

  it('the bridge calls with it from DRAWBRIDGE_TOKEN, and an operator ends it from stdin', async () => {
    const environment = { DRAWBRIDGE_TOKEN: token }
    const bridge = startBridge(server.mcpUrl, home, { environment })
    await bridge.open()
    expect(await bridge.call('whoami')).toContain(person.email)
    await bridge.close()
    const revoked = await runCommand(server, ['grants', 'revoke', '--token', '-', '--json'], {
      stdin: `${token}\n`,
    })
    expect(revoked.code, revoked.stderr).toBe(0)
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    await expect(whoami({ requestInit }, 2)).rejects.toThrow(/authoriz/i)
  })
})

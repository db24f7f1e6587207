import { rmSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExpressServer } from '../peers/express-server.ts'
import { folder, hasHosts } from '../peers/hosts/host-app.ts'
import { type ServingProcess, startServingProcess } from '../peers/serving-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { personOf } from './person.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient } from './plain-client.ts'
import { createSecretLedger } from './secret-ledger.ts'
import type { ServerAddress } from './server-process.ts'

const account = { email: 'ada@example.com', password: 'correct horse battery' }
const guide = fileURLToPath(new URL('../../docs/library.md', import.meta.url))

/** Returns the program of docs/library.md that imports `framework`. */
function recipe(framework: string): string {
  const blocks = [...readFileSync(guide, 'utf8').matchAll(/^```js\n(.*?)^```$/gms)].map(
    ([, text = '']) => text,
  )
  const found = blocks.filter((text) => text.includes(`from '${framework}'`))
  if (found.length !== 1) throw new Error(`${found.length} programs import ${framework}.`)
  return found[0]!
}

/** The program of a recipe while it runs, and the server in it. */
interface Host extends ServerAddress {
  process: ServingProcess
  origin: string
  close(): Promise<void>
}

let auth: AuthServer
let programs = 0

/** Runs a recipe as it is, except for its port; for Hono, which gives its settings, with those of the tests. */
async function start(framework: string, settings: Readonly<Record<string, string>> = {}): Promise<Host> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const given = {
    ...auth.settings,
    BASE_URL: origin,
    STORE: 'memory:',
    ...settings,
  }
  const named = Object.entries(given).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const text = recipe(framework)
    .replaceAll('3000', String(port))
    .replace(/createDrawbridge\(\{.*\}\)/, 'createDrawbridge(environmentSettings())')
    .replace('import { createDrawbridge } from', 'import { createDrawbridge, environmentSettings } from')
    .replace(/^serve\(\{ fetch: drawbridge\.fetchApp.*$/m, '')
  programs += 1
  const program = join(folder, `recipe-${process.pid}-${programs}.mjs`)
  writeFileSync(program, text)
  const running = await startServingProcess({
    command: globalThis.process.execPath,
    args: [program],
    port,
    environment: Object.fromEntries(named) as Record<string, string>,
  })
  return {
    process: running,
    origin,
    baseUrl: origin,
    mcpUrl: `${origin}/mcp`,
    appUrl: auth.appUrl,
    fetch: createSecretLedger().fetch,
    async close() {
      rmSync(program, { force: true })
      await running.close()
    },
  }
}

describe.skipIf(!hasHosts())('the recipes of docs/library.md', () => {
  beforeAll(async () => {
    auth = await startAuthServer()
    await auth.admin.createUser(account)
  })
  afterAll(() => auth?.close())

  describe.each(['express', 'fastify', 'hono'])('with %s', (framework) => {
    let host: Host
    let client: PlainClient

    beforeAll(async () => {
      host = await start(framework)
      client = await registerPlainClient(host)
    })
    afterAll(() => host?.close())

    it(`a client signs in at the server in ${framework}, calls a tool and refreshes`, async () => {
      const tokens = await client.connect(personOf(host, account))
      expect(await callTool(host, tokens.access_token, 'whoami')).toContain(account.email)
      expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
    })

    it(`the metadata, the challenge and the pages of the server in ${framework} are where clients look`, async () => {
      const metadata = await host.fetch(`${host.origin}/.well-known/oauth-authorization-server`)
      expect(await metadata.json()).toMatchObject({ issuer: host.origin })
      const challenge = await postMcp(host, { method: 'ping' })
      expect(challenge.status).toBe(401)
      for (const page of ['/help', '/account/connections']) {
        const shown = await host.fetch(host.origin + page, {
          headers: { accept: 'text/html' },
        })
        expect([page, shown.status]).toEqual([page, 200])
      }
    })

    it(`the limits of the server in ${framework} are for each address`, async () => {
      const limited = await start(framework, { REGISTRATION_LIMIT: '2' })
      const statuses: number[] = []
      for (let count = 0; count < 4; count += 1) {
        const answer = await limited.fetch(`${limited.baseUrl}/oauth/register`, {
          method: 'POST',
          // A header that no trusted proxy wrote.
          headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${count}` },
          body: JSON.stringify({
            redirect_uris: ['http://127.0.0.1/cb'],
            token_endpoint_auth_method: 'none',
          }),
        })
        statuses.push(answer.status)
      }
      await limited.close()
      expect(statuses).toEqual([201, 201, 429, 429])
    })
  })

  it.each(['express', 'fastify'])(
    'the routes and the body parser of %s work beside the server',
    async (framework) => {
      const host = await start(framework)
      const echoed = await host.fetch(`${host.origin}/echo`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"own":true}',
      })
      expect(await echoed.json()).toEqual({ own: true })
      expect((await host.fetch(`${host.origin}/mcp-of-the-app`)).status).toBe(404)
      await host.close()
    },
  )

  it('the library serves an MCP server at a URL to clients that signed in, and the keys of its assertions', async () => {
    const upstream = await startExpressServer(await freePort())
    const host = await start('express', { UPSTREAM: upstream.url })
    const client = await registerPlainClient(host)
    const { access_token: token } = await client.connect(personOf(host, account))
    expect(await callTool(host, token, 'opening_hours')).toBe('Open from 9 to 5.')
    expect((await postMcp(host, { method: 'ping' })).status).toBe(401)
    const keys = await host.fetch(`${host.origin}/oauth/jwks`)
    expect(await keys.json()).toMatchObject({ keys: [expect.objectContaining({ kty: expect.any(String) })] })
    await host.close()
    await upstream.close()
  })
})

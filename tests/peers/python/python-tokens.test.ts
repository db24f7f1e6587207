import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addService, makePersonalToken } from '../../e2e/tokens.ts'
import { createPerson, type Person } from '../../e2e/person.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { hasPythonPeers, inEnvironment } from './python-peer.ts'

const program = fileURLToPath(new URL('token_client.py', import.meta.url))

let server: ServerProcess
let person: Person

/** Runs a job to its end and returns what `whoami` said. */
async function whoami(line: 'mcp-1' | 'mcp-2', kind: string, variables: Record<string, string>) {
  const { stdout } = await promisify(execFile)(
    inEnvironment(line, 'bin/python'),
    [program, kind, server.mcpUrl],
    { timeout: 60_000, env: { PATH: process.env['PATH'] ?? '', HOME: server.directory, ...variables } },
  )
  return JSON.parse(stdout) as unknown
}

describe.skipIf(!hasPythonPeers())('Python jobs without a sign-in', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    server = await startServer({ PERSONAL_TOKENS: 'on' })
    person = await createPerson(server)
  })
  afterAll(() => server?.close())

  it.each(['mcp-1', 'mcp-2'] as const)('a job of %s calls as the person of its token', async (line) => {
    const TOKEN = await makePersonalToken(server, person)
    expect(await whoami(line, 'header', { TOKEN })).toMatchObject({
      email: person.email,
      credential: 'personal_token',
    })
  })

  it.each(['mcp-1', 'mcp-2'] as const)('a job of %s calls as the service of its secret', async (line) => {
    const { client_id: id, client_secret: secret } = await addService(server, 'Nightly report')
    expect(await whoami(line, 'secret', { CLIENT_ID: id, CLIENT_SECRET: secret })).toEqual({
      sub: `service:${id}`,
      name: 'Nightly report',
      credential: 'service',
    })
  })

  it.each(['mcp-1', 'mcp-2'] as const)('a job of %s calls as the service of its key', async (line) => {
    const pair = await generateKeyPair('ES256', { extractable: true })
    const [jwks, key] = [join(server.directory, 'jwks.json'), join(server.directory, 'key.pem')]
    writeFileSync(jwks, JSON.stringify({ keys: [await exportJWK(pair.publicKey)] }))
    writeFileSync(key, await exportPKCS8(pair.privateKey))
    const { client_id: id } = await addService(server, 'Signer', '--jwks', jwks)
    expect(await whoami(line, 'key', { CLIENT_ID: id, CLIENT_KEY: key })).toMatchObject({
      sub: `service:${id}`,
      credential: 'service',
    })
  })
})

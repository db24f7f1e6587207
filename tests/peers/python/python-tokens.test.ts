import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, type Person } from '../../e2e/person.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { addService, addSigningService, makePersonalToken, type SigningService } from '../../e2e/tokens.ts'
import { hasPythonPeers, inEnvironment, type PythonPeer } from './python-peer.ts'

const program = fileURLToPath(new URL('token_client.py', import.meta.url))

let server: ServerProcess
let person: Person
let token: string
let service: { client_id: string; client_secret: string }
let signer: SigningService

/** Runs a job of two calls, and returns what the server said about its caller. Rejects with the job's output if it fails. */
async function runJob(
  { line, library }: PythonPeer,
  way: string,
  environment: Readonly<Record<string, string>>,
): Promise<unknown[]> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: server.directory,
    ISSUER: server.baseUrl,
    ...environment,
  }
  const python = inEnvironment(line, 'bin/python')
  const options = { env, timeout: 100_000 }
  const { stdout } = await promisify(execFile)(python, [program, library, server.mcpUrl, way], options)
  return stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as unknown)
}

const peers: [name: string, peer: PythonPeer][] = [
  ['mcp 1', { line: 'mcp-1', library: 'mcp' }],
  ['fastmcp 3', { line: 'mcp-1', library: 'fastmcp' }],
  ['mcp 2', { line: 'mcp-2', library: 'mcp' }],
  ['fastmcp 4', { line: 'mcp-2', library: 'fastmcp' }],
]

describe.skipIf(!hasPythonPeers())('Python jobs without a person', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    server = await startServer({ PERSONAL_TOKENS: 'on' })
    person = await createPerson(server)
    token = await makePersonalToken(server, person)
    service = await addService(server, 'Nightly report')
    signer = await addSigningService(server, 'Signer')
  })
  afterAll(() => server?.close())

  it.each(peers)('the Python client %s calls with a personal token in a header', async (_name, peer) => {
    const caller = expect.objectContaining({ email: person.email, credential: 'personal_token' })
    expect(await runJob(peer, 'header', { TOKEN: token })).toEqual([caller, caller])
  })

  it.each(peers)(
    'the Python client %s fails, and sends no more, with a wrong personal token',
    async (_name, peer) => {
      const requests = (): number => server.events('caller_refused').length
      const before = requests()
      const wrong = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
      server.secrets.note('access_token', wrong)
      // The second line of the SDK does not tell the status.
      await expect(runJob(peer, 'header', { TOKEN: wrong })).rejects.toThrow(
        /401|unauthorized|error response/i,
      )
      expect(requests() - before).toBeGreaterThan(0)
      expect(requests() - before).toBeLessThanOrEqual(2)
    },
  )

  const ways = ['secret_basic', 'key'] as const
  it.each([
    ...peers.flatMap(([name, peer]) => ways.map((way) => [name, way, peer] as const)),
    // Only the second line of the SDK sends its id with a secret in the form, as RFC 6749 section 2.3.1 says.
    ['mcp 2', 'secret_post', { line: 'mcp-2', library: 'mcp' }] as const,
  ])('the Python client %s gets one token by %s, and calls as the service', async (_name, way, peer) => {
    const issued = (): number => server.events('token_issued').length
    const before = issued()
    const { client_id: id } = way === 'key' ? signer : service
    const caller = {
      sub: `service:${id}`,
      name: way === 'key' ? 'Signer' : 'Nightly report',
      credential: 'service',
    }
    const secrets = { CLIENT_ID: id, CLIENT_SECRET: service.client_secret, PRIVATE_KEY: signer.pem }
    expect(await runJob(peer, way, secrets)).toEqual([caller, caller])
    await expect.poll(issued).toBe(before + 1)
  })
})

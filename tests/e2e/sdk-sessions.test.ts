import { fileURLToPath } from 'node:url'
import {
  Client as ClientOf2026,
  StreamableHTTPClientTransport as TransportOf2026,
} from '@modelcontextprotocol/client'
import { Client as ClientOf2025 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportOf2025 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { underLoad } from '../support/under-load.ts'
import { createPerson } from './person.ts'
import { type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

/** Streams are checked every 15 seconds; the rest is for a busy machine. */
const streamEndMs = 25_000

let server: ServerProcess
let client: PlainClient
/** Sign-ins are limited per address, so most tests share these. */
let ada: Tokens
let eve: Tokens

beforeAll(async () => {
  server = await startServer({
    TOOLS: fileURLToPath(new URL('../conformance/everything-tools.ts', import.meta.url)),
    ACCESS_TOKEN_TTL: '1h',
  })
  client = await registerPlainClient(server)
  ada = await connect()
  eve = await connect()
})
afterAll(() => server?.close())

const connect = async (): Promise<Tokens> => client.connect(await createPerson(server))

const bearer = (tokens: Tokens): { fetch: ServerProcess['fetch']; requestInit: RequestInit } => ({
  fetch: server.fetch,
  requestInit: { headers: { authorization: `Bearer ${tokens.access_token}` } },
})

/** Opens a client of 2025-11-25 that answers requests. */
async function open2025(
  tokens: Tokens,
  opinion: string,
): Promise<{ client: ClientOf2025; transport: TransportOf2025 }> {
  const transport = new TransportOf2025(new URL(server.mcpUrl), bearer(tokens))
  const client = new ClientOf2025(
    { name: 'client-of-2025', version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: {} } },
  )
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    model: 'test',
    role: 'assistant',
    content: { type: 'text', text: `${opinion} of ${JSON.stringify(params.messages[0]?.content)}` },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { username: opinion, email: 'a@example.com' },
  }))
  await client.connect(transport)
  return { client, transport }
}

/** Opens a client of 2026-07-28 that accepts every form. */
async function open2026(tokens: Tokens): Promise<{ client: ClientOf2026; heard: string[] }> {
  const heard: string[] = []
  const client = new ClientOf2026(
    { name: 'client-of-2026', version: '1.0.0' },
    {
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  )
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { name: 'Ada', color: 'green', ok: true },
  }))
  for (const method of ['notifications/tools/list_changed', 'notifications/resources/updated'] as const) {
    client.setNotificationHandler(method, () => void heard.push(method))
  }
  await client.connect(new TransportOf2026(new URL(server.mcpUrl), bearer(tokens)))
  return { client, heard }
}

async function textOf(
  client: ClientOf2025 | ClientOf2026,
  name: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: input })) as { content: { text: string }[] }
  return content.map(({ text }) => text).join('\n')
}

describe('sessions with @modelcontextprotocol/sdk, revision 2025-11-25', () => {
  it('two users are each asked in their own session', async () => {
    const first = await open2025(ada, 'ada')
    const second = await open2025(eve, 'eve')
    expect(first.transport.sessionId).not.toBe(second.transport.sessionId)
    const answers = await Promise.all([
      textOf(first.client, 'test_sampling', { prompt: 'What?' }),
      textOf(second.client, 'test_sampling', { prompt: 'What?' }),
      textOf(first.client, 'test_elicitation', { message: 'Who?' }),
      textOf(second.client, 'test_elicitation', { message: 'Who?' }),
    ])
    expect(answers.map((answer) => /ada|eve/.exec(answer)?.[0])).toEqual(['ada', 'eve', 'ada', 'eve'])
    await Promise.all([first.client.close(), second.client.close()])
  })
})

describe('@modelcontextprotocol/client, revision 2026-07-28', () => {
  it('a client of 2026-07-28 is asked in rounds, and gets progress', async () => {
    const { client } = await open2026(ada)
    expect(await textOf(client, 'test_input_required_result_multi_round')).toBe('Ada likes green.')
    const progress: number[] = []
    await client.callTool(
      { name: 'test_tool_with_progress', arguments: {} },
      { onprogress: ({ progress: done }) => void progress.push(done) },
    )
    expect(progress).toEqual([0, 50, 100])
    await client.close()
  })

  it('a client of 2026-07-28 hears the changes that it subscribed to, until it closes', async () => {
    const { client, heard } = await open2026(ada)
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['test://watched-resource'],
    })
    expect(subscription.honoredFilter).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['test://watched-resource'],
    })
    await textOf(client, 'test_trigger_prompt_change')
    await textOf(client, 'test_trigger_resource_update')
    await textOf(client, 'test_trigger_tool_change')
    await until(() => heard.length >= 2, 'two notices')
    expect(heard).toEqual(['notifications/resources/updated', 'notifications/tools/list_changed'])
    await subscription.close()
    expect(await subscription.closed).toBe('local')
    await client.close()
  })
})

it('open streams end when the grant is revoked', { timeout: 60_000 }, async () => {
  const [first, second] = [await connect(), await connect()]
  const old = await open2025(first, 'first')
  const stream = await server.fetch(server.mcpUrl, {
    headers: {
      authorization: `Bearer ${second.access_token}`,
      accept: 'text/event-stream',
      'mcp-session-id': await rawSession(second),
    },
  })
  const { client: listening } = await open2026(first)
  const { client: bystander } = await open2026(ada)
  const ended = await listening.listen({ toolsListChanged: true })
  const goesOn = await bystander.listen({ toolsListChanged: true })
  expect((await client.revoke(first.refresh_token)).status).toBe(200)
  expect((await client.revoke(second.refresh_token)).status).toBe(200)
  const began = Date.now()
  expect(await ended.closed).toBe('graceful')
  // Reads to the end.
  await stream.text()
  expect(Date.now() - began).toBeLessThan(streamEndMs)
  expect(await Promise.race([goesOn.closed, Promise.resolve('open')])).toBe('open')
  await Promise.all(
    [old.client.close(), listening.close(), bystander.close()].map((end) => end.catch(() => {})),
  )
})

it('open streams do not delay the end of the server, and end politely', async () => {
  const { client } = await open2026(ada)
  const subscription = await client.listen({ toolsListChanged: true })
  const began = Date.now()
  const exit = server.kill('SIGTERM')
  expect(await subscription.closed).toBe('graceful')
  expect(await exit).toEqual({ code: 0, signal: null })
  expect(Date.now() - began).toBeLessThan(underLoad(3500))
  await client.close()
})

/** Opens a session; returns only its id. */
async function rawSession(tokens: Tokens): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const answer = await postMcp(server, { method: 'initialize', params }, headers)
  await answer.text()
  return answer.headers.get('mcp-session-id') ?? ''
}

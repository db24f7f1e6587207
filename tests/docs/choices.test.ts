import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { decodeJwt, type JWTPayload } from 'jose'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, type Person } from '../e2e/person.ts'
import { callTool, postMcp, registerPlainClient, type Tokens } from '../e2e/plain-client.ts'
import { sdkClients } from '../e2e/sdk-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import type { Visit } from '../support/server/browser.ts'
import { freePort } from '../support/server/free-port.ts'
import { blocksOf, root } from './command-block.ts'

/** Inside the repository: the programs import packages of its development dependencies. */
const folder = mkdtempSync(join(root, 'node_modules', '.cache-choices-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

function blockOf(page: string, text: string): string {
  const block = blocksOf(page).find((each) => each.text.includes(text))
  if (!block) throw new Error(`${page} has no block with ${text}.`)
  return block.text
}

function save(name: string, source: string): string {
  const path = join(folder, name)
  writeFileSync(path, source)
  return path
}

/** Signs in and leaves every box as it is, or ticks those of `scope`; chooses a workspace. */
async function connect(
  server: ServerProcess,
  person: Person,
  { scope, workspace }: { scope?: string[]; workspace: string },
): Promise<{ tokens: Tokens; login: Visit; choice: Visit }> {
  const client = await registerPlainClient(server)
  client.authorizationUrl.searchParams.set('scope', 'mcp notes:write')
  const { browser, email, password } = person
  const login = await browser.visit(client.authorizationUrl)
  const choice = await browser.submit(login, 'password', { email, password, ...(scope && { scope }) })
  const tokens = await client.connect({
    allow: async () => (await browser.submit(choice, 'workspace', { workspace })).url,
  })
  return { tokens, login, choice }
}

describe('the example of docs/choices.md', () => {
  let server: ServerProcess
  beforeAll(async () => {
    const tools = save('my-tools.mjs', blockOf('docs/choices.md', 'where_am_i'))
    server = await startServer({ TOOLS: tools, SIGN_IN_LIMIT: '1000' })
  })
  afterAll(() => server?.close())

  const where = (token: string): Promise<string> => callTool(server, token, 'where_am_i', {})

  it('the example of docs/choices.md asks what the page says, and its tools see the choice', async () => {
    const person = await createPerson(server)
    const { tokens, login, choice } = await connect(server, person, { workspace: 'legal' })
    expect(login.html).toContain('Add and delete notes')
    expect(choice.html).toMatch(/Sales.*Legal/s)
    expect(tokens.scope).toBe('mcp notes:write')
    expect(await where(tokens.access_token)).toBe('Workspace: Legal. Scopes: mcp notes:write.')
    expect(await callTool(server, tokens.access_token, 'add_note', { text: 'a' })).toBe('Added to Legal: a')
  })

  it('the example of docs/choices.md answers otherwise after a change on the connections page, with the same token', async () => {
    const person = await createPerson(server)
    const { tokens } = await connect(server, person, { workspace: 'sales' })
    const { browser, email, password } = person
    const signIn = await browser.visit(`${server.baseUrl}/account/connections`)
    const connections = await browser.submit(signIn, 'password', { email, password })
    const [link = '', href = ''] =
      /<a[^>]* href="([^"]+)"[^>]*>\s*Change what it may do\s*<\/a\s*>/.exec(connections.html) ?? []
    expect(link).not.toBe('')
    const change = await browser.visit(new URL(href.replaceAll('&amp;', '&'), connections.url))
    await browser.submit(change, 'workspace', { workspace: 'legal', scope: [], action: 'change' })
    expect(await where(tokens.access_token)).toBe('Workspace: Legal. Scopes: mcp.')
    const refused = await postMcp(
      server,
      { method: 'tools/call', params: { name: 'add_note', arguments: { text: 'a' } } },
      { authorization: `Bearer ${tokens.access_token}` },
    )
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toMatch(
      /scope="mcp notes:write", error="insufficient_scope"/,
    )
  })

  it('a client of the SDK is asked as docs/choices.md says: first for a workspace, for the box at the first write', async () => {
    const person = await createPerson(server)
    const client = sdkClients['client 2, 2026-07-28 if it can'](server)
    const logins: string[] = []
    const signIn = (): Promise<void> =>
      client.signIn({
        async allow(url) {
          const { browser, email, password } = person
          const login = await browser.visit(url)
          logins.push(login.html)
          const choice = await browser.submit(login, 'password', { email, password })
          return (await browser.submit(choice, 'workspace', { workspace: 'sales' })).url
        },
      })
    try {
      await expect(client.connect()).rejects.toThrow(/unauthorized/i)
      await signIn()
      await client.connect()
      expect((await client.call('where_am_i')).text).toMatch(/^Workspace: Sales\. Scopes: mcp/)
      await expect(client.call('add_note', { text: 'a' })).rejects.toThrow(/unauthorized/i)
      await signIn()
      expect((await client.call('add_note', { text: 'a' })).text).toBe('Added to Sales: a')
      expect(logins.map((html) => html.includes('Add and delete notes'))).toEqual([false, true])
    } finally {
      await client.end().catch(() => {})
    }
  })

  it('the program of docs/choices.md for the app’s own page lists and narrows connections', async () => {
    const person = await createPerson(server)
    const { tokens } = await connect(server, person, { workspace: 'sales' })
    const { email, password } = person
    const response = await server.fetch(`${server.appUrl}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    const { access_token: token } = (await response.json()) as Tokens
    const program = blockOf('docs/choices.md', 'account/api').replace(
      'https://mcp.example.com',
      server.baseUrl,
    )
    const session = `const session = ${JSON.stringify({ access_token: token })}\n`
    const path = save('settings-page.mjs', `${session}${program}\nexport { connections }`)
    const { connections } = (await import(pathToFileURL(path).href)) as { connections: object[] }
    expect(connections).toMatchObject([
      {
        scope: 'mcp notes:write',
        workspace: { id: 'sales', name: 'Sales' },
        client: { name: 'Plain client' },
      },
    ])
    expect(await where(tokens.access_token)).toBe('Workspace: Sales. Scopes: mcp.')
  })
})

const listText = '[{"id":"legal","name":"Legal"},{"id":"ops","name":"Ops"}]'

describe('the upstream file of docs/choices.md', () => {
  let server: ServerProcess
  /** Workspaces that the server behind was told of, one for each call of a tool. */
  let told: unknown[] = []
  /** How the app answers a request for workspaces, if not as usual. */
  let broken: ((response: ServerResponse) => void) | undefined
  /** Credentials that came where the app only redirects to. */
  let elsewhere: (string | undefined)[] = []
  const behind = createServer((request, response) => {
    void json(request)
      .catch(() => undefined)
      .then((body) => {
        if (request.url === '/elsewhere') elsewhere.push(request.headers.authorization)
        if (broken && request.url === '/api/workspaces') return broken(response)
        response.setHeader('content-type', 'application/json')
        return response.end(JSON.stringify(answerTo(request, body as Message | undefined)))
      })
  })

  interface Message {
    id: number
    method: string
    params: { name: string }
  }

  /** Plays the app, which lists workspaces for any signed-in user, and its MCP server, of which one tool only reads. */
  function answerTo({ url, headers }: IncomingMessage, message: Message | undefined): object {
    if (url === '/api/workspaces') {
      const isSignedIn = decodeJwt(headers.authorization?.replace('Bearer ', '') ?? '').sub !== undefined
      return isSignedIn
        ? [
            { id: 7, name: 'Sales' },
            { id: 'legal', name: 'Legal' },
          ]
        : {}
    }
    const { id, method } = message ?? {}
    if (method === 'tools/call') {
      told.push(decodeJwt(String(headers['drawbridge-assertion']))['workspace'])
      return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'Done.' }] } }
    }
    const inputSchema = { type: 'object' }
    const tools = [
      { name: 'list_notes', inputSchema, annotations: { readOnlyHint: true } },
      { name: 'add_note', inputSchema },
    ]
    return { jsonrpc: '2.0', id, result: { tools } }
  }

  beforeAll(async () => {
    const port = await freePort()
    await new Promise<void>((resolve) => behind.listen(port, '127.0.0.1', resolve))
    const here = `http://127.0.0.1:${port}`
    const document = blockOf('docs/choices.md', '"url": "http://127.0.0.1:9000/mcp"')
      .replace('http://127.0.0.1:9000', here)
      .replace('https://app.example.com', here)
    server = await startServer({ UPSTREAM: save('upstream.json', document), SIGN_IN_LIMIT: '1000' })
  })
  afterAll(async () => {
    await server?.close()
    await new Promise((resolve) => behind.close(resolve))
  })

  const call = (token: string, name: string): Promise<Response> =>
    postMcp(
      server,
      { method: 'tools/call', params: { name, arguments: {} } },
      { authorization: `Bearer ${token}` },
    )

  it('a client that only reads is refused the tools that write, whatever the server behind is', async () => {
    told = []
    const person = await createPerson(server)
    const { tokens, login } = await connect(server, person, { scope: [], workspace: '7' })
    expect(login.html).toContain('Add and delete notes')
    expect(tokens.scope).toBe('mcp')
    expect((await call(tokens.access_token, 'list_notes')).status).toBe(200)
    const refused = await call(tokens.access_token, 'add_note')
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="mcp notes:write"')
    expect(told).toEqual(['7'])
  })

  it.each<[what: string, answer: (response: ServerResponse) => void]>([
    ['redirects', (response) => response.writeHead(307, { location: '/elsewhere' }).end()],
    ['answers an error with a list', (response) => response.writeHead(500).end(listText)],
    ['answers no JSON', (response) => response.end('<p>Sign in</p>')],
    ['answers more than 1 MB', (response) => response.end(listText.padEnd(1_000_001))],
    ['breaks off', (response) => response.destroy()],
  ])('a sign-in waits for the list of an app that %s, and goes on once it comes', async (_what, answer) => {
    broken = answer
    elsewhere = []
    const person = await createPerson(server)
    const client = await registerPlainClient(server)
    const { browser, email, password } = person
    const login = await browser.visit(client.authorizationUrl)
    const retry = await browser.submit(login, 'password', { email, password })
    broken = undefined
    expect(retry.html).toContain('Your workspaces cannot be listed right now')
    expect(retry.html).not.toMatch(/Legal|Ops/)
    expect(elsewhere).toEqual([])
    const [form = ''] = /<form[^>]*class="stack".*?<\/form>/s.exec(retry.html) ?? []
    expect(form).toContain('Try again')
    const choice = await browser.submit(retry, 'transaction', {})
    expect(
      (await browser.submit(choice, 'workspace', { workspace: 'legal' })).url.searchParams.has('code'),
    ).toBe(true)
  })

  it('the server behind is told the workspace of each client of one person', async () => {
    told = []
    const person = await createPerson(server)
    for (const workspace of ['legal', '7', 'legal']) {
      const { tokens } = await connect(server, person, { workspace })
      expect((await call(tokens.access_token, 'add_note')).status).toBe(200)
    }
    expect(told).toEqual(['legal', '7', 'legal'])
  })
})

describe('the API of docs/tools.md that takes assertions', () => {
  const audience = 'https://billing.example.com'
  let server: ServerProcess
  let readCaller: (authorization: string | undefined) => Promise<JWTPayload>
  let seen: JWTPayload[] = []
  const api = createServer(({ headers }, response) => {
    readCaller(headers.authorization).then(
      (claims) => {
        seen.push(claims)
        return response.end('["invoice 7"]')
      },
      () => response.writeHead(401).end(),
    )
  })

  beforeAll(async () => {
    const port = await freePort()
    await new Promise<void>((resolve) => api.listen(port, '127.0.0.1', resolve))
    const source = blockOf('docs/tools.md', 'list_invoices')
    const other = `export const workspaces = () => [{ id: 'sales', name: 'Sales' }, { id: 'legal', name: 'Legal' }]
      tools.push({ name: 'other_audience', call: async (_input, { assertion, fetch }) => {
        const authorization = 'Bearer ' + (await assertion('${audience}/'))
        return String((await fetch('http://127.0.0.1:${port}/', { headers: { authorization } })).status)
      } })
      export const scopes = { 'notes:write': 'Write' }`
    const tools = source.replace(`${audience}/invoices`, `http://127.0.0.1:${port}/invoices`)
    server = await startServer({ TOOLS: save('invoices.mjs', `${tools}\n${other}`), SIGN_IN_LIMIT: '1000' })
    const program = blockOf('docs/tools.md', 'readCaller').replace('https://mcp.example.com', server.baseUrl)
    const path = save('billing.mjs', program)
    ;({ readCaller } = (await import(pathToFileURL(path).href)) as { readCaller: typeof readCaller })
  })
  afterAll(async () => {
    await server?.close()
    await new Promise((resolve) => api.close(resolve))
  })

  it('the API of docs/tools.md learns user, client, scope and workspace from the assertion of a call', async () => {
    const person = await createPerson(server)
    const { tokens } = await connect(server, person, { scope: [], workspace: 'legal' })
    seen = []
    const text = await callTool(server, tokens.access_token, 'list_invoices', {})
    expect(JSON.parse(text)).toEqual({ invoices: ['invoice 7'] })
    expect(seen).toMatchObject([
      { iss: server.baseUrl, aud: audience, email: person.email, scope: 'mcp', workspace: 'legal' },
    ])
    expect(seen[0]?.['client_id']).toMatch(/^mcpc_/)
    expect((seen[0]?.exp ?? 0) - (seen[0]?.iat ?? 0)).toBe(60)
  })

  it('the API of docs/tools.md refuses the assertion for another audience, an access token, and none', async () => {
    const person = await createPerson(server)
    const { tokens } = await connect(server, person, { workspace: 'legal' })
    expect(await callTool(server, tokens.access_token, 'other_audience', {})).toBe('401')
    await expect(readCaller(`Bearer ${tokens.access_token}`)).rejects.toThrow()
    await expect(readCaller(undefined)).rejects.toThrow()
  })
})

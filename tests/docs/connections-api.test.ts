import { Validator } from '@seriousme/openapi-schema-validator'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { signInToWebApp } from '../support/server/web-app-session.ts'
import { connectionsApiDocument, connectionsApiRoutes } from '../../scripts/docs/connections-api.ts'

let server: DrawbridgeFixture
let token: string
let id: string
let listed: { id: string; name: string }[] | undefined

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read' },
  workspaces: async () => listed ?? Promise.reject(new Error('outage')),
  tools: [{ name: 'where', call: () => 'here' }],
}

beforeEach(async () => {
  listed = [{ id: 'sales', name: 'Sales' }]
  server = await startDrawbridge({}, undefined, tools)
  await server.connect({ scope: 'mcp notes:read' })
  ;({ access_token: token } = await signInToWebApp(server))
  const { connections } = (await (await send('GET', '')).json()) as { connections: { id: string }[] }
  id = connections[0]?.id ?? ''
})
afterEach(() => server.close())

function send(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return server.fetch(`/account/api/connections${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  })
}

it('the OpenAPI document of the connections API is valid, and docs/ has it', async () => {
  const { valid, errors } = await new Validator().validate({ ...connectionsApiDocument })
  expect([valid, errors]).toEqual([true, undefined])
  const file = new URL('../../docs/connections-api.json', import.meta.url)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(connectionsApiDocument)))
})

const foreign = { origin: 'https://evil.example' }
const cases: [operation: string, status: number, answer: () => Promise<Response>][] = [
  ['listConnections', 200, () => send('GET', '')],
  ['listConnections', 401, () => send('GET', '', undefined, { authorization: 'Bearer x' })],
  ['listConnections', 403, () => send('GET', '', undefined, foreign)],
  ['changeConnection', 200, () => send('PATCH', `/${id}`, '{"scope":"mcp"}')],
  ['changeConnection', 400, () => send('PATCH', `/${id}`, '{"scope":"notes:write"}')],
  ['changeConnection', 400, () => send('PATCH', `/${id}`, '{"workspace":"legal"}')],
  ['changeConnection', 400, () => send('PATCH', `/${id}`, '{"scopes":"mcp"}')],
  ['changeConnection', 403, () => send('PATCH', `/${id}`, '{"scope":"mcp"}', foreign)],
  ['changeConnection', 404, () => send('PATCH', '/other', '{"scope":"mcp"}')],
  ['changeConnection', 413, () => send('PATCH', `/${id}`, `{"scope":"${'x'.repeat(200_000)}"}`)],
  ['changeConnection', 415, () => send('PATCH', `/${id}`, '{}', { 'content-type': 'text/plain' })],
  ['changeConnection', 503, () => ((listed = undefined), send('PATCH', `/${id}`, '{"workspace":"legal"}'))],
  ['endConnection', 204, () => send('DELETE', `/${id}`)],
  ['endConnection', 403, () => send('DELETE', `/${id}`, undefined, foreign)],
  ['endConnection', 404, () => send('DELETE', '/other')],
]

it.each(cases)(
  '%s of the connections API answers %i as its OpenAPI document says',
  async (of, status, ask) => {
    const answer = await ask()
    expect(answer.status).toBe(status)
    const route = connectionsApiRoutes.find((each) => each.id === of)
    const described = connectionsApiDocument['paths'] as Record<string, Record<string, { responses: object }>>
    const { responses } = described[route?.path ?? '']?.[route?.method.toLowerCase() ?? ''] ?? {
      responses: {},
    }
    expect(Object.keys(responses)).toContain(String(status))
    if (status === 204) {
      expect(await answer.text()).toBe('')
      return
    }
    const facts: unknown = await answer.json()
    // Parsing drops members that the schema does not have.
    if (status === 200) expect(route?.schema?.parse(facts)).toEqual(facts)
    else expect(Object.keys(facts as object)).toEqual(['error', 'error_description'])
  },
)

it('the cases above try every refusal that the connections API describes', () => {
  const tried = new Set(cases.map(([of, status]) => `${of} ${status}`))
  const own = connectionsApiRoutes.flatMap(({ id: of, refusals }) =>
    Object.keys(refusals).map((status) => `${of} ${status}`),
  )
  expect(own.filter((answer) => !tried.has(answer))).toEqual([])
})

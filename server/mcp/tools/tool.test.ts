import type { CallToolResult } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod/v4'
import { toolContextSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import { prepareTool } from './tool.ts'
import type { ToolAnswer, ToolDeclaration, ToolSchema } from './tool-module.ts'

const unreachable = (): Promise<Response> => Promise.reject(new Error('Nothing is fetched here.'))

interface Called {
  result: CallToolResult
  text: string
  /** What the tool got. */
  got: unknown[]
  reported: unknown[]
}

async function callTool(
  tool: Partial<ToolDeclaration> & { answer?: (input: unknown) => unknown },
  input: unknown = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Called> {
  const got: unknown[] = []
  const reported: unknown[] = []
  const { answer = () => 'Done.', ...rest } = tool
  const declaration: ToolDeclaration = {
    name: 'sample',
    call(given) {
      got.push(given)
      return answer(given) as ToolAnswer
    },
    ...rest,
  }
  const { call } = prepareTool(declaration, (name, error) => reported.push([name, error]))
  const result = await call(input, toolContextSample(unreachable, { channel: { signal } }))
  const [content] = result.content
  return { result, text: content?.type === 'text' ? content.text : '', got, reported }
}

const asJsonSchema: ToolSchema = {
  type: 'object',
  properties: { to: { type: 'integer', minimum: 1 }, note: { type: 'string', default: 'none' } },
  required: ['to'],
  additionalProperties: false,
}
const asZod: ToolSchema = z.strictObject({ to: z.int().min(1), note: z.string().default('none') })

describe.each([
  ['JSON Schema', asJsonSchema],
  ['Standard Schema of a library', asZod],
])('arguments against %s (MCP tools, input validation)', (_kind, inputSchema) => {
  it('arguments that fit go to the tool', async () => {
    const { got, text } = await callTool({ inputSchema }, { to: 3 })
    expect(got).toEqual([expect.objectContaining({ to: 3 })])
    expect(text).toBe('Done.')
  })

  it.each([[{}], [{ to: 0 }], [{ to: '3' }], [{ to: 1, more: 1 }], [undefined], ['text'], [[1]]])(
    'MCP transport Tools: arguments of %j never reach the tool, and the model learns why',
    async (input) => {
      const { got, result, text, reported } = await callTool({ inputSchema }, input)
      expect([got, reported]).toEqual([[], []])
      expect(result.isError).toBe(true)
      expect(text).toMatch(/^The arguments do not fit sample: ./)
    },
  )

  it('arguments with unknown members are refused by name', async () => {
    const { text } = await callTool({ inputSchema }, { to: 1, more: 1, even_more: 2 })
    expect(text).toMatch(/more.*even_more/)
  })

  it('arguments are described to clients as JSON Schema of an object', () => {
    const { listing } = prepareTool({ name: 'a', inputSchema, call: () => '' }, () => {})
    expect(listing.inputSchema).toMatchObject({ type: 'object', properties: { to: { minimum: 1 } } })
  })
})

it.each<[string, unknown, RegExp]>([
  ['no schema', 'text', /inputSchema: must be a JSON Schema object/],
  ['no object', { type: 'string' }, /inputSchema: must describe an object/],
  ['zod without an object', z.string(), /inputSchema: must describe an object/],
  [
    'an old library',
    { '~standard': { version: 1, vendor: 'old', validate: () => ({ value: 1 }) } },
    /JSON Schema: use a newer one/,
  ],
  ['a keyword that is wrong', { type: 'object', properties: { a: { type: 'strng' } } }, /inputSchema: ./],
  [
    'MCP transport Tools: a reference to elsewhere',
    { type: 'object', properties: { a: { $ref: 'https://a.example/s' } } },
    /inputSchema: ./,
  ],
  ['an unknown dialect', { $schema: 'https://a.example/d', type: 'object' }, /unsupported dialect/],
  [
    'a header where none can be',
    { type: 'object', properties: { a: { items: { 'x-mcp-header': 'A' } } } },
    /x-mcp-header/,
  ],
])('a schema that cannot be used: %s', (_name, inputSchema, fault) => {
  expect(() =>
    prepareTool({ name: 'a', inputSchema: inputSchema as ToolSchema, call: () => '' }, () => {}),
  ).toThrow(fault)
})

describe('what a tool answers (MCP tools, results)', () => {
  const refusal = { content: [{ type: 'text', text: 'a' }], isError: true }
  const image = { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }
  it.each<[string, unknown, object]>([
    ['a text', 'Hi.', { content: [{ type: 'text', text: 'Hi.' }] }],
    ['a result', refusal, refusal],
    ['an image', image, image],
    [
      'structured content alone gets its text',
      { structuredContent: { a: 1 } },
      { structuredContent: { a: 1 }, content: [{ type: 'text', text: '{"a":1}' }] },
    ],
    ['something that takes time', Promise.resolve('Later.'), { content: [{ type: 'text', text: 'Later.' }] }],
  ])('a tool that answers %s', async (_name, answer, result) => {
    expect((await callTool({ answer: () => answer })).result).toEqual(result)
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an object of its own', { rows: [] }],
    ['content that is not a list', { content: 'text' }],
    ['content of an unknown type', { content: [{ type: 'film' }] }],
    ['structured content that is a list', { content: [], structuredContent: [1] }],
  ])('a tool that answers %s is a failure of the server, reported to the log', async (_name, answer) => {
    const { result, text, reported } = await callTool({ answer: () => answer })
    expect(result.isError).toBe(true)
    expect(text).toMatch(/^The tool failed on the server/)
    expect(reported).toEqual([['sample', expect.any(TypeError)]])
  })

  const outputSchema: ToolSchema = {
    type: 'object',
    properties: { sum: { type: 'integer' } },
    required: ['sum'],
  }
  it.each<[string, unknown, boolean]>([
    ['fits', { structuredContent: { sum: 1 } }, false],
    ['does not fit', { structuredContent: { sum: 'one' } }, true],
    ['is missing', 'Sum: 1', true],
  ])('MCP transport Tools: structured content that %s its outputSchema', async (_name, answer, failed) => {
    const { result, reported } = await callTool({ outputSchema, answer: () => answer })
    expect([result.isError === true, reported.length > 0]).toEqual([failed, failed])
  })

  it('an error of the tool needs no structured content', async () => {
    const answer = { isError: true, content: [{ type: 'text', text: 'No such row.' }] }
    expect((await callTool({ outputSchema, answer: () => answer })).result).toEqual(answer)
  })
})

describe('what a tool throws', () => {
  const secret = new Error('password=hunter2 at db.internal')
  it('an error that a tool throws is logged and not sent to the client', async () => {
    const { result, reported } = await callTool({ answer: () => Promise.reject(secret) })
    expect(JSON.stringify(result)).not.toMatch(/hunter2|db\.internal/)
    expect(result.isError).toBe(true)
    expect(reported).toEqual([['sample', secret]])
  })

  it('an error that a tool throws is not a failure when the client had cancelled', async () => {
    const { reported } = await callTool({ answer: () => Promise.reject(secret) }, {}, AbortSignal.abort())
    expect(reported).toEqual([])
  })
})

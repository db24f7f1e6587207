import { beforeEach, expect, it } from 'vitest'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import {
  callerSample,
  providerOrigin,
  toolContextSample,
} from '../../../tests/support/server/mcp/tool-fixture.ts'
import { notesTools, whoamiTool } from './own-tools.ts'
import { prepareTool } from './tool.ts'

let reported: unknown[]
beforeEach(() => {
  reported = []
})

/** What the tool `name` makes of the web app's `answer`. */
async function call(
  name: string,
  input: unknown,
  answer: (request: Request) => Promise<Response>,
  caller: SignedInCaller = callerSample,
): Promise<{ text: string; isError: boolean }> {
  const declaration = [whoamiTool, ...notesTools].find((tool) => tool.name === name)
  if (!declaration) throw new Error(`There is no tool ${name}.`)
  const tool = prepareTool(declaration, (_name, error) => void reported.push(error))
  const result = await tool.call(input, toolContextSample(answer, { caller }))
  const [content] = result.content
  return { text: content?.type === 'text' ? content.text : '', isError: result.isError === true }
}

it('MCP auth Access-Token-Privilege-Restriction: the notes tools call the web app as the user, and nothing else', async () => {
  const seen: string[] = []
  await call('delete_note', { id: 'a_b-9' }, async (request) => {
    seen.push(request.method, request.url, request.headers.get('authorization') ?? '')
    return new Response(null, { status: 204 })
  })
  expect(seen).toEqual(['DELETE', `${providerOrigin}/api/notes/a_b-9`, 'Bearer provider-token'])
})

it.each(['..', 'a/b', '%2e%2e', 'a?b', ''])(
  'delete_note refuses the id %j, which would lead to another path',
  async (id) => {
    const result = await call('delete_note', { id }, () => Promise.reject(new Error('It was sent.')))
    expect(result.isError).toBe(true)
    expect(result.text).toContain('must be an id that list_notes gives')
  },
)

it.each<[string, () => Promise<Response>, RegExp]>([
  ['no answer', () => Promise.reject(new TypeError('fetch failed')), /cannot be reached.*Try again/],
  ['401', async () => new Response(null, { status: 401 }), /Sign in again/],
  ['404', async () => new Response(null, { status: 404 }), /list_notes/],
  ['500', async () => new Response('<html>', { status: 500 }), /status 500/],
  ['no JSON', async () => new Response('<html>'), /not readable.*Try again/],
  ['another shape', async () => Response.json({ notes: [{ id: 1 }] }), /not readable/],
])('%s becomes an error with a next step', async (_name, answer, text) => {
  const result = await call('list_notes', {}, answer)
  expect(result.isError).toBe(true)
  expect(result.text).toMatch(text)
})

it('a token that cannot be had is not reported as a fault of the web app', async () => {
  const caller: SignedInCaller = {
    ...callerSample,
    providerToken: () => {
      throw new TypeError('No key of the ring opens a stored provider session.')
    },
  }
  const result = await call('list_notes', {}, async () => new Response(), caller)
  expect(result.text).toMatch(/failed on the server/)
  expect(reported).toHaveLength(1)
})

it('whoami names a user without an address by their id', async () => {
  expect(await call('whoami', {}, () => Promise.reject(new Error('not called')))).toEqual({
    text: 'You are ada.',
    isError: false,
  })
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { checkSettings } from '../../../config/config.ts'
import { settingsOfObject } from '../../../config/setting-source.ts'
import type { Settings } from '../../../config/setting.ts'
import type { DirectoryName } from './directory-name.ts'
import { examineDirectory } from './directory.ts'
import { listTools } from './listed-tools.ts'
import { submissionSkeleton } from './submission.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'directory-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const ready: Settings = {
  baseUrl: 'https://mcp.example.com',
  appUrl: 'https://app.example.com',
  provider: 'supabase',
  providerUrl: 'https://ref.supabase.co/auth/v1',
  providerKey: 'sb_publishable_x',
  secretKeys: `a:${Buffer.alloc(32).toString('base64')}`,
  privacyUrl: 'https://app.example.com/privacy',
  termsUrl: 'https://app.example.com/terms',
  supportUrl: 'https://app.example.com/support',
}

/** A configuration, and a network in which `answer` answers. */
function examined(
  settings: Settings,
  answer: (request: Request) => Response = () => new Response('no', { status: 404 }),
) {
  const { config, problems } = checkSettings(settingsOfObject(settings), { production: false })
  expect(problems).toEqual([])
  return { config, runtime: { fetch: async (request: Request) => answer(request) } }
}

async function examine(
  directory: DirectoryName,
  settings: Settings,
  { token, answer }: { token?: string; answer?: (request: Request) => Response } = {},
): Promise<Finding[]> {
  const { config, runtime } = examined(settings, answer)
  const found = []
  for await (const group of examineDirectory(directory, config, runtime, { faulty: new Set(), token }))
    found.push(...group)
  return found
}

const stateOf = (findings: readonly Finding[], name: string): string | undefined =>
  findings.find((finding) => finding.name === name)?.state

let modules = 0
/** A tools module with `text` as its array. */
function module(text: string, more = ''): string {
  modules += 1
  const path = join(folder, `tools-${modules}.mjs`)
  writeFileSync(path, `export const tools = [${text}]\n${more}`)
  return path
}

function wellKnown(): string {
  const path = join(folder, 'well-known.json')
  writeFileSync(path, JSON.stringify({ 'openai-apps-challenge': 'proof' }))
  return path
}

const good = `{ name: 'a', title: 'A', description: 'Does A.', outputSchema: { type: 'object' },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false }, call: () => 'x' }`

describe('a server that is ready', () => {
  it.each(['claude', 'chatgpt'] as const)('has no fault for %s', async (directory) => {
    const asked: string[] = []
    const found = await examine(
      directory,
      { ...ready, tools: module(good), wellKnown: wellKnown() },
      {
        answer: ({ url }) => {
          asked.push(url)
          return new Response('proof')
        },
      },
    )
    expect(found.filter(({ state }) => state !== 'ok')).toEqual([])
    expect(asked).toEqual(
      directory === 'chatgpt' ? ['https://mcp.example.com/.well-known/openai-apps-challenge'] : [],
    )
  })

  it.each(['claude', 'chatgpt'] as const)("so have the demo's tools for %s", async (directory) => {
    const found = await examine(directory, {})
    const ofTools = found.filter(({ name }) => /tool/.test(name))
    expect(ofTools.length).toBeGreaterThan(5)
    expect(ofTools.filter(({ state }) => state !== 'ok')).toEqual([])
    expect(found.find(({ name }) => name === 'public-host')?.message).toMatch(/^Note: /)
  })
})

it.each<[name: string, directory: DirectoryName, settings: Settings, state: string]>([
  ['public-host', 'claude', { baseUrl: 'https://mcp.internal' }, 'fail'],
  ['public-host', 'claude', { baseUrl: 'https://mcp' }, 'fail'],
  ['public-host', 'claude', { baseUrl: 'https://10.0.0.7' }, 'fail'],
  ['public-host', 'claude', { baseUrl: 'https://[fd00::1]' }, 'fail'],
  ['public-host', 'claude', { baseUrl: 'https://example.com/drawbridge' }, 'ok'],
  ['directory-client', 'claude', { registration: 'off', clientDocuments: 'off' }, 'fail'],
  ['directory-client', 'claude', { registration: 'off', clientDocumentHosts: 'chatgpt.com' }, 'fail'],
  ['directory-client', 'chatgpt', { registration: 'off', clientDocumentHosts: 'chatgpt.com' }, 'ok'],
  ['directory-client', 'chatgpt', { clientDocuments: 'off' }, 'ok'],
  ['test-account', 'claude', { secondFactor: 'require' }, 'warn'],
  ['domain-challenge', 'chatgpt', {}, 'warn'],
])('%s for %s with %j is %s', async (name, directory, settings, state) => {
  expect(stateOf(await examine(directory, { ...ready, ...settings }), name)).toBe(state)
})

it.each(['privacyUrl', 'termsUrl', 'supportUrl'] as const)('%s is needed', async (field) => {
  const { [field]: _left, ...others } = ready
  const failed = (await examine('claude', others)).filter(({ state }) => state === 'fail')
  expect(failed.map(({ fix }) => fix)).toContainEqual(
    `Set DRAWBRIDGE_${field.replace('Url', '').toUpperCase()}_URL.`,
  )
})

it('a challenge that the world does not see is a fault', async () => {
  const settings = { ...ready, wellKnown: wellKnown() }
  for (const answer of [() => new Response('proof', { status: 404 }), () => new Response('<html>')]) {
    expect(stateOf(await examine('chatgpt', settings, { answer }), 'domain-challenge')).toBe('fail')
  }
})

it.each<[name: string, directory: DirectoryName, tool: string, state: string]>([
  ['tool-names', 'claude', good.replace("'a'", `'${'a'.repeat(65)}'`), 'fail'],
  ['tool-titles', 'claude', good.replace("title: 'A', ", ''), 'fail'],
  [
    'tool-titles',
    'claude',
    good.replace("title: 'A', ", '').replace('{ readOnly', "{ title: 'A', readOnly"),
    'ok',
  ],
  ['tool-descriptions', 'claude', good.replace('Does A.', ' '), 'fail'],
  ['tool-hints', 'claude', good.replace(/annotations: .*?},/, ''), 'fail'],
  [
    'tool-hints',
    'claude',
    good.replace('readOnlyHint: true, destructiveHint: false', 'readOnlyHint: false'),
    'fail',
  ],
  [
    'tool-hints',
    'claude',
    good.replace('readOnlyHint: true, destructiveHint: false', 'destructiveHint: true'),
    'ok',
  ],
  ['tool-hints', 'chatgpt', good.replace(', openWorldHint: false', ''), 'fail'],
  [
    'tool-purpose',
    'claude',
    good.replace(
      'title',
      "inputSchema: { type: 'object', properties: { action: { enum: ['get', 'set'] } } }, title",
    ),
    'warn',
  ],
  [
    'tool-purpose',
    'claude',
    good.replace(
      'title',
      "inputSchema: { type: 'object', properties: { action: { type: 'string' } } }, title",
    ),
    'ok',
  ],
  ['tool-output', 'chatgpt', good.replace("outputSchema: { type: 'object' },", ''), 'warn'],
  ['directory-tools', 'claude', '', 'fail'],
])('%s for %s: %s is %s', async (name, directory, tool, state) => {
  expect(stateOf(await examine(directory, { ...ready, tools: module(tool) }), name)).toBe(state)
})

describe('tools that the module does not show', () => {
  it('are named as such without a token', async () => {
    const registers = await examine('claude', {
      ...ready,
      tools: module(good, 'export function register() {}'),
    })
    expect(registers.find(({ name }) => name === 'registered-tools')?.message).toMatch(/^Note: /)
    const gateway = await examine('claude', { ...ready, upstream: 'http://127.0.0.1:1/mcp' })
    expect(stateOf(gateway, 'directory-tools')).toBe('warn')
  })

  it('are those that the server lists, asked with the token, which is not shown', async () => {
    const answer = (request: Request): Response =>
      request.headers.get('authorization') === 'Bearer secret-token'
        ? Response.json({
            jsonrpc: '2.0',
            id: 1,
            result: { tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
          })
        : Response.json({ error: 'invalid_token' }, { status: 401 })
    const settings = { ...ready, upstream: 'http://127.0.0.1:1/mcp' }
    const found = await examine('claude', settings, { token: 'secret-token', answer })
    expect([stateOf(found, 'directory-tools'), stateOf(found, 'tool-titles')]).toEqual(['ok', 'fail'])
    const refused = await examine('claude', settings, { token: 'another', answer })
    expect(stateOf(refused, 'directory-tools')).toBe('warn')
    expect(JSON.stringify([found, refused])).not.toMatch(/secret-token|another/)
  })
})

it('the worksheet has what is known, and TODO for the rest', async () => {
  const { config, runtime } = examined({ ...ready, tools: module(good) })
  const listed = await listTools(config, runtime, undefined)
  const sheet = submissionSkeleton(config, listed.kind === 'tools' ? listed.tools : [])
  expect(sheet).toMatchObject({
    name: 'app.example.com',
    description: 'TODO',
    mcp_url: 'https://mcp.example.com/mcp',
    privacy_policy_url: ready.privacyUrl,
    tools: [{ name: 'a', title: 'A', readOnlyHint: { value: true, reason: 'TODO' } }],
  })
  const { positive_test_cases: positive, negative_test_cases: negative } = sheet as Record<string, unknown[]>
  expect([positive?.length, negative?.length]).toEqual([5, 3])
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { createDrawbridge } from '../library.ts'
import type { ToolModule } from '../mcp/tools/tool-module.ts'
import { loadToolModule, ToolModuleError, openToolModule } from './tool-module.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

/** Loads a file of `source`, checks it, and returns the names of its tools. */
async function openFile(source: string): Promise<string[]> {
  writeFileSync(join(folder, 'tools.mjs'), source)
  const module = await loadToolModule('./tools.mjs', folder)
  return openToolModule(module, ['mcp'], () => {}).definitions.map(({ listing }) => listing.name)
}

async function faultsOf(source: string): Promise<readonly string[]> {
  try {
    await openFile(source)
  } catch (error) {
    if (error instanceof ToolModuleError) return error.faults
    throw error
  }
  return []
}

describe('a file of tools', () => {
  it.each<[string, string, string[]]>([
    ['with named exports', `export const tools = [{ name: 'a', call: () => 'A' }]`, ['a']],
    ['with a default export', `export default { tools: [{ name: 'a', call: () => 'A' }] }`, ['a']],
    ['with both kinds of exports', `export const tools = []\nexport default {}`, []],
    ['that only registers', `export function register() {}`, []],
    [
      'with everything',
      `export const scopes = { 'a:write': 'Change it' }
       export const instructions = 'Start with a.'
       export const serverInfo = { name: 'n', title: 'N' }
       export const asksClient = true
       export function register() {}
       export function start() {}
       export const tools = [
         { name: 'a.b_c-1', title: 'A', description: 'Does.', scope: 'a:write', call: () => 'A',
           inputSchema: { type: 'object', properties: { x: { type: 'string' } } },
           outputSchema: { type: 'object' }, annotations: { readOnlyHint: true },
           icons: [{ src: 'https://a.example/i.png' }] },
       ]`,
      ['a.b_c-1'],
    ],
  ])('%s', async (_how, source, names) => {
    expect(await openFile(source)).toEqual(names)
  })

  it('keeps the state of its module: it is loaded once', async () => {
    writeFileSync(join(folder, 'tools.mjs'), `export const tools = [{ name: 'a', call: () => 'A' }]`)
    const [first, second] = await Promise.all([
      loadToolModule('tools.mjs', folder),
      loadToolModule(join(folder, 'tools.mjs')),
    ])
    expect(first.tools).toBe(second.tools)
  })
})

describe('a file that cannot be used says what to do', () => {
  it.each<[string, string, RegExp]>([
    ['throws', `throw new Error('no database')`, /tools\.mjs does not load: no database/],
    ['is no JavaScript', `export const = 1`, /does not load: .+ Run it with node/s],
    [
      'imports what is not installed',
      `import 'not-installed-anywhere'`,
      /does not load: .*not-installed-anywhere/,
    ],
    ['exports nothing', ``, /exports nothing\. Export tools, an array, or register/],
    ['exports something else', `export const tool = []`, /exports only tool\. Export tools/],
    ['tools are no list', `export const tools = {}`, /^tools: must be an array/],
    ['a tool is no object', `export const tools = [1]`, /^tools\[0\]: must be an object/],
    ['no name', `export const tools = [{ call: () => '' }]`, /^tools\[0\]: name: must be 1 to 128/],
    [
      'a name with blanks',
      `export const tools = [{ name: 'a b', call: () => '' }]`,
      /^tools\[0\] \(a b\): name/,
    ],
    ['no call', `export const tools = [{ name: 'a' }]`, /^tools\[0\] \(a\): call: must be a function/],
    [
      'a description that is no text',
      `export const tools = [{ name: 'a', description: 1, call: () => '' }]`,
      /description: ./,
    ],
    [
      'an annotation that is none',
      `export const tools = [{ name: 'a', annotations: { readOnlyHint: 'yes' }, call: () => '' }]`,
      /annotations\.readOnlyHint: ./,
    ],
    [
      'a schema that is none',
      `export const tools = [{ name: 'a', inputSchema: { type: 'string' }, call: () => '' }]`,
      /inputSchema: must describe an object/,
    ],
    [
      'an unknown scope',
      `export const tools = [{ name: 'a', scope: 'x', call: () => '' }]`,
      /"x" is not one of scopes\. Add it/,
    ],
    [
      'a public tool with a scope',
      `export const scopes = { x: 'X' }; export const tools = [{ name: 'a', public: true, scope: 'x', call: () => '' }]`,
      /public: a tool that requires a scope requires a sign-in/,
    ],
    [
      'public by a text',
      `export const tools = [{ name: 'a', public: 'no', call: () => '' }]`,
      /public: must be a boolean/,
    ],
    [
      'a public tool beside sessions',
      `export const asksClient = true; export const register = () => {}
       export const tools = [{ name: 'a', public: true, call: () => '' }]`,
      /^asksClient: sessions belong to users/,
    ],
    [
      '_meta that is no object',
      `export const tools = [{ name: 'a', _meta: 'ui', call: () => '' }]`,
      /_meta: ./,
    ],
    ...['securitySchemes', 'io.modelcontextprotocol/serverInfo'].map((key): [string, string, RegExp] => [
      `_meta with ${key}`,
      `export const tools = [{ name: 'a', _meta: { '${key}': 1 }, call: () => '' }]`,
      /_meta: the server sets .+ itself/,
    ]),
    [
      'a scope with a blank',
      `export const tools = []; export const scopes = { 'a b': 'A' }`,
      /without blanks/,
    ],
    [
      'a scope that is taken',
      `export const tools = []; export const scopes = { mcp: 'A' }`,
      /taken\. Choose another/,
    ],
    ['a scope without a text', `export const tools = []; export const scopes = { a: ' ' }`, /login page/],
    [
      'scopes that are a list',
      `export const tools = []; export const scopes = ['a']`,
      /scopes: must be an object/,
    ],
    [
      'instructions that are no text',
      `export const tools = []; export const instructions = 1`,
      /instructions: must be a string/,
    ],
    ['a register that is no function', `export const register = {}`, /register: must be a function/],
    [
      'a start that is no function',
      `export const tools = []; export const start = 1`,
      /start: must be a function/,
    ],
    [
      'asksClient as text',
      `export const tools = []; export const asksClient = 'yes'`,
      /asksClient: must be a boolean/,
    ],
    [
      'serverInfo that is no object',
      `export const tools = []; export const serverInfo = 'n'`,
      /serverInfo: must be an object/,
    ],
  ])('%s', async (_what, source, fault) => {
    expect(await faultsOf(source)).toEqual([expect.stringMatching(fault)])
  })

  it('is not there', async () => {
    await expect(loadToolModule('./missing.mjs', folder)).rejects.toThrow(/there is no file .*missing\.mjs\./)
  })

  it('has two tools of one name', async () => {
    const tool = `{ name: 'a', call: () => '' }`
    expect(await faultsOf(`export const tools = [${tool}, ${tool}]`)).toEqual([
      expect.stringMatching(/^tools\[1\] \(a\): name: already used by another tool/),
    ])
  })

  it('has members that are not known: the nearest name is suggested', async () => {
    const source = `export const scope = {}; export const util = 1
      export const tools = [{ name: 'a', inputschema: {}, decsription: 'A', call: () => '' }]`
    expect(await faultsOf(source)).toEqual([
      'scope: there is no such member. Did you mean scopes?',
      'util: there is no such member.',
      'tools[0] (a): inputschema: there is no such member. Did you mean inputSchema?',
      'tools[0] (a): decsription: there is no such member. Did you mean description?',
    ])
  })

  it('has wrong schemas beside other faults: all are told', async () => {
    const wrong = `{ type: 'string' }`
    const source = `export const tools = [{ name: 'a b', scope: 'x', title: 1, inputSchema: ${wrong}, outputSchema: { type: 5 } }]`
    const faults = (await faultsOf(source)).map((fault) =>
      fault.replace(/^tools\[0\] \(a b\): /, '').replace(/:.*/s, ''),
    )
    expect(faults).toEqual(['name', 'call', 'scope', 'inputSchema', 'outputSchema', 'title'])
  })

  it('tells all faults at once', async () => {
    const source = `export const tools = [{}, { name: 'a', scope: 'x' }]; export const instructions = 1`
    expect(await faultsOf(source)).toHaveLength(5)
  })
})

describe('tools handed to the library', () => {
  const settings = { baseUrl: 'http://localhost:3000', store: 'memory:', log: 'silent' }

  it('are in force: their scopes are in the metadata', async () => {
    const tools: ToolModule = { tools: [], scopes: { 'a:write': 'Change it' } }
    const { fetch, close } = createDrawbridge(settings, { tools })
    const metadata = await fetch(new Request('http://localhost:3000/.well-known/oauth-authorization-server'))
    expect(await metadata.json()).toMatchObject({
      scopes_supported: expect.arrayContaining(['a:write']) as unknown,
    })
    await close()
  })

  it('are refused with every fault', () => {
    const tools = { tools: [{ name: 'a b' }, { name: 'c' }] } as unknown as ToolModule
    expect(() => createDrawbridge(settings, { tools })).toThrow(/a b.*name.*\n.*call.*\n.*c.*call/)
  })

  it('are no path: a file is imported by whoever has it', () => {
    expect(() => createDrawbridge({ ...settings, tools: './tools.mjs' })).toThrow(/hand it over/)
  })

  it('start and stop with the server, and may tell clients of changes', async () => {
    const seen: string[] = []
    const tools: ToolModule = {
      tools: [],
      start({ notify }) {
        notify.toolsChanged()
        notify.resourceUpdated('notes://1')
        seen.push('started')
        return () => void seen.push('stopped')
      },
    }
    await createDrawbridge(settings, { tools }).close()
    expect(seen).toEqual(['started', 'stopped'])
  })
})

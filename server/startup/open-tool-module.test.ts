import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { createDrawbridge } from '../library.ts'
import type { ToolModule } from '../mcp/tools/tool-module.ts'
import { loadToolModule, ToolModuleError, openToolModule } from './open-tool-module.ts'

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
  ])('a file of tools %s opens', async (_how, source, names) => {
    expect(await openFile(source)).toEqual(names)
  })

  it('a file of tools keeps the state of its module: it is loaded once', async () => {
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
    ['is no JavaScript', `export const = 1`, /does not load: .+ See where with: node .+tools\.mjs$/s],
    ['imports what is not there', `import 'not-there'`, /does not load: .*not-there/],
    ['exports nothing', ``, /exports nothing\. Export tools, an array, or register/],
    ['exports something else', `export const tool = []`, /exports only tool\. Export tools/],
    ['has no list of tools', `export const tools = {}`, /^tools: must be an array/],
    ['has a register that is no function', `export const register = {}`, /register: must be a function/],
    [
      'has a public tool beside sessions',
      `export const asksClient = true; export const register = () => {}
       export const tools = [{ name: 'a', public: true, call: () => '' }]`,
      /^asksClient: sessions belong to users/,
    ],
    [
      'has a public tool with a scope',
      `export const scopes = { x: 'X' }
       export const tools = [{ name: 'a', public: true, scope: 'x', call: () => '' }]`,
      /public: a tool that requires a scope requires a sign-in/,
    ],
    [
      'has a public tool with a scope by its name',
      `export const scopes = { x: 'X' }; export const toolScopes = { '@writes': 'x', 'a*': 'x' }
       export const tools = [{ name: 'a', public: true, call: () => '' }]`,
      /public: a tool that requires a scope requires a sign-in/,
    ],
  ])('a file of tools that %s says what to do', async (_what, source, fault) => {
    expect(await faultsOf(source)).toEqual([expect.stringMatching(fault)])
  })

  it.each<[what: string, exported: string, fault: RegExp]>([
    ['a scope with a blank', `scopes = { 'a b': 'A' }`, /without blanks/],
    ['a scope that is taken', `scopes = { mcp: 'A' }`, /taken\. Choose another/],
    ['a scope without a text', `scopes = { a: ' ' }`, /login page/],
    ['scopes that are a list', `scopes = ['a']`, /scopes: must be an object/],
    ['toolScopes that are a list', `toolScopes = ['a']`, /toolScopes: must be an object of pattern: scope/],
    [
      'toolScopes with a list',
      `toolScopes = { a: ['a'] }`,
      /toolScopes: must be an object of pattern: scope/,
    ],
    [
      'toolScopes with an unknown scope',
      `toolScopes = { '@writes': 'x' }`,
      /\["@writes"\]: "x" is not one of scopes\. Add it/,
    ],
    [
      'toolScopes with an unknown selector',
      `scopes = { x: 'X' }, toolScopes = { '@reads': 'x' }`,
      /\["@reads"\]: there is no such selector\. Write @writes/,
    ],
    ['instructions that are no text', `instructions = 1`, /instructions: must be a string/],
    ['a start that is no function', `start = 1`, /start: must be a function/],
    ['asksClient as text', `asksClient = 'yes'`, /asksClient: must be a boolean/],
    ['serverInfo that is no object', `serverInfo = 'n'`, /serverInfo: must be an object/],
  ])('a file of tools that has %s says what to do', async (_what, exported, fault) => {
    const faults = await faultsOf(`export const tools = []; export const ${exported}`)
    expect(faults).toEqual([expect.stringMatching(fault)])
  })

  it.each<[what: string, tool: string, fault: RegExp]>([
    ['that is no object', `1`, /^tools\[0\]: must be an object/],
    ['without a name', `{ call }`, /^tools\[0\]: name: must be 1 to 128/],
    ['whose name has blanks', `{ name: 'a b', call }`, /^tools\[0\] \(a b\): name/],
    ['without a function', `{ name: 'a' }`, /^tools\[0\] \(a\): call: must be a function/],
    ['whose description is no text', `{ name: 'a', call, description: 1 }`, /description: ./],
    [
      'with an annotation that is none',
      `{ name: 'a', call, annotations: { readOnlyHint: 'yes' } }`,
      /annotations\.readOnlyHint: ./,
    ],
    ['with an unknown scope', `{ name: 'a', call, scope: 'x' }`, /"x" is not one of scopes\. Add it/],
    ['that is public by a text', `{ name: 'a', call, public: 'no' }`, /public: must be a boolean/],
    ['whose _meta is no object', `{ name: 'a', call, _meta: 'ui' }`, /_meta: ./],
    [
      'with _meta of the server',
      `{ name: 'a', call, _meta: { securitySchemes: 1 } }`,
      /_meta: the server sets .+ itself/,
    ],
    [
      'with _meta of the protocol',
      `{ name: 'a', call, _meta: { 'io.modelcontextprotocol/serverInfo': 1 } }`,
      /_meta: the server sets .+ itself/,
    ],
  ])('a file of tools with a tool %s says what to do', async (_what, tool, fault) => {
    const faults = await faultsOf(
      `const call = () => ''; export const scopes = { y: 'Y' }; export const tools = [${tool}]`,
    )
    expect(faults).toEqual([expect.stringMatching(fault)])
  })

  it('a tool of a module takes its own scope, or else the first that toolScopes has for it', async () => {
    const call = (): string => ''
    const module: ToolModule = {
      scopes: { own: 'Own', named: 'Named', write: 'Write', all: 'All' },
      toolScopes: { 'delete_*': 'named', '@writes': 'write', 'list_*': 'all' },
      tools: [
        { name: 'own', scope: 'own', call },
        { name: 'delete_all', annotations: { readOnlyHint: true }, call },
        { name: 'list_all', annotations: { readOnlyHint: true }, call },
        { name: 'list_and_note', annotations: { readOnlyHint: false }, call },
        { name: 'plain', call },
        { name: 'read', annotations: { readOnlyHint: true }, call },
        { name: 'open', public: true, call },
      ],
    }
    const { definitions } = openToolModule(module, [], () => {})
    expect(definitions.map(({ listing, scope }) => [listing.name, scope])).toEqual([
      ['own', 'own'],
      ['delete_all', 'named'],
      ['list_all', 'all'],
      ['list_and_note', 'write'],
      ['plain', 'write'],
      ['read', undefined],
      ['open', undefined],
    ])
    const scopes = definitions.map(
      ({ listing }) => (listing as { securitySchemes?: { scopes?: string[] }[] }).securitySchemes ?? [],
    )
    expect(scopes.map((each) => each.at(-1)?.scopes?.join(' '))).toEqual([
      'mcp own',
      'mcp named',
      'mcp all',
      'mcp write',
      'mcp write',
      'mcp',
      'mcp',
    ])
  })

  it('a missing file of tools says what to do', async () => {
    await expect(loadToolModule('./missing.mjs', folder)).rejects.toThrow(/file not found: .*missing\.mjs\./)
  })

  it('a file with two tools of one name says what to do', async () => {
    const tool = `{ name: 'a', call: () => '' }`
    expect(await faultsOf(`export const tools = [${tool}, ${tool}]`)).toEqual([
      expect.stringMatching(/^tools\[1\] \(a\): name: already used by another tool/),
    ])
  })

  it('a file of tools with unknown members suggests the nearest name', async () => {
    const source = `export const scope = {}; export const util = 1
      export const tools = [{ name: 'a', inputschema: {}, decsription: 'A', call: () => '' }]`
    expect(await faultsOf(source)).toEqual([
      'scope: there is no such member. Did you mean scopes?',
      'util: there is no such member.',
      'tools[0] (a): inputschema: there is no such member. Did you mean inputSchema?',
      'tools[0] (a): decsription: there is no such member. Did you mean description?',
    ])
  })

  it('a file of tools with wrong schemas beside other faults reports all', async () => {
    const wrong = `{ type: 'string' }`
    const source = `export const tools = [{ name: 'a b', scope: 'x', title: 1, inputSchema: ${wrong}, outputSchema: { type: 5 } }]`
    const faults = (await faultsOf(source)).map((fault) =>
      fault.replace(/^tools\[0\] \(a b\): /, '').replace(/:.*/s, ''),
    )
    expect(faults).toEqual(['name', 'call', 'scope', 'inputSchema', 'outputSchema', 'title'])
  })
})

describe('tools handed to the library', () => {
  const settings = { baseUrl: 'http://localhost:3000', store: 'memory:', log: 'silent' }

  it('tools handed to the library have their scopes in the metadata', async () => {
    const tools: ToolModule = { tools: [], scopes: { 'a:write': 'Change it' } }
    const { fetch, close } = createDrawbridge(settings, { tools })
    const metadata = await fetch(new Request('http://localhost:3000/.well-known/oauth-authorization-server'))
    expect(await metadata.json()).toMatchObject({
      scopes_supported: expect.arrayContaining(['a:write']) as unknown,
    })
    await close()
  })

  it('tools handed to the library are refused with every fault', () => {
    const tools = { tools: [{ name: 'a b' }, { name: 'c' }] } as unknown as ToolModule
    expect(() => createDrawbridge(settings, { tools })).toThrow(/a b.*name.*\n.*call.*\n.*c.*call/)
  })

  it('tools handed to the library start and stop with the server, and may notify clients of changes', async () => {
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

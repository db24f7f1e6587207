import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { readSettingFile } from '../config/document-file.ts'
import { scopeOfTool, selectorFault } from '../core/gateway/upstream.ts'
import { isReadOnly } from '../mcp/known-tools.ts'
import { withSecuritySchemes } from '../mcp/tools/tool-scope.ts'
import { listingFaults, prepareTool, type ReportToolFailure, type ToolDefinition } from '../mcp/tools/tool.ts'
import type { ProtectedToolDeclaration, ToolDeclaration, ToolModule } from '../mcp/tools/tool-module.ts'
import type { FileFault } from '../config/setting-file.ts'

/** An unusable tool module. Each fault names the member and how to fix it. */
export class ToolModuleError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[], options: { cause?: unknown } = {}) {
    super(`The tools cannot be used.\n${faults.map((fault) => `  ${fault}`).join('\n')}`, options)
    this.name = 'ToolModuleError'
    this.faults = faults
  }
}

/**
 * Loads the file of TOOLS, an ES module whose path is relative to `directory`. Its exports are the module, or its default export
 * is. Does not check them: opening the module does; `readToolModule` does both. Throws {@link ToolModuleError} if it is missing or
 * does not load.
 *
 * @internal
 */
export async function loadToolModule(path: string, directory: string = process.cwd()): Promise<ToolModule> {
  const file = resolve(directory, path)
  const text = readSettingFile(file)
  if (text.kind === 'unreadable') throw new ToolModuleError([text.fault])
  try {
    const exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    const { default: whole } = exports
    const isNamed = Object.hasOwn(exports, 'tools') || Object.hasOwn(exports, 'register')
    return isNamed || !isJsonObject(whole) ? exports : whole
  } catch (cause) {
    const fault = `${file} does not load: ${thrownText(cause)}. See where with: node ${file}`
    throw new ToolModuleError([fault], { cause })
  }
}

/** Returns the message of any thrown value: a module may throw anything. */
function thrownText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A checked tool module, with its plain tools ready to serve. */
export interface OpenToolModule extends ToolModule {
  definitions: readonly ToolDefinition[]
}

/**
 * Checks `module` and prepares its plain tools. `reserved` scopes already have a meaning. Throws {@link ToolModuleError} with all
 * faults at once. Does not check what the functions do.
 */
export function openToolModule(
  module: ToolModule,
  reserved: readonly string[],
  report: ReportToolFailure,
): OpenToolModule {
  const { faults, definitions } = checkToolModule(module, reserved, report)
  if (faults.length > 0) throw new ToolModuleError(faults)
  return { ...module, definitions: withSchemes(definitions) }
}

/** Adds security schemes only if some tool is public: otherwise clients need not be told that all require a sign-in. */
function withSchemes(definitions: readonly ToolDefinition[]): readonly ToolDefinition[] {
  if (!definitions.some(({ isPublic }) => isPublic)) return definitions
  return definitions.map((tool) => ({ ...tool, listing: withSecuritySchemes(tool.listing, tool) }))
}

function checkToolModule(
  module: ToolModule,
  reserved: readonly string[],
  report: ReportToolFailure,
): { faults: string[]; definitions: ToolDefinition[] } {
  const faults = moduleFaults(module, reserved)
  const tools: unknown = module.tools ?? []
  if (!Array.isArray(tools)) {
    return { faults: [...faults, 'tools: must be an array of tools.'], definitions: [] }
  }
  const names = new Set<unknown>()
  const definitions = tools.flatMap((tool: unknown, index) => {
    const where = `tools[${index}]${isJsonObject(tool) && typeof tool['name'] === 'string' ? ` (${tool['name']})` : ''}`
    const found = isJsonObject(tool) ? toolFaults(tool, names, module) : ['must be an object.']
    if (isJsonObject(tool)) names.add(tool['name'])
    const opened = isJsonObject(tool) ? open(tool as unknown as ToolDeclaration, report) : []
    if (isJsonObject(tool) && !Array.isArray(opened) && found.length === 0)
      return [{ ...opened, scope: scopeFor(tool, module) }]
    // The fault of the name is better described above.
    const further = Array.isArray(opened) ? opened.filter((fault) => !fault.startsWith('name:')) : []
    faults.push(...[...found, ...further].map((fault) => `${where}: ${fault}`))
    return []
  })
  return { faults, definitions }
}

/** A file's tool module with the number of its plain tools, or all of its faults. */
export type ToolModuleReading =
  | { kind: 'module'; module: ToolModule; toolCount: number; faults: readonly [] }
  | { kind: 'faulty'; faults: readonly FileFault[] }

/**
 * Loads and checks the file of TOOLS. Runs its top level, but neither starts it nor calls its tools. Each fault names the file.
 * Never rejects because of its content.
 */
export async function readToolModule(path: string, reserved: readonly string[]): Promise<ToolModuleReading> {
  try {
    const module = await loadToolModule(path)
    const { faults, definitions } = checkToolModule(module, reserved, () => {})
    if (faults.length === 0) return { kind: 'module', module, toolCount: definitions.length, faults: [] }
    return faulty(faults.map((fault) => `${path}: ${fault}`))
  } catch (error) {
    if (!(error instanceof ToolModuleError)) throw error
    return faulty(error.faults)
  }
}

function faulty(problems: readonly string[]): ToolModuleReading {
  const nextStep = 'docs/tools.md says how a tools module is written.'
  return { kind: 'faulty', faults: problems.map((problem) => ({ field: 'tools', problem, nextStep })) }
}

function open(tool: ToolDeclaration, report: ReportToolFailure): ToolDefinition | string[] {
  const opened = openMembers(tool, report)
  if (!Array.isArray(opened)) return opened
  // The first fault hides faults of other members, so each member is checked separately.
  const { inputSchema, outputSchema, ...rest } = tool
  const minimal = { name: 'a', call: tool.call }
  const parts = [
    ...(inputSchema === undefined ? [] : [{ ...minimal, inputSchema }]),
    ...(outputSchema === undefined ? [] : [{ ...minimal, outputSchema }]),
    rest,
  ]
  const faults = parts.map((part) => openMembers(part, report)).filter((part) => Array.isArray(part))
  return faults.length > 0 ? faults.flat() : opened
}

function openMembers(tool: ToolDeclaration, report: ReportToolFailure): ToolDefinition | string[] {
  try {
    const definition = prepareTool(tool, report)
    const faults = listingFaults(definition.listing)
    return faults.length > 0 ? faults : definition
  } catch (error) {
    return [`${thrownText(error)}.`]
  }
}

const moduleMembers: readonly (keyof ToolModule)[] = [
  'tools',
  'scopes',
  'toolScopes',
  'workspaces',
  'instructions',
  'serverInfo',
  'register',
  'asksClient',
  'start',
]

/** Members that Node adds to the exports of a CommonJS file. */
const loaderMembers = ['default', 'module.exports', '__esModule']

const toolMembers: readonly (keyof ProtectedToolDeclaration)[] = [
  'name',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'icons',
  '_meta',
  'public',
  'scope',
  'call',
]

/** Keys that this server, or the protocol, uses in the `_meta` of tools and messages. */
const ownMetaKeys: ReadonlySet<string> = new Set(['securitySchemes', ...Object.values(mcpMetaKey)])

/** Finds unknown members: a misspelled one would be dropped silently, for example a scope that then protects nothing. */
function unknownMembers(given: object, known: readonly string[], suggested = known): string[] {
  return Object.keys(given)
    .filter((member) => !known.includes(member))
    .map((member) => `${member}: there is no such member.${suggestion(member, suggested)}`)
}

function moduleFaults(module: ToolModule, reserved: readonly string[]): string[] {
  if (module.tools === undefined && module.register === undefined) {
    const names = Object.keys(module)
    const seen = names.length > 0 ? `exports only ${names.join(', ')}` : 'exports nothing'
    return [`The module ${seen}. Export tools, an array, or register, a function.`]
  }
  const faults = [
    ...unknownMembers(module, [...moduleMembers, ...loaderMembers], moduleMembers),
    ...kindFault('instructions', module.instructions, 'string'),
    ...kindFault('register', module.register, 'function'),
    ...kindFault('workspaces', module.workspaces, 'function'),
    ...kindFault('asksClient', module.asksClient, 'boolean'),
    ...kindFault('start', module.start, 'function'),
    ...scopeFaults(module.scopes, reserved),
    ...toolScopeFaults(module),
  ]
  if (module.asksClient === true && publicToolsOf(module).size > 0)
    faults.push('asksClient: sessions belong to users, so no tool of this module can be public.')
  if (module.serverInfo !== undefined && !isTextRecord(module.serverInfo))
    faults.push('serverInfo: must be an object with name, title, version or websiteUrl, each a string.')
  return faults
}

/** Returns the names of a module's public tools. The module need not have been checked. */
export function publicToolsOf({ tools }: Pick<ToolModule, 'tools'>): ReadonlySet<string> {
  const given: readonly unknown[] = Array.isArray(tools) ? tools : []
  const names = given.flatMap((tool) =>
    isJsonObject(tool) && tool['public'] === true && typeof tool['name'] === 'string' ? tool['name'] : [],
  )
  return new Set(names)
}

function kindFault(member: string, value: unknown, kind: 'string' | 'function' | 'boolean'): string[] {
  if (value === undefined || typeof value === kind) return []
  return [`${member}: must be a ${kind}, or be left out.`]
}

function isTextRecord(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string')
}

function scopeFaults(scopes: unknown, reserved: readonly string[]): string[] {
  if (scopes === undefined) return []
  if (!isJsonObject(scopes)) return ['scopes: must be an object of scope: description.']
  return Object.entries(scopes).flatMap(([name, description]) => {
    const faults = []
    // RFC 6749 section 3.3.
    if (!/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(name))
      faults.push(`scopes["${name}"]: a scope is printable ASCII without blanks, quotes and backslashes.`)
    if (reserved.includes(name))
      faults.push(`scopes["${name}"]: this name is taken. Choose another, such as ${name}:more.`)
    if (typeof description !== 'string' || description.trim() === '')
      faults.push(`scopes["${name}"]: needs a description of what it allows; the login page shows it.`)
    return faults
  })
}

function toolScopeFaults({ toolScopes, scopes }: ToolModule): string[] {
  if (toolScopes === undefined) return []
  if (!isTextRecord(toolScopes)) return ['toolScopes: must be an object of pattern: scope.']
  return Object.entries(toolScopes).flatMap(([pattern, scope]) => {
    const known = isJsonObject(scopes) && Object.hasOwn(scopes, scope)
    const faults = [
      selectorFault(pattern),
      known ? undefined : `${JSON.stringify(scope)} is not one of scopes. Add it there with what it allows.`,
    ]
    return faults.flatMap((fault) => (fault === undefined ? [] : `toolScopes["${pattern}"]: ${fault}`))
  })
}

/** Returns the scope of a tool: its own, or else that of `toolScopes`. Neither need have been checked. */
function scopeFor(tool: Record<string, unknown>, module: ToolModule): string | undefined {
  const { name, scope } = tool
  if (scope !== undefined || !isTextRecord(module.toolScopes)) return scope as string | undefined
  const scopes = Object.entries(module.toolScopes)
  const publicTools = publicToolsOf(module)
  return scopeOfTool({ scopes, publicTools }, { name: String(name), isReadOnly: isReadOnly(tool) })
}

function toolFaults(
  tool: Record<string, unknown>,
  names: ReadonlySet<unknown>,
  module: ToolModule,
): string[] {
  const { scopes } = module
  const { name, call, scope, _meta: meta } = tool
  const faults = unknownMembers(tool, toolMembers)
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(name))
    faults.push('name: must be 1 to 128 letters, digits, _, - or dots.')
  if (names.has(name)) faults.push('name: already used by another tool. Rename one of them.')
  if (typeof call !== 'function')
    faults.push('call: must be a function (input, context) that returns a result.')
  if (
    scope !== undefined &&
    (typeof scope !== 'string' || !isJsonObject(scopes) || !Object.hasOwn(scopes, scope))
  )
    faults.push(`scope: ${JSON.stringify(scope)} is not one of scopes. Add it there with what it allows.`)
  faults.push(...kindFault('public', tool['public'], 'boolean'))
  if (tool['public'] === true && scopeFor(tool, module) !== undefined)
    faults.push('public: a tool that requires a scope requires a sign-in. Remove one of the two.')
  if (isJsonObject(meta)) {
    const own = Object.keys(meta).filter((key) => ownMetaKeys.has(key))
    faults.push(...own.map((key) => `_meta: the server sets ${key} itself. Remove it.`))
  }
  return faults
}

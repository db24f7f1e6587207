import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'

/** Which tools of a server the local client may see and call. */
export interface ToolFilter {
  /** Without rules nothing needs to be parsed. */
  readonly hasRules: boolean
  /** Undefined when the tool may be used, else why not, with the flag that says so. */
  reasonAgainst(toolName: string): string | undefined
  /** A result of `tools/list` without what is hidden. */
  filterResult(result: JsonObject): JsonObject
  /** Lets a tool of the bridge itself through. */
  exempt(toolName: string): void
}

/** `deny` wins over `allow`; an empty `allow` allows all. Globs know `*` only and are matched against the whole name. */
export function createToolFilter(rules: { allow: readonly string[]; deny: readonly string[] }): ToolFilter {
  const exempted = new Set<string>()

  function reasonAgainst(toolName: string): string | undefined {
    if (exempted.has(toolName)) return undefined
    const quoted = JSON.stringify(toolName)
    if (rules.deny.some((glob) => matchesGlob(glob, toolName)))
      return `The tool ${quoted} is hidden by --ignore-tool.`
    if (rules.allow.length === 0 || rules.allow.some((glob) => matchesGlob(glob, toolName))) return undefined
    return `The tool ${quoted} is not among those of --allow-tool.`
  }

  return {
    hasRules: rules.allow.length > 0 || rules.deny.length > 0,
    reasonAgainst,
    filterResult(result) {
      const tools: unknown = result['tools']
      if (!Array.isArray(tools)) return result
      return { ...result, tools: tools.filter((tool: unknown) => isUsable(tool, reasonAgainst)) }
    },
    exempt(toolName) {
      exempted.add(toolName)
    },
  }
}

function isUsable(tool: unknown, reasonAgainst: ToolFilter['reasonAgainst']): boolean {
  const name = isJsonObject(tool) ? tool['name'] : undefined
  return typeof name !== 'string' || reasonAgainst(name) === undefined
}

/** Linear in the common case, at worst the product of both lengths: a server chooses the names. */
function matchesGlob(glob: string, text: string): boolean {
  let at = 0
  let globAt = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    if (glob[globAt] === '*') {
      star = globAt++
      starAt = at
    } else if (glob[globAt] === text[at]) {
      globAt++
      at++
    } else if (star >= 0) {
      globAt = star + 1
      at = ++starAt
    } else return false
  }
  while (glob[globAt] === '*') globAt++
  return globAt === glob.length
}

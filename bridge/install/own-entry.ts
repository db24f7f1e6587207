import { isJsonObject } from '@drawbridge/shared/json-object.ts'

/** An entry that starts this bridge. */
export interface OwnEntry {
  serverUrl: string | undefined
  /** Undefined: the default one. */
  profile: string | undefined
}

/**
 * Returns whether a client's entry starts the bridge, and for which server: by the name of the package or command, or
 * by the path of a launcher of ours. Ignores what follows the URL, which may be anything.
 */
export function readOwnEntry(entry: unknown, launcher?: string): OwnEntry | undefined {
  if (!isJsonObject(entry)) return undefined
  const words = [entry['command'], entry['args']].flat().filter((word) => typeof word === 'string')
  const index = words.findIndex((word) => /^https?:\/\//i.test(word))
  const programs = index === -1 ? words : words.slice(0, index)
  if (!programs.some((word) => word === launcher || isOwnProgram(word))) return undefined
  return { serverUrl: words[index], profile: profileOf(words.slice(programs.length)) }
}

function profileOf(words: readonly string[]): string | undefined {
  const at = words.findLastIndex((word) => /^--profile(?:=|$)/.test(word))
  const [, joined] = /^--profile=(.*)$/.exec(words[at] ?? '') ?? []
  return at === -1 ? undefined : (joined ?? words[at + 1])
}

function isOwnProgram(word: string): boolean {
  const parts = word.split(/[\\/]/)
  const base = parts.at(-1) ?? ''
  if (/^(?:mcp-)?drawbridge(?:@[\w.+-]+)?(?:\.(?:cmd|exe|ps1))?$/i.test(base)) return true
  return base === 'launcher.cjs' && /^(?:mcp-drawbridge|bridge)$/.test(parts.at(-2) ?? '')
}

import { bridgeWords } from '../published.ts'
import type { NamedServer } from './server-name.ts'

/** Adds a server to Claude Code for the current folder. */
export function claudeCodeCommand({ name, url }: NamedServer): string {
  return `claude mcp add --transport http ${shellWord(name)} ${shellWord(url)}`
}

/** Adds a server to Codex. */
export function codexCommand({ name, url }: NamedServer): string {
  return `codex mcp add ${shellWord(name)} --url ${shellWord(url)}`
}

/** Adds a server to Gemini CLI for all folders. */
export function geminiCommand({ name, url }: NamedServer): string {
  return `gemini mcp add --scope user --transport http ${shellWord(name)} ${shellWord(url)}`
}

/** Adds a server to opencode. */
export function opencodeCommand({ name, url }: NamedServer): string {
  return `opencode mcp add ${shellWord(name)} --url ${shellWord(url)}`
}

/** Opens the Inspector for a server. Without `@latest`, npx on Node 20 picks a 2025 version that does not start. */
export function inspectorCommand({ url }: NamedServer): string {
  return `npx @modelcontextprotocol/inspector@latest --transport http --server-url ${shellWord(url)}`
}

/** Starts the bridge, for clients that start their servers as programs. */
export function bridgeCommand({ url }: NamedServer): string {
  return `${bridgeWords.join(' ')} ${shellWord(url)}`
}

/** Quotes a text as one word, if it can be done, of every shell, cmd.exe and PowerShell included, or else of a POSIX shell; only where one needs it. */
export function shellWord(text: string): string {
  if (/^[\w:/.,@+=-]+$/.test(text)) return text
  return /^(?:[^"$`!\\\u201C-\u201E]|\\(?=[^"$`!\\]))*$/.test(text) ? `"${text}"` : quotedWord(text)
}

/** Quotes a text as one word of a POSIX shell, always with quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

import type { NamedServer } from './server-name.ts'

/** The npm package of the bridge. */
export const bridgePackage = 'mcp-drawbridge'

/** Adds a server to Claude Code, for the folder it is run in. */
export function claudeCodeCommand({ name, url }: NamedServer): string {
  return `claude mcp add --transport http ${shellWord(name)} ${shellWord(url)}`
}

/** Adds a server to Codex. */
export function codexCommand({ name, url }: NamedServer): string {
  return `codex mcp add ${shellWord(name)} --url ${shellWord(url)}`
}

/** Adds a server to Gemini CLI, for every folder. */
export function geminiCommand({ name, url }: NamedServer): string {
  return `gemini mcp add --scope user --transport http ${shellWord(name)} ${shellWord(url)}`
}

/** Adds a server to opencode. */
export function opencodeCommand({ name, url }: NamedServer): string {
  return `opencode mcp add ${shellWord(name)} --url ${shellWord(url)}`
}

/** Opens the Inspector for a server. Without `@latest`, npx takes a version of 2025 on Node 20, which does not start. */
export function inspectorCommand({ url }: NamedServer): string {
  return `npx @modelcontextprotocol/inspector@latest --transport http --server-url ${shellWord(url)}`
}

/** Starts the bridge, for any client that starts its servers as programs. */
export function bridgeCommand({ url }: NamedServer): string {
  return `npx -y ${bridgePackage} ${shellWord(url)}`
}

/** One word of a POSIX shell that means exactly this text; without quotes where no shell needs any, cmd.exe included. */
export function shellWord(text: string): string {
  return /^[\w:/.,@+=-]+$/.test(text) ? text : quotedWord(text)
}

/** One word of a POSIX shell that means exactly this text, in quotes whatever it is. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Client, ClientProgram, InstallSystem } from './client.ts'
import { posix, win32 } from 'node:path'

function wordsOf({ command, args }: Launch): string[] {
  return [command, ...args]
}

/** The arguments for each variable of an entry. */
function variables(flag: string, { env }: Launch): string[] {
  return Object.entries(env).flatMap(([name, value]) => [flag, `${name}=${value}`])
}

function forUser(verb: string): string[] {
  return ['mcp', verb, '--scope', 'user']
}

// `-e` of Claude Code takes all words up to the next flag, so the name comes first.
export const claudeProgram: ClientProgram = {
  name: 'claude',
  add: (name, launch) => [...forUser('add'), name, ...variables('-e', launch), '--', ...wordsOf(launch)],
  remove: (name) => [...forUser('remove'), name],
}

export const codexProgram: ClientProgram = {
  name: 'codex',
  add: (name, launch) => ['mcp', 'add', name, ...variables('--env', launch), '--', ...wordsOf(launch)],
  remove: (name) => ['mcp', 'remove', name],
  list: ['mcp', 'list', '--json'],
}

// Gemini CLI expects the command before `--`, or else it consumes arguments of the server that it has flags for: `--header`, `--debug`.
export const geminiProgram: ClientProgram = {
  name: 'gemini',
  add: (name, launch) => {
    const { command, args } = launch
    return [...forUser('add'), ...variables('-e', launch), name, command, '--', ...args]
  },
  remove: (name) => [...forUser('remove'), name],
}

export const opencodeProgram: ClientProgram = { name: 'opencode', add: codexProgram.add }

// In the terminal of a remote window, and in WSL, `code` starts the VS Code of another computer.
export const codeProgram: ClientProgram = {
  name: 'code',
  add: (name, { command, args, env }) => ['--add-mcp', JSON.stringify({ name, command, args, env })],
  remoteVariables: ['VSCODE_IPC_HOOK_CLI', 'WSL_DISTRO_NAME'],
}

/** Returns the path of a client's program; undefined if it is not there. On Windows a script, which needs a shell, does not count. */
export function findProgram({ program }: Client, system: InstallSystem): string | undefined {
  const { platform, environment, exists } = system
  if (program === undefined || program.remoteVariables?.some((name) => environment[name])) return undefined
  const { delimiter, isAbsolute, join } = platform === 'win32' ? win32 : posix
  const search = Object.entries(environment).find(([name]) => name.toUpperCase() === 'PATH')?.[1] ?? ''
  const file = platform === 'win32' ? `${program.name}.exe` : program.name
  // npx puts the programs of the project in this folder first.
  const folders = search.split(delimiter).filter((at) => isAbsolute(at) && !/[\\/]node_modules[\\/]/.test(at))
  return folders.map((folder) => join(folder, file)).find((path) => exists(path))
}

/** Reads what `list` prints: each entry by name. Undefined if it is something else. */
export function readListed(output: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const list: unknown = JSON.parse(output)
    if (!Array.isArray(list)) return undefined
    return new Map(
      list.filter((row) => isJsonObject(row)).map((row) => [String(row['name']), row['transport']]),
    )
  } catch {
    return undefined
  }
}

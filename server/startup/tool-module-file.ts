import { access, constants, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ToolModule } from '../mcp/tools/tool-module.ts'
import { unreadableText } from '../config/setting-file-text.ts'

/** A tool module that cannot be used. Each fault names the member and what to do about it. */
export class ToolModuleError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[], options: { cause?: unknown } = {}) {
    super(`The tools cannot be used.\n${faults.map((fault) => `  ${fault}`).join('\n')}`, options)
    this.name = 'ToolModuleError'
    this.faults = faults
  }
}

/**
 * Loads the file of TOOLS, an ES module whose path is relative to `directory`. Its exports are the module, or its default
 * export is. They are checked when the module is opened; `readToolModule` does both. Throws {@link ToolModuleError} when it is not there or does not load.
 */
export async function loadToolModule(path: string, directory: string = process.cwd()): Promise<ToolModule> {
  const file = resolve(directory, path)
  const unreadable = await unreadableCode(file)
  if (unreadable !== undefined) throw new ToolModuleError([unreadableText(file, unreadable)])
  try {
    const exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    const { default: whole } = exports
    const isNamed = Object.hasOwn(exports, 'tools') || Object.hasOwn(exports, 'register')
    return isNamed || !isJsonObject(whole) ? exports : whole
  } catch (cause) {
    throw new ToolModuleError(
      [`${file} does not load: ${thrownText(cause)}. Run it with node to see more.`],
      { cause },
    )
  }
}

async function unreadableCode(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.R_OK)
    return (await stat(file)).isDirectory() ? 'EISDIR' : undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}

/** The message of whatever was thrown: a module is anybody's code. */
export function thrownText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

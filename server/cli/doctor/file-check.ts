import { statSync } from 'node:fs'
import { type Checks, fail, note, ok } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { CheckedSettings } from '../../config/config.ts'
import { readSettingFile } from '../../config/document-file.ts'
import { type KeySource, parseSecretKeys } from '../../config/store-address.ts'
import { keyFileEntries } from '../../store/secret-key-file.ts'
import { type FileFault, fileFaults, fileFields } from '../../config/setting-file.ts'
import { providers } from '../../config/provider.ts'
import { settings } from '../../config/setting-table.ts'
import { reservedScopes } from '../../core/tokens/scope.ts'
import { publicToolsOf, readToolModule, type ToolModuleReading } from '../../startup/open-tool-module.ts'
import { publicToolNote } from './upstream-check.ts'

type CheckedFile = FileFault['field']
/**
 * Reports every fault of the files that settings name, and what the tools module offers. Imports the tools module, which runs its top
 * level, but does not start it or call its tools.
 */
export async function checkFiles(
  checked: CheckedSettings,
  now: number,
): Promise<{ findings: Finding[]; faulty: ReadonlySet<CheckedFile> }> {
  const { config, nameOf } = checked
  const reading = config.tools === undefined ? undefined : await readToolModule(config.tools, reservedScopes)
  const faults = [...fileFaults(checked, fileFields, now), ...(reading?.faults ?? [])]
  const faulty = new Set(faults.map(({ field }) => field))
  const findings: Finding[] = []
  for (const { field, problem, nextStep } of faults)
    findings.push({ name: findingName(field), ...fail(`${nameOf(field)}: ${problem}`, nextStep) })
  if (reading?.kind === 'module') findings.push(...moduleFindings(`${config.tools}`, reading))
  const { isTrial } = providers[config.provider]
  if (config.tools === undefined && config.upstream === undefined && !isTrial)
    findings.push({ name: 'tools', ...whoamiNote })
  return { findings, faulty }
}

const whoamiNote = note(
  'The endpoint offers only `whoami`, unless the server starts with the command of an MCP server after --.',
  'Set DRAWBRIDGE_TOOLS to your tools file (docs/tools.md), or DRAWBRIDGE_UPSTREAM to an MCP server (docs/gateway.md).',
)

function moduleFindings(
  path: string,
  { module, toolCount }: Extract<ToolModuleReading, { kind: 'module' }>,
): Finding[] {
  const open = publicToolNote(publicToolsOf(module))
  return [
    { name: 'tools', ...ok(`${path} offers ${toolCount} plain ${toolCount === 1 ? 'tool' : 'tools'}.`) },
    ...(open ? [{ name: 'public-tools', ...open }] : []),
  ]
}

function findingName(field: CheckedFile): string {
  if (field === 'secretKeys') return 'key-ring'
  const name = settings.find((setting) => setting.field === field)?.name ?? field
  return name.replace(/-file$/, '')
}

export interface KeyFacts {
  /** Empty: the server creates a key when it starts. */
  kids: readonly string[]
  /** Undefined: not in a file. */
  path: string | undefined
}

/** Reads a key ring whose file, if there is one, passed `fileFaults`. */
export function readKeySource(source: KeySource): KeyFacts {
  if (source.kind === 'memory') return { kids: [], path: undefined }
  if (source.kind === 'ring') return { kids: source.keys.map(({ kid }) => kid), path: undefined }
  const { path } = source
  const file = readSettingFile(path)
  const keys = file.kind === 'unreadable' ? [] : parseSecretKeys(keyFileEntries(file.text).join(','))
  return { kids: keys.map(({ kid }) => kid), path }
}

/** Checks the keys, and that others cannot read them. */
export const keyChecks: Checks<KeyFacts> = {
  'key-ring'({ kids: [first, ...others], path }) {
    if (first !== undefined) {
      const older = others.map((kid) => `\`${kid}\``).join(', ')
      const where = path ?? 'DRAWBRIDGE_SECRET_KEYS'
      return ok(
        `The key \`${first}\` in ${where} encrypts new sessions${older && `; ${older} can still decrypt`}.`,
      )
    }
    return path === undefined
      ? ok('Each start creates a new key, which is lost with everything in memory.')
      : ok(`The first start creates a key in ${path}.`)
  },
  'key-file-mode': ({ kids, path }) =>
    path !== undefined && kids.length > 0 && isReadByAll(path)
      ? fail(
          `Every user of this machine can read ${path}.`,
          `chmod 600 ${path}; for a mounted secret set defaultMode 0400.`,
        )
      : undefined,
}

/** Returns whether every user of this machine can read a file. Not checked on Windows. */
export function isReadByAll(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o007) !== 0
}

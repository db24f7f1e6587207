import { fail, ok, type Outcome } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import type { CheckedSettings } from '../../config/config.ts'
import { readAccessFile, readTextsFiles, readWellKnownFile } from '../../config/document-file.ts'
import { type FileFault, fileFaults, fileFields } from '../../config/setting-file.ts'
import { type ServerConfig, settings } from '../../config/setting-table.ts'
import { valueOr } from '../../core/document.ts'
import { reservedScopes } from '../../core/tokens/scope.ts'
import { publicToolsOf, readToolModule, type ToolModuleReading } from '../../startup/tool-module.ts'
import { publicToolNote } from './upstream-check.ts'

type CheckedFile = FileFault['field']
type Describe = (config: ServerConfig, now: number) => string

const contents: Partial<Record<CheckedFile, Describe>> = {
  clients: (config, now) => `holds ${plural(readConfiguredClients(config, now).size, 'client')}.`,
  access: ({ access = '' }) =>
    `holds ${plural(valueOr(readAccessFile(access), []).length, 'rule')}. Whom none of them allows cannot come in.`,
  appLogo: () => 'is the logo of the pages.',
  wellKnown: (config) =>
    `holds ${Object.keys(valueOr(readWellKnownFile(config), {}))
      .map((name) => `/.well-known/${name}`)
      .join(', ')}.`,
  texts: (config) => {
    const languages = valueOr(readTextsFiles(config), []).map(({ language }) => language)
    return `${languages.length === 1 ? 'holds' : 'hold'} the texts of the pages in ${languages.join(', ')}.`
  },
  adminTokenFile: () => `holds a token, and is its owner's alone.`,
}

/**
 * Reports every fault of the files that settings name, and what the others hold. Imports the tools module, which runs its top
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
  const add = (field: CheckedFile, outcome: Outcome): void =>
    void findings.push({ name: findingName(field), ...outcome })
  for (const { field, problem, nextStep } of faults)
    add(field, fail(`${nameOf(field)}: ${problem}`, nextStep))
  for (const [field, describe] of Object.entries(contents) as [CheckedFile, Describe][]) {
    const given = config[field]
    const path = Array.isArray(given) ? given.join(', ') : given
    if (typeof path === 'string' && path !== '' && !faulty.has(field))
      add(field, ok(`${path} ${describe(config, now)}`))
  }
  if (reading?.kind === 'module') findings.push(...moduleFindings(`${config.tools}`, reading))
  return { findings, faulty }
}

function moduleFindings(
  path: string,
  { module, toolCount }: Extract<ToolModuleReading, { kind: 'module' }>,
): Finding[] {
  const note = publicToolNote(publicToolsOf(module))
  return [
    { name: 'tools', ...ok(`${path} offers ${plural(toolCount, 'plain tool')}.`) },
    ...(note ? [{ name: 'public-tools', ...note }] : []),
  ]
}

function findingName(field: CheckedFile): string {
  if (field === 'secretKeys') return 'key-ring'
  const name = settings.find((setting) => setting.field === field)?.name ?? field
  return name.replace(/-file$/, '')
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

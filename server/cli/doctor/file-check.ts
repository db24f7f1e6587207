import { fail, note, ok } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { CheckedSettings } from '../../config/config.ts'
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
  'The endpoint offers `whoami` alone, unless the server starts with the command of an MCP server behind --.',
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

import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readAccessFile } from '../../config/access-file.ts'
import { readConfiguredClients, readDocumentCopies } from '../../config/client-file.ts'
import type { CheckedSettings } from '../../config/config.ts'
import { reservedScopes } from '../../core/tokens/scope.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { readWellKnownFile } from '../../config/well-known-file.ts'
import { type FileFault, fileFaults, fileFields } from '../../config/setting-file.ts'
import { publicToolsOf, readToolModule, toolModuleFaults } from '../../startup/tool-module.ts'
import { publicToolFindings } from './public-tool-note.ts'
import { type Finding, fail, ok } from '@drawbridge/shared/terminal/finding.ts'

const findingNames: Readonly<Record<FileFault['field'], string>> = {
  store: 'store',
  secretKeys: 'key-ring',
  clients: 'clients',
  clientDocumentFile: 'client-documents',
  access: 'access',
  audit: 'audit',
  adminTokenFile: 'admin-token',
  tools: 'tools',
  upstream: 'upstream',
  wellKnown: 'well-known',
}

/**
 * Every fault of the files that settings name. The tools module is loaded, so what stands at its top level runs; it is not
 * started, and none of its tools is called.
 */
export async function findFileFaults(checked: CheckedSettings, now: number): Promise<FileFault[]> {
  const { tools } = checked.config
  const reading = tools === undefined ? undefined : await readToolModule(tools, reservedScopes)
  return [...fileFaults(checked, fileFields, now), ...toolModuleFaults(reading)]
}

/** The finding that a {@link FileFault} is, with the setting that names the file. */
export function fileFinding(
  { field, problem, nextStep }: FileFault,
  nameOf: (field: keyof ServerConfig) => string,
): Finding {
  return fail(findingNames[field], `${nameOf(field)}: ${problem}`, nextStep)
}

/** What is in the files that settings name: clients, client metadata documents and tools. Those in `faulty` are left out. */
export async function checkFiles(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now'>,
  faulty: ReadonlySet<FileFault['field']>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const { access, clients, clientDocumentFile, tools } = config
  if (clients !== undefined && !faulty.has('clients')) {
    const count = readConfiguredClients(config, runtime.now()).size
    findings.push(ok('clients', `${clients} holds ${plural(count, 'client')}.`))
  }
  if (clientDocumentFile !== undefined && !faulty.has('clientDocumentFile')) {
    const count = readDocumentCopies(config).size
    findings.push(
      ok('client-documents', `${clientDocumentFile} holds ${plural(count, 'client metadata document')}.`),
    )
  }
  if (access !== undefined && !faulty.has('access')) {
    const reading = readAccessFile(access)
    const count = reading.kind === 'rules' ? reading.rules.length : 0
    findings.push(
      ok('access', `${access} holds ${plural(count, 'rule')}. Whom none of them allows cannot come in.`),
    )
  }
  if (!faulty.has('wellKnown')) findings.push(...wellKnownFindings(config))
  if (!faulty.has('adminTokenFile')) findings.push(...tokenFindings(config))
  findings.push(...(await toolFindings(tools)))
  return findings
}

function wellKnownFindings(config: ServerConfig): Finding[] {
  if (config.wellKnown === undefined) return []
  const names = [...readWellKnownFile(config).entries.keys()].map((name) => `/.well-known/${name}`)
  return [ok('well-known', `${config.wellKnown} holds ${names.join(', ') || 'nothing'}.`)]
}

async function toolFindings(tools: string | undefined): Promise<Finding[]> {
  const reading = tools === undefined ? undefined : await readToolModule(tools, reservedScopes)
  if (reading?.kind !== 'module') return []
  return [
    ok('tools', `${tools} offers ${plural(reading.toolCount, 'plain tool')}.`),
    ...publicToolFindings(publicToolsOf(reading.module)),
  ]
}

function tokenFindings({ adminTokenFile }: ServerConfig): Finding[] {
  if (adminTokenFile === undefined) return []
  return [ok('admin-token', `${adminTokenFile} holds a token, and is its owner's alone.`)]
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readAccessFile, readWellKnownFile } from '../../config/document-file.ts'
import { valueOr } from '../../core/document.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import type { CheckedSettings } from '../../config/config.ts'
import { reservedScopes } from '../../core/tokens/scope.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { type FileFault, fileFaults, fileFields } from '../../config/setting-file.ts'
import {
  publicToolsOf,
  readToolModule,
  toolModuleFaults,
  type ToolModuleReading,
} from '../../startup/tool-module.ts'
import { publicToolNote } from './upstream-check.ts'
import { type Checks, fail, ok } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'

const findingNames: Readonly<Record<FileFault['field'], string>> = {
  store: 'store',
  secretKeys: 'key-ring',
  clients: 'clients',
  access: 'access',
  audit: 'audit',
  adminTokenFile: 'admin-token',
  tools: 'tools',
  upstream: 'upstream',
  wellKnown: 'well-known',
}

/**
 * Finds every fault of the files that settings name. Imports the tools module, which runs its top level, but does not start it or
 * call its tools.
 */
export async function findFileFaults(checked: CheckedSettings, now: number): Promise<FileFault[]> {
  const { tools } = checked.config
  const reading = tools === undefined ? undefined : await readToolModule(tools, reservedScopes)
  return [...fileFaults(checked, fileFields, now), ...toolModuleFaults(reading)]
}

export function fileFinding(
  { field, problem, nextStep }: FileFault,
  nameOf: (field: keyof ServerConfig) => string,
): Finding {
  return { name: findingNames[field], ...fail(`${nameOf(field)}: ${problem}`, nextStep) }
}

/** Contents of the files that settings name, without those in `faulty`. */
export interface FileFacts {
  config: ServerConfig
  now: number
  faulty: ReadonlySet<FileFault['field']>
  tools: Extract<ToolModuleReading, { kind: 'module' }> | undefined
}

/** Reads the tools module; the other files are read by their checks. */
export async function askFiles(
  config: ServerConfig,
  { now }: Pick<Runtime, 'now'>,
  faulty: FileFacts['faulty'],
): Promise<FileFacts> {
  const reading = config.tools === undefined ? undefined : await readToolModule(config.tools, reservedScopes)
  return { config, now: now(), faulty, tools: reading?.kind === 'module' ? reading : undefined }
}

/** Reports the contents of the files. */
export const fileChecks: Checks<FileFacts> = {
  clients({ config, now, faulty }) {
    if (config.clients === undefined || faulty.has('clients')) return undefined
    return ok(`${config.clients} holds ${plural(readConfiguredClients(config, now).size, 'client')}.`)
  },
  access({ config: { access }, faulty }) {
    if (access === undefined || faulty.has('access')) return undefined
    const count = valueOr(readAccessFile(access), []).length
    return ok(`${access} holds ${plural(count, 'rule')}. Whom none of them allows cannot come in.`)
  },
  'well-known'({ config, faulty }) {
    if (config.wellKnown === undefined || faulty.has('wellKnown')) return undefined
    const names = Object.keys(valueOr(readWellKnownFile(config), {})).map((name) => `/.well-known/${name}`)
    return ok(`${config.wellKnown} holds ${names.join(', ') || 'nothing'}.`)
  },
  'admin-token': ({ config: { adminTokenFile }, faulty }) =>
    adminTokenFile === undefined || faulty.has('adminTokenFile')
      ? undefined
      : ok(`${adminTokenFile} holds a token, and is its owner's alone.`),
  tools: ({ config, tools }) =>
    tools && ok(`${config.tools ?? ''} offers ${plural(tools.toolCount, 'plain tool')}.`),
  'public-tools': ({ tools }) => tools && publicToolNote(publicToolsOf(tools.module)),
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

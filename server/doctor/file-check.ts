import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readDocumentFile } from '../client-file.ts'
import { ConfigError } from '../config.ts'
import { reservedScopes } from '../core/scope.ts'
import { clientPolicy, readConfiguredClients } from '../open-clients.ts'
import type { ServerConfig } from '../setting.ts'
import { loadToolModule, ToolModuleError } from '../tool-module-file.ts'
import { openToolModule } from '../tool-module.ts'
import { type Finding, fail, ok } from './finding.ts'

/**
 * The files that settings name: clients, client metadata documents and the tools module. The module is loaded, so what stands
 * at its top level runs; it is not started, and none of its tools is called.
 */
export async function checkFiles(config: ServerConfig, runtime: Pick<Runtime, 'now'>): Promise<Finding[]> {
  const { clients, clientDocumentFile, tools } = config
  return [
    ...(clients === undefined ? [] : checkClients(clients, config, runtime)),
    ...(clientDocumentFile === undefined ? [] : checkDocuments(clientDocumentFile, config)),
    ...(tools === undefined ? [] : await checkTools(tools)),
  ]
}

function checkClients(path: string, config: ServerConfig, runtime: Pick<Runtime, 'now'>): Finding[] {
  return withFaults('clients', path, () => {
    const count = readConfiguredClients(config, runtime.now()).size
    return ok('clients', `${path} holds ${plural(count, 'client')}.`)
  })
}

function checkDocuments(path: string, config: ServerConfig): Finding[] {
  return withFaults('client-documents', path, () => {
    const count = readDocumentFile(path, clientPolicy(config)).size
    return ok('client-documents', `${path} holds ${plural(count, 'client metadata document')}.`)
  })
}

async function checkTools(path: string): Promise<Finding[]> {
  try {
    const module = await loadToolModule(path)
    const { definitions } = openToolModule(module, reservedScopes, () => {})
    return [ok('tools', `${path} offers ${plural(definitions.length, 'plain tool')}.`)]
  } catch (error) {
    if (!(error instanceof ToolModuleError)) throw error
    return [fail('tools', error.message, 'docs/tools.md says how a tools module is written.')]
  }
}

function withFaults(name: string, path: string, check: () => Finding): Finding[] {
  try {
    return [check()]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) =>
      fail(name, problem, `Correct ${path}; docs/clients.md says what it holds.`),
    )
  }
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

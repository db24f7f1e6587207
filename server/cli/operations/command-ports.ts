import { existsSync } from 'node:fs'
import { readConfiguredClients } from '../../config/client-file.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { keySourceOf, parseSecretKeys } from '../../config/store-address.ts'
import type { Store } from '../../core/store.ts'
import { type OperatorPorts, OperatorRefusal } from '../../core/operator/operation.ts'
import { fixedKeyRing } from '../../core/seal.ts'
import { openStore } from '../../startup/open-store.ts'
import { keyFileAt, openKeyFile } from '../../store/secret-key-file.ts'
import type { CommandInput } from '../command.ts'

export interface CommandPorts extends OperatorPorts {
  store: Store
  config: ServerConfig
  runtime: CommandInput['runtime']
  /** False if no server has created the store's file yet; `store` is empty then, and forgotten. */
  hasStore: boolean
}

/** Opens the store of `config` beside running servers, and clients and keys when they are first used. Close the store. */
export function openPorts(
  config: ServerConfig,
  { runtime, terminal }: Pick<CommandInput, 'runtime' | 'terminal'>,
  isStopped: () => boolean,
): CommandPorts {
  const { store: address } = config
  const hasStore = address.kind !== 'sqlite' || existsSync(address.path)
  return {
    config,
    runtime,
    hasStore,
    store: openStore(hasStore ? address : { kind: 'memory' }, { shared: true }),
    providerIssuer: config.providerIssuer,
    get configured() {
      return readConfiguredClients(config, runtime.now())
    },
    get ring() {
      const source = keptKeySource(config)
      if (source.kind === 'ring') return fixedKeyRing(source.keys)
      if (existsSync(source.path))
        return openKeyFile(source.path, { parse: parseSecretKeys, now: runtime.now })
      throw new OperatorRefusal(
        404,
        `There is no key file ${source.path}.`,
        'The first start of the server creates it: drawbridge-server serve',
      )
    },
    get keyFile() {
      const source = keptKeySource(config)
      return source.kind === 'file' ? keyFileAt(source.path) : undefined
    },
    report: () => {},
    note: terminal.note,
    isStopped,
  }
}

/** Returns the source of the keys of a durable store. Refuses a store in memory, whose keys end with the process. */
function keptKeySource(config: ServerConfig): Exclude<ReturnType<typeof keySourceOf>, { kind: 'memory' }> {
  const source = keySourceOf(config)
  if (config.store.kind !== 'memory' && source.kind !== 'memory') return source
  throw new OperatorRefusal(
    400,
    'A store in memory and its keys end with the process of their server.',
    'Use a durable store: DRAWBRIDGE_STORE=sqlite:PATH or postgres://...',
  )
}

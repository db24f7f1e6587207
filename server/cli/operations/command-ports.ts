import { existsSync } from 'node:fs'
import { readConfiguredClients } from '../../config/client-file.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { keySourceOf, parseSecretKeys } from '../../config/store-address.ts'
import type { Store } from '../../core/store.ts'
import { type OperatorPorts, OperatorRefusal } from '../../core/operator/operation.ts'
import { fixedKeyRing } from '../../core/seal.ts'
import { auditReader } from '../../observability/audit-lines.ts'
import { openStore } from '../../startup/open-store.ts'
import { keyFileAt, openKeyFile } from '../../store/secret-key-file.ts'
import type { CommandInput } from '../command.ts'

export interface CommandPorts extends OperatorPorts {
  store: Store
  config: ServerConfig
  runtime: CommandInput['runtime']
  close(): Promise<void>
}

/** Opens the store, keys and clients of `config` beside running servers, each when it is first used. */
export function openPorts(
  config: ServerConfig,
  { runtime, terminal }: Pick<CommandInput, 'runtime' | 'terminal'>,
  isStopped: () => boolean,
): CommandPorts {
  let opened: Store | undefined
  const keys = keySourceOf(config)
  return {
    config,
    runtime,
    get store() {
      return (opened ??= openExistingStore(config))
    },
    close: async () => opened?.close(),
    providerIssuer: config.providerIssuer,
    get configured() {
      return readConfiguredClients(config, runtime.now())
    },
    get ring() {
      if (keys.kind === 'memory') throw inMemory()
      if (keys.kind === 'ring') return fixedKeyRing(keys.keys)
      refuseMissing('key file', keys.path)
      return openKeyFile(keys.path, { parse: parseSecretKeys, now: runtime.now })
    },
    keyFile: keys.kind === 'file' ? keyFileAt(keys.path) : undefined,
    auditLines: auditReader(config.audit),
    report: () => {},
    note: terminal.note,
    isStopped,
  }
}

function openExistingStore({ store }: ServerConfig): Store {
  if (store.kind === 'memory') throw inMemory()
  if (store.kind === 'sqlite') refuseMissing('store', store.path)
  return openStore(store, { shared: true })
}

function inMemory(): OperatorRefusal {
  return new OperatorRefusal(
    400,
    'A store or key ring in memory is in the process of its server: no command can reach it.',
    'Use a durable store, --store sqlite:PATH, or the admin API of that server: docs/admin.md.',
  )
}

function refuseMissing(what: string, path: string): void {
  if (existsSync(path)) return
  throw new OperatorRefusal(
    404,
    `There is no ${what} ${path}.`,
    'The first start of the server creates it: drawbridge-server serve',
  )
}

import { dirname, join } from 'node:path'
import type { SealingKey } from '../core/seal.ts'
import type { ServerConfig } from './setting.ts'

/** Where the key ring of a configuration is. `generated`: the server makes the file at its first start. */
export type KeySource =
  | { kind: 'ring'; keys: readonly SealingKey[] }
  | { kind: 'file'; path: string; generated: boolean }
  /** Made anew at each start. */
  | { kind: 'memory' }

/** Where the key ring is: as configured, or beside the store. Whether it is really there is not looked at. */
export function keySourceOf({ secretKeys, store }: Pick<ServerConfig, 'secretKeys' | 'store'>): KeySource {
  if (secretKeys) return secretKeys.kind === 'file' ? { ...secretKeys, generated: false } : secretKeys
  if (store.kind !== 'sqlite') return { kind: 'memory' }
  return { kind: 'file', path: join(dirname(store.path), 'secret-keys'), generated: true }
}

import { dirname, join } from 'node:path'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseSecretKeys } from './config-value.ts'
import { fixedKeyRing, type KeyRing } from './core/seal.ts'
import type { ServerConfig } from './setting.ts'
import { readOrCreateSecretKeys } from './store/secret-key-file.ts'

/** The configured key ring, or the one generated beside the store: for the embedded provider, which holds nothing of value. */
export function openKeyRing(config: ServerConfig, runtime: Pick<Runtime, 'now' | 'randomBytes'>): KeyRing {
  const { secretKeys, store } = config
  if (secretKeys?.kind === 'ring') return fixedKeyRing(secretKeys.keys)
  const generate = (kid: string): string => `${kid}:${encodeBase64url(runtime.randomBytes(32))}`
  if (secretKeys === undefined && store.kind !== 'sqlite')
    return fixedKeyRing(parseSecretKeys(generate('memory')))
  const path = secretKeys?.path ?? join(dirname(store.kind === 'sqlite' ? store.path : ''), 'secret-keys')
  return fixedKeyRing(parseSecretKeys(readOrCreateSecretKeys(path, () => generate('generated'))))
}

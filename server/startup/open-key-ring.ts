import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseSecretKeys } from '../config/config-value.ts'
import { fixedKeyRing, type KeyRing } from '../core/seal.ts'
import { keySourceOf } from '../config/key-source.ts'
import type { ServerConfig } from '../config/setting.ts'
import { type KeyFileOptions, openKeyFile, readOrCreateSecretKeys } from '../store/secret-key-file.ts'

/**
 * The configured key ring, or the one generated beside the store: for the embedded provider, which holds nothing of value.
 * A ring in a file follows the file while serving; `report` hears of it. Throws when there is no usable ring at first.
 */
export function openKeyRing(
  config: Pick<ServerConfig, 'secretKeys' | 'store'>,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
  report?: KeyFileOptions['report'],
): KeyRing {
  const source = keySourceOf(config)
  if (source.kind === 'ring') return fixedKeyRing(source.keys)
  const generate = (kid: string): string => `${kid}:${encodeBase64url(runtime.randomBytes(32))}`
  if (source.kind === 'memory') return fixedKeyRing(parseSecretKeys(generate('memory')))
  if (source.generated) readOrCreateSecretKeys(source.path, () => generate('generated'))
  return openKeyFile(source.path, { parse: parseSecretKeys, now: runtime.now, ...(report && { report }) })
}

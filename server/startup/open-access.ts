import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readAccessText } from '../config/document-file.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { type AccessPolicy, createAccessPolicy } from '../core/access/access-rules.ts'
import type { Report } from '../observability/log.ts'
import { followFile } from '../store/followed-file.ts'

/**
 * Opens the policy of the file that ACCESS names. Each call returns the current one: the file may change while the server runs.
 * Reports a faulty version and keeps the previous rules. Throws `ConfigError` with all current faults of the file.
 */
export function openAccessPolicy(
  { access: path }: Pick<ServerConfig, 'access'>,
  { now }: Pick<Runtime, 'now'>,
  report: Report,
): () => AccessPolicy | undefined {
  if (path === undefined) return () => undefined
  const file = followFile(path, {
    now,
    parse: (text) => {
      const reading = readAccessText(text, path)
      if (reading.kind === 'faulty') throw new ConfigError(reading.faults.map((fault) => `access: ${fault}`))
      return { policy: createAccessPolicy(reading.value), count: reading.value.length }
    },
    changed(change) {
      if (change.kind === 'value') report('access_rules_changed', { rules: change.value.count })
      else report('access_file_unusable', { path, faults: faultsOf(change.error) })
    },
  })
  return () => file.current().policy
}

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems
  return [error instanceof Error ? error.message : 'unknown']
}

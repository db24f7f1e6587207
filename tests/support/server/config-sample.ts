import { createConfig } from '../../../server/config/config.ts'
import type { ServerConfig } from '../../../server/config/setting.ts'

/** The configuration that is in force when nothing is set, with `overrides` put in unchecked. */
export function configSample(overrides: Partial<ServerConfig> = {}): ServerConfig {
  return { ...createConfig({}, { production: false }), ...overrides }
}
